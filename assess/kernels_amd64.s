//go:build !purego

#include "textflag.h"

// Bit i of each register of the four is 1 << i.
DATA places<>+0(SB)/8, $1
DATA places<>+8(SB)/8, $2
DATA places<>+16(SB)/8, $4
DATA places<>+24(SB)/8, $8
GLOBL places<>(SB), RODATA|NOPTR, $32

// Y6 is not 0 where x in Y0 is below Y10 or above Y11, and Y7 where y in Y1 is below Y12 or above
// Y13; no comparison holds for NaN.
#define BEYOND \
	VCMPPD $0x11, Y10, Y0, Y6; \
	VCMPPD $0x1e, Y11, Y0, Y4; \
	VORPD Y4, Y6, Y6; \
	VCMPPD $0x11, Y12, Y1, Y7; \
	VCMPPD $0x1e, Y13, Y1, Y4; \
	VORPD Y4, Y7, Y7

// func plainAVX2(x, y *float64, n int, lo, hi, low, high float64, squares *[2]float64) (pieces uint64, same int)
TEXT ·plainAVX2(SB), NOSPLIT, $0-80
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	MOVQ n+16(FP), BX
	VBROADCASTSD lo+24(FP), Y10
	VBROADCASTSD hi+32(FP), Y11
	VBROADCASTSD low+40(FP), Y12
	VBROADCASTSD high+48(FP), Y13
	MOVQ squares+56(FP), R10
	VXORPD Y15, Y15, Y15 // 0
	VXORPD Y14, Y14, Y14 // even and odd squares, in two lanes
	VPXOR Y9, Y9, Y9     // counts of pairs that are the same, less than 0
	SHRQ $3, BX // pieces
	XORQ R8, R8
	XORQ CX, CX

// Four pairs: what is beyond is in Y8.
#define FOUR(offset) \
	VMOVUPD offset(SI), Y0; \
	VMOVUPD offset(DI), Y1; \
	BEYOND; \
	VORPD Y7, Y6, Y8; \
	VSUBPD Y1, Y0, Y2; \
	VCMPPD $0, Y15, Y2, Y3; \
	VPADDQ Y3, Y9, Y9; \
	VMULPD Y2, Y2, Y2; \
	VEXTRACTF128 $1, Y2, X3; \
	VADDPD X2, X14, X14; \
	VADDPD X3, X14, X14

piece:
	FOUR(0)
	VMOVAPD Y8, Y5
	FOUR(32)
	VORPD Y8, Y5, Y5
	VMOVMSKPD Y5, DX
	XORQ AX, AX
	TESTQ DX, DX
	SETNE AX
	SHLQ CX, AX
	ORQ AX, R8
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ CX
	CMPQ CX, BX
	JLT piece

	VMOVUPD X14, (R10)
	VEXTRACTI128 $1, Y9, X0
	VPADDQ X0, X9, X9
	VPSRLDQ $8, X9, X0
	VPADDQ X0, X9, X9
	VMOVQ X9, R9
	NEGQ R9
	MOVQ R8, pieces+64(FP)
	MOVQ R9, same+72(FP)
	VZEROUPPER
	RET

// func pairsAVX2(x, y *[64]float64, inX, inY uint64, lo, hi, low, high float64, s *pairSums) (same uint64, beyond bool)
TEXT ·pairsAVX2(SB), NOSPLIT, $0-81
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	VPBROADCASTQ inX+16(FP), Y8
	VPBROADCASTQ inY+24(FP), Y9
	VBROADCASTSD lo+32(FP), Y10
	VBROADCASTSD hi+40(FP), Y11
	VBROADCASTSD low+48(FP), Y12
	VBROADCASTSD high+56(FP), Y13
	MOVQ s+64(FP), R10
	VMOVDQU places<>(SB), Y14
	VMOVUPD (R10), Y5 // differences
	VMOVUPD 32(R10), Y15 // squares
	XORQ R8, R8
	XORQ R9, R9 // beyond
	XORQ CX, CX

four:
	VMOVUPD (SI)(CX*8), Y0
	VMOVUPD (DI)(CX*8), Y1
	BEYOND
	VPAND Y14, Y8, Y2
	VPCMPEQQ Y14, Y2, Y2 // marked of x
	VPAND Y14, Y9, Y3
	VPCMPEQQ Y14, Y3, Y3 // and of y
	VANDPD Y2, Y6, Y6
	VANDPD Y3, Y7, Y7
	VORPD Y7, Y6, Y6
	VMOVMSKPD Y6, BX
	ORQ BX, R9
	VANDPD Y3, Y2, Y2
	VSUBPD Y1, Y0, Y0
	VANDPD Y2, Y0, Y0
	VXORPD Y4, Y4, Y4
	VCMPPD $0, Y4, Y0, Y4
	VANDPD Y2, Y4, Y4
	VMOVMSKPD Y4, AX
	SHLQ CX, AX
	ORQ AX, R8
	VADDPD Y0, Y5, Y5
	VMULPD Y0, Y0, Y0
	VADDPD Y0, Y15, Y15
	VPSLLQ $4, Y14, Y14
	ADDQ $4, CX
	CMPQ CX, $64
	JLT four

	VMOVUPD Y5, (R10)
	VMOVUPD Y15, 32(R10)
	TESTQ R9, R9
	SETNE beyond+80(FP)
	MOVQ R8, same+72(FP)
	VZEROUPPER
	RET
