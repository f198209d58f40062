//go:build purego || !(amd64 || arm64)

package keystream

// engine is a way to encrypt many blocks in one call.
type engine int

const library engine = iota // crypto/aes, a block a call

// engines returns the engines that this processor has, without the library.
func engines() []engine { return nil }

func (engine) encrypt([]block, *roundKeys) { panic("keystream: there is no engine") }

const wide = false

func boundAVX2(blocks *block, values *float64, n int, first, hi, lo uint64) {
	panic("keystream: no vectors")
}
