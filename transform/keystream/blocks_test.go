package keystream

import (
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// lengths returns numbers of blocks near every multiple of an engine's batch, and large numbers.
func lengths() []int {
	list := []int{511, 512, 513, 1000, 65_537}
	for n := range 41 {
		list = append(list, n)
	}
	return list
}

// TestBlocksAgainstLibrary encrypts with every engine of the machine and with the library's cipher
// in a loop, under random keys: for every number of blocks, at every address modulo 64. The blocks
// before and after must not change.
func TestBlocksAgainstLibrary(t *testing.T) {
	if len(engines()) == 0 {
		t.Log("this machine has no engine")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range append(engines(), library) {
		for round, n := range slices.Repeat(lengths(), 5) {
			key := make([]byte, keySize)
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			if round%7 == 0 {
				clear(key[r.IntN(keySize):]) // zeros are replaced
			}
			b, err := aes.NewCipher(key)
			if err != nil {
				t.Fatal(err)
			}
			// Blocks are taken from bytes, so that they can start at any address.
			off := round % 64
			data := make([]byte, off+(n+2)*blockSize+64)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			want := slices.Clone(data)
			for i := range n {
				part := want[off+(i+1)*blockSize:][:blockSize]
				b.Encrypt(part, part)
			}
			a := &aes256{Block: b, engine: e}
			if e != library {
				a.keys = expand(key)
			}
			a.encryptAll(blocksAt(data[off+blockSize:], n))
			if !slices.Equal(data, want) {
				t.Fatalf("engine %d: %d blocks, %d bytes from an allocation's start, differ from the library's", e, n, off)
			}
		}
	}
}

// TestRoundKeys compares the key schedule with FIPS 197, appendix A.3, and the S-box with inverses
// found by brute force: for all bytes, in every position of a word.
func TestRoundKeys(t *testing.T) {
	key, err := hex.DecodeString("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
	if err != nil {
		t.Fatal(err)
	}
	keys := expand(key)
	for i, want := range map[int]uint32{8: 0x9ba35411, 9: 0x8e6925af, 12: 0xa8b09c1a, 16: 0xd59aecb8, 59: 0x706c631e} {
		if got := binary.BigEndian.Uint32(keys[4*i:]); got != want {
			t.Errorf("word %d of the schedule is %08x, want %08x", i, got, want)
		}
	}
	times := func(a, b int) (p int) { // carry-less product, then the remainder modulo 0x11b
		for i := range 8 {
			p ^= a << i * (b >> i & 1)
		}
		for i := 14; i >= 8; i-- {
			p ^= 0x11b << (i - 8) * (p >> i & 1)
		}
		return p
	}
	for x := range 256 {
		inverse := 0
		for y := 1; y < 256; y++ {
			if times(x, y) == 1 {
				inverse = y
			}
		}
		want := byte(0x63)
		for bit := range 8 {
			for _, from := range []int{0, 4, 5, 6, 7} {
				want ^= byte(inverse>>((bit+from)%8)&1) << bit
			}
		}
		for place := 0; place < 32; place += 8 {
			if got := substituted(bits.RotateLeft32(uint32(x), place)); byte(got>>place) != want {
				t.Errorf("the S-box of %02x at bit %d is %08x, want %02x there", x, place, got, want)
			}
		}
	}
}

// TestWrongEngine: an engine that encrypts differently from the library is not used, whether it is
// wrong for all keys or for one.
func TestWrongEngine(t *testing.T) {
	list := engines()
	if len(list) == 0 {
		t.Skip("this machine has no engine")
	}
	b, err := aes.NewCipher(make([]byte, keySize))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		keys := expand(make([]byte, keySize))
		if !agrees(e, b, keys, 9) || firstRight([]engine{e}) != e {
			t.Errorf("engine %d is refused", e)
		}
		for i := 0; i < len(keys); i += 5 {
			wrong := *keys
			wrong[i] ^= 1
			for _, n := range []int{1, 9, sampled} {
				if agrees(e, b, &wrong, n) {
					t.Errorf("engine %d: a wrong bit in byte %d of the round keys was not seen in %d blocks", e, i, n)
				}
			}
		}
	}
	if firstRight(nil) != library {
		t.Error("without an engine the library must be taken")
	}
}

// TestSubkeysTogether: goroutines that share a subkey encrypt as one alone does (for the race
// detector, and for CPU registers shared by mistake).
func TestSubkeysTogether(t *testing.T) {
	keys := []*aes256{newAES(testKey(1).derive("a", keySize)), newAES(testKey(1).derive("b", keySize))}
	var want [2][]block
	for i, a := range keys {
		want[i] = make([]block, 100)
		for range 200 {
			a.encryptAll(want[i])
		}
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			got := make([]block, 100)
			for range 200 {
				keys[g%2].encryptAll(got)
			}
			if !slices.Equal(got, want[g%2]) {
				t.Errorf("goroutine %d: blocks differ", g)
			}
		})
	}
	all.Wait()
}

// TestSubkeysDoNotPrint: printing a subkey, or a value that contains one, never shows its bytes.
func TestSubkeysDoNotPrint(t *testing.T) {
	a := newAES(testKey(1).derive("a", keySize))
	keys := expand(testKey(1).derive("a", keySize))
	type holder struct {
		A *aes256
		s *Stream
		b *Binding
	}
	h := holder{a, testKey(1).Release(Name{}), testKey(1).Binding()}
	for _, v := range []any{a, *a, h, &h, *h.s, *h.b, testKey(1), struct{ k Key }{testKey(1)}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s", "%d", "%q"} {
			text := fmt.Sprintf(verb, v)
			for i := 0; i+4 <= keySize; i += 4 {
				part := keys[i : i+4]
				list := strings.Trim(fmt.Sprint(part), "[]")
				if strings.Contains(text, list) || strings.Contains(text, hex.EncodeToString(part)) ||
					strings.Contains(text, string(part)) {
					t.Errorf("%s of %T shows the subkey", verb, v)
				}
			}
		}
	}
}

// blocksAt returns the first n blocks of bytes at any address.
func blocksAt(data []byte, n int) []block {
	return unsafe.Slice((*block)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// TestVectorsOfBoundRecords holds the blocks that the processor's vectors make of places and values
// against the loop in Go: of every length up to 40, with zeros of both signs, NaN of many forms and
// places that carry over, and nothing written beside them.
func TestVectorsOfBoundRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 8))
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0xfff0000000000001),
		math.Float64frombits(0x7fffffffffffffff), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	for n := range 41 {
		for _, first := range []uint64{0, 1, 1<<32 - 2, 1<<63 - 3, 1<<64 - 5, rng.Uint64()} {
			values := make([]float64, n)
			for i := range values {
				if values[i] = rng.NormFloat64(); rng.IntN(2) == 0 {
					values[i] = special[rng.IntN(len(special))]
				}
			}
			hi, lo := rng.Uint64(), rng.Uint64()
			want, got := make([]block, n+1), make([]block, n+1)
			boundLoop(want[:n], values, first, hi, lo)
			boundRun(got[:n], values, first, hi, lo)
			if !slices.Equal(got, want) {
				t.Fatalf("%d records from %d: %x, want %x", n, first, got, want)
			}
		}
	}
}
