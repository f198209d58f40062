//go:build !purego

#include "textflag.h"

// AES-256 of many independent blocks, in place: FIPS 197 by the processor's own
// instructions, without a table or a branch that depends on data or key.

#define ROUND(key, block) \
	AESE  key.B16, block.B16; \
	AESMC block.B16, block.B16

#define ROUND8(key) \
	ROUND(key, V0); \
	ROUND(key, V1); \
	ROUND(key, V2); \
	ROUND(key, V3); \
	ROUND(key, V4); \
	ROUND(key, V5); \
	ROUND(key, V6); \
	ROUND(key, V7)

// The last round mixes no columns, and another key is added behind it.
#define LAST(block) \
	AESE V29.B16, block.B16; \
	VEOR V30.B16, block.B16, block.B16

// func encryptARM(first *block, n int, keys *roundKeys)
// Needs AES. The round keys stay in V16 to V30.
TEXT ·encryptARM(SB), NOSPLIT, $0-24
	MOVD   first+0(FP), R0
	MOVD   n+8(FP), R1
	MOVD   keys+16(FP), R2
	VLD1.P 64(R2), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R2), [V20.B16, V21.B16, V22.B16, V23.B16]
	VLD1.P 64(R2), [V24.B16, V25.B16, V26.B16, V27.B16]
	VLD1   (R2), [V28.B16, V29.B16, V30.B16]
	SUBS   $8, R1, R1
	BLT    rest

eight:
	ADD  $64, R0, R3
	VLD1 (R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1 (R3), [V4.B16, V5.B16, V6.B16, V7.B16]
	ROUND8(V16)
	ROUND8(V17)
	ROUND8(V18)
	ROUND8(V19)
	ROUND8(V20)
	ROUND8(V21)
	ROUND8(V22)
	ROUND8(V23)
	ROUND8(V24)
	ROUND8(V25)
	ROUND8(V26)
	ROUND8(V27)
	ROUND8(V28)
	LAST(V0)
	LAST(V1)
	LAST(V2)
	LAST(V3)
	LAST(V4)
	LAST(V5)
	LAST(V6)
	LAST(V7)
	VST1 [V0.B16, V1.B16, V2.B16, V3.B16], (R0)
	VST1 [V4.B16, V5.B16, V6.B16, V7.B16], (R3)
	ADD  $128, R0, R0
	SUBS $8, R1, R1
	BGE  eight

rest:
	ADDS $8, R1, R1
	BEQ  done

one:
	VLD1   (R0), [V0.B16]
	ROUND(V16, V0)
	ROUND(V17, V0)
	ROUND(V18, V0)
	ROUND(V19, V0)
	ROUND(V20, V0)
	ROUND(V21, V0)
	ROUND(V22, V0)
	ROUND(V23, V0)
	ROUND(V24, V0)
	ROUND(V25, V0)
	ROUND(V26, V0)
	ROUND(V27, V0)
	ROUND(V28, V0)
	LAST(V0)
	VST1.P [V0.B16], 16(R0)
	SUBS   $1, R1, R1
	BNE    one

done:
	// What is left of the round keys does not stay in a register.
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	RET
