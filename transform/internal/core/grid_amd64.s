//go:build !purego

#include "textflag.h"

// Sums and indexes of a grid for 64 values at a time, four in a register, each rounded as the
// loops in Go round it: a product, a sum and a quotient of their own, nothing fused.

// 1.5·2⁵², magic of grid.go, in all places of Y13, and all bits but the sign in Y14.
#define CONSTANTS \
	MOVQ $0x4338000000000000, AX; \
	VMOVQ AX, X13; \
	VBROADCASTSD X13, Y13; \
	VPCMPEQD Y14, Y14, Y14; \
	VPSRLQ $1, Y14, Y14

// The index of the grid that is next to each value.
#define ROUND(y) \
	VADDPD Y13, y, y; \
	VSUBPD Y13, y, y

// func addAVX2(y, x, e *[64]float64, mult, scale, limit float64) (changed, slow uint64)
TEXT ·addAVX2(SB), NOSPLIT, $0-64
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ e+16(FP), DX
	VBROADCASTSD mult+24(FP), Y10
	VBROADCASTSD scale+32(FP), Y11
	VBROADCASTSD limit+40(FP), Y12
	CONSTANTS
	XORQ R8, R8
	XORQ R9, R9
	XORQ CX, CX

four:
	VMOVUPD (SI)(CX*8), Y0
	VMULPD Y10, Y0, Y1
	ROUND(Y1)
	VMULPD (DX)(CX*8), Y11, Y2
	ROUND(Y2)
	VADDPD Y2, Y1, Y2
	VDIVPD Y10, Y2, Y2
	VANDPD Y14, Y1, Y1
	VCMPPD $0x11, Y12, Y1, Y3 // below the limit, false for NaN
	VBLENDVPD Y3, Y2, Y0, Y4
	VMOVUPD Y4, (DI)(CX*8)
	VCMPPD $4, Y0, Y4, Y5 // unequal, true for NaN
	VMOVMSKPD Y3, AX
	VMOVMSKPD Y5, BX
	XORQ $15, AX
	SHLQ CX, AX
	SHLQ CX, BX
	ORQ AX, R9
	ORQ BX, R8
	ADDQ $4, CX
	CMPQ CX, $64
	JLT four

	MOVQ R8, changed+48(FP)
	MOVQ R9, slow+56(FP)
	VZEROUPPER
	RET

// func snapAVX2(on, x *[64]float64, mult, limit float64) (slow uint64)
TEXT ·snapAVX2(SB), NOSPLIT, $0-40
	MOVQ on+0(FP), DI
	MOVQ x+8(FP), SI
	VBROADCASTSD mult+16(FP), Y10
	VBROADCASTSD limit+24(FP), Y12
	CONSTANTS
	XORQ R9, R9
	XORQ CX, CX

four:
	VMULPD (SI)(CX*8), Y10, Y1
	ROUND(Y1)
	VDIVPD Y10, Y1, Y2
	VMOVUPD Y2, (DI)(CX*8)
	VANDPD Y14, Y1, Y1
	VCMPPD $0x11, Y12, Y1, Y3
	VMOVMSKPD Y3, AX
	XORQ $15, AX
	SHLQ CX, AX
	ORQ AX, R9
	ADDQ $4, CX
	CMPQ CX, $64
	JLT four

	MOVQ R9, slow+32(FP)
	VZEROUPPER
	RET
