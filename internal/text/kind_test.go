package text

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// What is said of short numbers at a glance is what KindOf says of them, and what is not
// said is for KindOf: all texts of up to five of the characters that matter, and longer ones.
func TestKindOfShortIsKindOf(t *testing.T) {
	alphabet := []byte("0179.-/:e,+\x00\xae\xb0")
	said := 0
	try := func(p []byte) {
		var word [8]byte
		copy(word[:], "9.9.9.9.") // what stands behind the value
		copy(word[:], p)
		got := KindOfShort(binary.LittleEndian.Uint64(word[:]), uint(len(p)))
		want := KindOf(p)
		if got != 0 && got != want {
			t.Fatalf("%q: %b, want %b", p, got, want)
		}
		if got != 0 {
			said++
		}
		plain := (want == SeenInteger || want == SeenReal) && !bytes.ContainsAny(p, "-+e")
		if got == 0 && plain {
			t.Fatalf("%q is not known", p)
		}
	}
	var all func(p []byte, n int)
	all = func(p []byte, n int) {
		if len(p) > 0 {
			try(p)
		}
		if n > 0 {
			for _, c := range alphabet {
				all(append(p, c), n-1)
			}
		}
	}
	all(make([]byte, 0, 8), 5)
	rng := rand.New(rand.NewPCG(8, 17))
	for range 300_000 {
		p := make([]byte, 6+rng.IntN(3))
		for i := range p {
			p[i] = alphabet[rng.IntN(3+rng.IntN(len(alphabet)-2))]
		}
		if rng.IntN(2) == 0 {
			p[rng.IntN(len(p))] = '.'
		}
		try(p)
	}
	if said < 5_000 {
		t.Errorf("only %d were known", said)
	}
}
