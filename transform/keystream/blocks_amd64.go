//go:build !purego

package keystream

import (
	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/cpu"
)

// engine is a way to encrypt many blocks in one call.
type engine int

const (
	library engine = iota // crypto/aes, a block a call
	aesNI                 // AES-NI, eight blocks at a time
	vaes                  // VAES with AVX-512, four blocks in a register
	vaes256               // VAES with AVX2, two blocks in a register
)

// engines returns the engines that this processor has, the fastest first, without the library.
func engines() []engine {
	var list []engine
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VAES {
		list = append(list, vaes)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasAES && cpuid.CPU.Supports(cpuid.VAES) {
		list = append(list, vaes256)
	}
	if cpu.X86.HasAES && cpu.X86.HasSSE2 {
		list = append(list, aesNI)
	}
	return list
}

// encrypt encrypts blocks in place; there must be at least one. e must not be library.
func (e engine) encrypt(blocks []block, keys *roundKeys) {
	switch e {
	case vaes:
		encryptVAES(&blocks[0], len(blocks), keys)
	case vaes256:
		whole := len(blocks) &^ 15
		if whole > 0 {
			encryptVAES256(&blocks[0], whole, keys)
		}
		if rest := blocks[whole:]; len(rest) > 0 {
			encryptAESNI(&rest[0], len(rest), keys)
		}
	default:
		encryptAESNI(&blocks[0], len(blocks), keys)
	}
}

// wide is whether the processor has the instructions of boundAVX2.
var wide = cpu.X86.HasAVX2

// boundAVX2 is boundLoop of n values, n > 0 a multiple of four.
//
//go:noescape
func boundAVX2(blocks *block, values *float64, n int, first, hi, lo uint64)

//go:noescape
func encryptAESNI(first *block, n int, keys *roundKeys)

//go:noescape
func encryptVAES256(first *block, n int, keys *roundKeys)

//go:noescape
func encryptVAES(first *block, n int, keys *roundKeys)
