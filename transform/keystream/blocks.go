package keystream

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

const blockSize = aes.BlockSize

// block is a block of AES: two words, big endian.
type block [blockSize]byte

func (b *block) first() uint64 { return binary.BigEndian.Uint64(b[:8]) }

func (b *block) second() uint64 { return binary.BigEndian.Uint64(b[8:]) }

func (b *block) set(first, second uint64) {
	binary.BigEndian.PutUint64(b[:8], first)
	binary.BigEndian.PutUint64(b[8:], second)
}

// xor adds another block's bits modulo 2.
func (b *block) xor(o *block) {
	binary.NativeEndian.PutUint64(b[:8], binary.NativeEndian.Uint64(b[:8])^binary.NativeEndian.Uint64(o[:8]))
	binary.NativeEndian.PutUint64(b[8:], binary.NativeEndian.Uint64(b[8:])^binary.NativeEndian.Uint64(o[8:]))
}

// aes256 is AES-256 under a subkey. The library's cipher encrypts one block per call; encryptAll
// encrypts many independent blocks, of which the processor then works on several at a time. It
// is immutable and safe for concurrent use.
type aes256 struct {
	cipher.Block            // of the library
	engine       engine     // of encryptAll
	keys         *roundKeys // for the engine; nil if that is the library
}

// sampled is the number of blocks in which an engine is compared with the library for every
// subkey: 16 + 8 + 1, so that each size of group that an engine processes occurs.
const sampled = 25

func newAES(key []byte) *aes256 {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("keystream: " + err.Error()) // only a wrong length, and lengths are constants
	}
	a := &aes256{Block: b}
	if e := chosen(); e != library {
		if keys := expand(key); agrees(e, b, keys, sampled) {
			a.engine, a.keys = e, keys
		}
	}
	return a
}

// Format prints nothing of the subkey, under any verb.
func (a aes256) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// encrypt encrypts one block in place.
func (a *aes256) encrypt(b *block) { a.Encrypt(b[:], b[:]) }

// encryptAll encrypts each of the blocks in place.
func (a *aes256) encryptAll(blocks []block) {
	if a.engine != library && len(blocks) > 0 {
		a.engine.encrypt(blocks, a.keys)
		return
	}
	// The loop has nothing else: calls that do not depend on a result just written overlap in
	// the processor.
	e := a.Block
	for i := range blocks {
		e.Encrypt(blocks[i][:], blocks[i][:])
	}
}

// chosen is the fastest engine that encrypts as the library does: a wrong block would be a
// wrong draw, which no later check would find. A program that must use validated cryptography
// uses the library.
var chosen = sync.OnceValue(func() engine {
	if fips140.Enabled() {
		return library
	}
	return firstRight(engines())
})

// firstRight returns the first of the engines that encrypts as the library does.
func firstRight(list []engine) engine {
	key := make([]byte, keySize)
	for i := range key {
		key[i] = byte(37*i + 11)
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("keystream: " + err.Error())
	}
	keys := expand(key)
next:
	for _, e := range list {
		for n := 1; n < 70; n++ { // more than twice the number that an engine processes at a time
			if !agrees(e, b, keys, n) {
				continue next
			}
		}
		return e
	}
	return library
}

// agrees reports whether an engine encrypts n > 0 blocks as the library does, and does not change
// the blocks next to them.
func agrees(e engine, b cipher.Block, keys *roundKeys, n int) bool {
	got := make([]block, n+2)
	for i := range got {
		got[i].set(uint64(2*i+1)*0x9e3779b97f4a7c15, uint64(2*i+2)*0x9e3779b97f4a7c15)
	}
	want := slices.Clone(got)
	for i := 1; i <= n; i++ {
		b.Encrypt(want[i][:], want[i][:])
	}
	e.encrypt(got[1:n+1], keys)
	return slices.Equal(got, want)
}
