//go:build !purego

package keystream

import "golang.org/x/sys/cpu"

// engine is a way to encrypt many blocks in one call.
type engine int

const (
	library engine = iota // crypto/aes, a block a call
	aesNI                 // AES-NI, eight blocks at a time
	vaes                  // VAES with AVX-512, four blocks in a register
)

// engines returns the engines that this processor has, the fastest first, without the library.
func engines() []engine {
	var list []engine
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VAES {
		list = append(list, vaes)
	}
	if cpu.X86.HasAES && cpu.X86.HasSSE2 {
		list = append(list, aesNI)
	}
	return list
}

// encrypt encrypts n blocks in place. The library has no part in it.
func (e engine) encrypt(first *block, n int, keys *roundKeys) {
	if e == vaes {
		encryptVAES(first, n, keys)
	} else {
		encryptAESNI(first, n, keys)
	}
}

//go:noescape
func encryptAESNI(first *block, n int, keys *roundKeys)

//go:noescape
func encryptVAES(first *block, n int, keys *roundKeys)
