//go:build !purego

package keystream

import "golang.org/x/sys/cpu"

// engine is a way to encrypt many blocks in one call.
type engine int

const (
	library engine = iota // crypto/aes, a block a call
	armAES                // the AES instructions of ARMv8, eight blocks at a time
)

// engines returns the engines that this processor has, without the library.
func engines() []engine {
	if cpu.ARM64.HasAES {
		return []engine{armAES}
	}
	return nil
}

// encrypt encrypts blocks in place; there must be at least one. The engine must not be library.
func (engine) encrypt(blocks []block, keys *roundKeys) { encryptARM(&blocks[0], len(blocks), keys) }

//go:noescape
func encryptARM(first *block, n int, keys *roundKeys)

const wide = false

func boundAVX2(blocks *block, values *float64, n int, first, hi, lo uint64) {
	panic("keystream: no vectors")
}
