//go:build !purego

#include "textflag.h"

// Bit i of each register of the four is 1 << i.
DATA places<>+0(SB)/8, $1
DATA places<>+8(SB)/8, $2
DATA places<>+16(SB)/8, $4
DATA places<>+24(SB)/8, $8
GLOBL places<>(SB), RODATA|NOPTR, $32

// func centreAVX2(u, has, x *[64]float64, marks uint64, centre float64) (finite bool)
TEXT ·centreAVX2(SB), NOSPLIT, $0-41
	MOVQ u+0(FP), DI
	MOVQ has+8(FP), DX
	MOVQ x+16(FP), SI
	VPBROADCASTQ marks+24(FP), Y9
	VBROADCASTSD centre+32(FP), Y10
	VMOVDQU places<>(SB), Y8
	MOVQ $0x3ff0000000000000, AX // 1
	VMOVQ AX, X11
	VBROADCASTSD X11, Y11
	VXORPD Y12, Y12, Y12
	XORQ CX, CX

four:
	VPAND Y8, Y9, Y0
	VPCMPEQQ Y8, Y0, Y0
	VMOVUPD (SI)(CX*8), Y1
	VSUBPD Y10, Y1, Y1
	VANDPD Y0, Y1, Y1
	VANDPD Y0, Y11, Y2
	VMOVUPD Y1, (DI)(CX*8)
	VMOVUPD Y2, (DX)(CX*8)
	VSUBPD Y1, Y1, Y3 // 0, or NaN
	VADDPD Y3, Y12, Y12
	VPSLLQ $4, Y8, Y8
	ADDQ $4, CX
	CMPQ CX, $64
	JLT four

	VCMPPD $3, Y12, Y12, Y12 // NaN
	VMOVMSKPD Y12, AX
	TESTQ AX, AX
	SETEQ finite+40(FP)
	VZEROUPPER
	RET

// func sharedAVX2(ui, uj, hi, hj *float64, n int, s *shared)
TEXT ·sharedAVX2(SB), NOSPLIT, $0-48
	MOVQ ui+0(FP), SI
	MOVQ uj+8(FP), DI
	MOVQ hi+16(FP), R8
	MOVQ hj+24(FP), R9
	MOVQ n+32(FP), BX
	MOVQ s+40(FP), R10
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11
	VXORPD Y12, Y12, Y12
	XORQ CX, CX

four:
	VMOVUPD (SI)(CX*8), Y0 // u_i
	VMOVUPD (DI)(CX*8), Y1 // u_j
	VMOVUPD (R8)(CX*8), Y2 // has_i
	VMOVUPD (R9)(CX*8), Y3 // has_j
	VMULPD Y3, Y0, Y4
	VADDPD Y4, Y8, Y8
	VMULPD Y2, Y1, Y5
	VADDPD Y5, Y9, Y9
	VMULPD Y4, Y0, Y6
	VADDPD Y6, Y10, Y10
	VMULPD Y5, Y1, Y7
	VADDPD Y7, Y11, Y11
	VMULPD Y1, Y0, Y4
	VADDPD Y4, Y12, Y12
	ADDQ $4, CX
	CMPQ CX, BX
	JLT four

// Lanes 0 and 2, and 1 and 3, and what they give.
#define STORE(y, x, t, offset) \
	VEXTRACTF128 $1, y, t; \
	VADDPD t, x, x; \
	VPERMILPD $1, x, t; \
	VADDSD t, x, x; \
	VMOVSD x, offset(R10)

	STORE(Y8, X8, X0, 0)
	STORE(Y9, X9, X0, 8)
	STORE(Y10, X10, X0, 16)
	STORE(Y11, X11, X0, 24)
	STORE(Y12, X12, X0, 32)
	VZEROUPPER
	RET
