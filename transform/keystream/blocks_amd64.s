//go:build !purego

#include "textflag.h"

// AES-256 of many independent blocks, in place: FIPS 197 by the processor's own
// instructions. The functions take n blocks, which may lie at any address, and the 15 round
// keys. None has a table or a branch that depends on data or key.

// One round of eight blocks by the round key at an offset.
#define ROUND8(op, offset) \
	MOVUPS offset(SI), X8; \
	op X8, X0; \
	op X8, X1; \
	op X8, X2; \
	op X8, X3; \
	op X8, X4; \
	op X8, X5; \
	op X8, X6; \
	op X8, X7

#define ROUND1(op, offset) \
	MOVUPS offset(SI), X8; \
	op X8, X0

// func encryptAESNI(first *block, n int, keys *roundKeys)
// Needs AES and SSE2.
TEXT ·encryptAESNI(SB), NOSPLIT, $0-24
	MOVQ first+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ keys+16(FP), SI
	SUBQ $8, CX
	JLT  rest

eight:
	MOVUPS 0(DI), X0
	MOVUPS 16(DI), X1
	MOVUPS 32(DI), X2
	MOVUPS 48(DI), X3
	MOVUPS 64(DI), X4
	MOVUPS 80(DI), X5
	MOVUPS 96(DI), X6
	MOVUPS 112(DI), X7
	ROUND8(PXOR, 0)
	ROUND8(AESENC, 16)
	ROUND8(AESENC, 32)
	ROUND8(AESENC, 48)
	ROUND8(AESENC, 64)
	ROUND8(AESENC, 80)
	ROUND8(AESENC, 96)
	ROUND8(AESENC, 112)
	ROUND8(AESENC, 128)
	ROUND8(AESENC, 144)
	ROUND8(AESENC, 160)
	ROUND8(AESENC, 176)
	ROUND8(AESENC, 192)
	ROUND8(AESENC, 208)
	ROUND8(AESENCLAST, 224)
	MOVUPS X0, 0(DI)
	MOVUPS X1, 16(DI)
	MOVUPS X2, 32(DI)
	MOVUPS X3, 48(DI)
	MOVUPS X4, 64(DI)
	MOVUPS X5, 80(DI)
	MOVUPS X6, 96(DI)
	MOVUPS X7, 112(DI)
	ADDQ $128, DI
	SUBQ $8, CX
	JGE  eight

rest:
	ADDQ $8, CX
	JEQ  done

one:
	MOVUPS (DI), X0
	ROUND1(PXOR, 0)
	ROUND1(AESENC, 16)
	ROUND1(AESENC, 32)
	ROUND1(AESENC, 48)
	ROUND1(AESENC, 64)
	ROUND1(AESENC, 80)
	ROUND1(AESENC, 96)
	ROUND1(AESENC, 112)
	ROUND1(AESENC, 128)
	ROUND1(AESENC, 144)
	ROUND1(AESENC, 160)
	ROUND1(AESENC, 176)
	ROUND1(AESENC, 192)
	ROUND1(AESENC, 208)
	ROUND1(AESENCLAST, 224)
	MOVUPS X0, (DI)
	ADDQ $16, DI
	SUBQ $1, CX
	JNE  one

done:
	// What is left of the round keys does not stay in a register.
	PXOR X8, X8
	RET

// One round of sixteen blocks, two in a register, by the round key at an offset.
#define ROUND16(op, offset) \
	VBROADCASTI128 offset(SI), Y8; \
	op Y8, Y0, Y0; \
	op Y8, Y1, Y1; \
	op Y8, Y2, Y2; \
	op Y8, Y3, Y3; \
	op Y8, Y4, Y4; \
	op Y8, Y5, Y5; \
	op Y8, Y6, Y6; \
	op Y8, Y7, Y7

// func encryptVAES256(first *block, n int, keys *roundKeys)
// Needs VAES and AVX2. n is above 0 and a multiple of 16.
TEXT ·encryptVAES256(SB), NOSPLIT, $0-24
	MOVQ first+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ keys+16(FP), SI

sixteen:
	VMOVDQU 0(DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VMOVDQU 128(DI), Y4
	VMOVDQU 160(DI), Y5
	VMOVDQU 192(DI), Y6
	VMOVDQU 224(DI), Y7
	ROUND16(VPXOR, 0)
	ROUND16(VAESENC, 16)
	ROUND16(VAESENC, 32)
	ROUND16(VAESENC, 48)
	ROUND16(VAESENC, 64)
	ROUND16(VAESENC, 80)
	ROUND16(VAESENC, 96)
	ROUND16(VAESENC, 112)
	ROUND16(VAESENC, 128)
	ROUND16(VAESENC, 144)
	ROUND16(VAESENC, 160)
	ROUND16(VAESENC, 176)
	ROUND16(VAESENC, 192)
	ROUND16(VAESENC, 208)
	ROUND16(VAESENCLAST, 224)
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	ADDQ $256, DI
	SUBQ $16, CX
	JNZ  sixteen

	// What is left of the round keys does not stay in a register.
	VPXOR Y8, Y8, Y8
	VZEROUPPER
	RET

// The round keys stay in Z16 to Z30, each four times.
#define ROUNDKEY(offset, key) VBROADCASTI32X4 offset(SI), key

// All rounds of the four blocks in Z0.
#define VROUNDS \
	VPXORQ Z16, Z0, Z0; \
	VAESENC Z17, Z0, Z0; \
	VAESENC Z18, Z0, Z0; \
	VAESENC Z19, Z0, Z0; \
	VAESENC Z20, Z0, Z0; \
	VAESENC Z21, Z0, Z0; \
	VAESENC Z22, Z0, Z0; \
	VAESENC Z23, Z0, Z0; \
	VAESENC Z24, Z0, Z0; \
	VAESENC Z25, Z0, Z0; \
	VAESENC Z26, Z0, Z0; \
	VAESENC Z27, Z0, Z0; \
	VAESENC Z28, Z0, Z0; \
	VAESENC Z29, Z0, Z0; \
	VAESENCLAST Z30, Z0, Z0

// func encryptVAES(first *block, n int, keys *roundKeys)
// Needs VAES and AVX512F.
TEXT ·encryptVAES(SB), NOSPLIT, $0-24
	MOVQ first+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ keys+16(FP), SI
	ROUNDKEY(0, Z16)
	ROUNDKEY(16, Z17)
	ROUNDKEY(32, Z18)
	ROUNDKEY(48, Z19)
	ROUNDKEY(64, Z20)
	ROUNDKEY(80, Z21)
	ROUNDKEY(96, Z22)
	ROUNDKEY(112, Z23)
	ROUNDKEY(128, Z24)
	ROUNDKEY(144, Z25)
	ROUNDKEY(160, Z26)
	ROUNDKEY(176, Z27)
	ROUNDKEY(192, Z28)
	ROUNDKEY(208, Z29)
	ROUNDKEY(224, Z30)
	SUBQ $4, CX
	JLT  last

	// A block's rounds wait for one another; those of the next blocks fill the time between.
four:
	VMOVDQU64 (DI), Z0
	VROUNDS
	VMOVDQU64 Z0, (DI)
	ADDQ $64, DI
	SUBQ $4, CX
	JGE  four

last:
	ADDQ $4, CX
	JEQ  empty

	// One to three blocks: K1 has a bit for each of their words, and no other is touched.
	ADDQ CX, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	VMOVDQU64.Z (DI), K1, Z0
	VROUNDS
	VMOVDQU64 Z0, K1, (DI)

empty:
	// What is left of the round keys does not stay in a register.
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VZEROUPPER
	RET
