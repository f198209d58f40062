//go:build !purego

#include "textflag.h"

DATA ahead<>+0(SB)/8, $0
DATA ahead<>+8(SB)/8, $1
DATA ahead<>+16(SB)/8, $2
DATA ahead<>+24(SB)/8, $3
GLOBL ahead<>(SB), RODATA|NOPTR, $32

// The bytes of each word in the other order.
DATA swapped<>+0(SB)/8, $0x0001020304050607
DATA swapped<>+8(SB)/8, $0x08090a0b0c0d0e0f
DATA swapped<>+16(SB)/8, $0x0001020304050607
DATA swapped<>+24(SB)/8, $0x08090a0b0c0d0e0f
GLOBL swapped<>(SB), RODATA|NOPTR, $32

// func boundAVX2(blocks *block, values *float64, n int, first, hi, lo uint64)
TEXT ·boundAVX2(SB), NOSPLIT, $0-48
	MOVQ blocks+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTQ first+24(FP), Y0
	VPADDQ ahead<>(SB), Y0, Y0
	VPBROADCASTQ hi+32(FP), Y10
	VPBROADCASTQ lo+40(FP), Y11
	VMOVDQU swapped<>(SB), Y12
	MOVQ $0x7ff8000000000001, AX // what every NaN becomes
	VMOVQ AX, X13
	VPBROADCASTQ X13, Y13
	VPXOR Y14, Y14, Y14 // 0
	MOVQ $4, AX
	VMOVQ AX, X15
	VPBROADCASTQ X15, Y15

four:
	VADDPD (SI), Y14, Y1 // −0 + 0 is 0
	VCMPPD $3, Y1, Y1, Y2
	VBLENDVPD Y2, Y13, Y1, Y1
	VPXOR Y11, Y1, Y1
	VPSHUFB Y12, Y1, Y1
	VPXOR Y10, Y0, Y2
	VPSHUFB Y12, Y2, Y2
	VPUNPCKLQDQ Y1, Y2, Y3 // blocks 0 and 2
	VPUNPCKHQDQ Y1, Y2, Y4 // and 1 and 3
	VPERM2I128 $0x20, Y4, Y3, Y5
	VPERM2I128 $0x31, Y4, Y3, Y6
	VMOVDQU Y5, (DI)
	VMOVDQU Y6, 32(DI)
	VPADDQ Y15, Y0, Y0
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $4, CX
	JNZ four

	// What the states of the draws are offset by does not stay in a register.
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
	VZEROUPPER
	RET
