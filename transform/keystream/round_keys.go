package keystream

import (
	"encoding/binary"
	"math/bits"
)

// roundKeys are the 15 round keys of AES-256, one after another.
type roundKeys [15 * blockSize]byte

// expand computes the round keys of a key of 32 bytes: FIPS 197, section 5.2. It has no lookup
// table, since the processor's caches can disclose which entries of a table were read.
func expand(key []byte) *roundKeys {
	const words = keySize / 4
	keys := new(roundKeys)
	copy(keys[:], key[:keySize])
	last := binary.BigEndian.Uint32(keys[keySize-4:])
	constant := uint32(1 << 24)
	for i := words; i < len(keys)/4; i++ {
		switch i % words {
		case 0:
			last = substituted(bits.RotateLeft32(last, 8)) ^ constant
			constant <<= 1 // seven constants, the last of which is 2⁶
		case words / 2:
			last = substituted(last)
		}
		last ^= binary.BigEndian.Uint32(keys[4*(i-words):])
		binary.BigEndian.PutUint32(keys[4*i:], last)
	}
	return keys
}

// substituted applies the S-box of FIPS 197, section 5.1.1, to each byte of x: the inverse in
// GF(2⁸), computed as the 254th power (which is 0 for 0), and then an affine map of its bits.
func substituted(x uint32) uint32 {
	x2 := product(x, x)
	x3 := product(x2, x)
	x6 := product(x3, x3)
	x12 := product(x6, x6)
	x15 := product(x12, x3)
	power := x15
	for range 4 {
		power = product(power, power)
	}
	y := product(product(power, x12), x2) // 240 + 12 + 2 = 254
	return y ^ rotated(y, 1) ^ rotated(y, 2) ^ rotated(y, 3) ^ rotated(y, 4) ^ 0x63636363
}

// product multiplies each byte of a by the one of b in GF(2⁸), modulo x⁸ + x⁴ + x³ + x + 1.
func product(a, b uint32) (p uint32) {
	const ones = 0x01010101
	for i := range 8 {
		p ^= a & (b >> i & ones * 0xff)
		a = a<<1&^ones ^ a>>7&ones*0x1b
	}
	return p
}

// rotated rotates each byte of x to the left by n bits, 0 < n < 8.
func rotated(x uint32, n int) uint32 {
	low := uint32(1)<<n - 1
	return x<<n&^(low*0x01010101) | x>>(8-n)&(low*0x01010101)
}
