package csv

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// flat gives the same result for a chunk as walk does record by record: for chunks of every length
// near a window's, with blank lines, carriage returns, non-ASCII bytes, records with other numbers
// of fields, and with and without a final line end.
func TestFlatIsWalk(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 8))
	d := dialect{delimiter: ',', quote: '"', fields: 3}
	contents := []string{"", "-", "1", "12.5", "\xac\x8a", "north", "a longer field than a word of eight bytes",
		"\x2d\x0b", "\r"}
	flat := 0
	for range 30_000 {
		var p []byte
		sound := rng.IntN(4) > 0
		for range rng.IntN(20) {
			n := d.fields
			if !sound && rng.IntN(8) == 0 {
				n = rng.IntN(5)
			}
			for f := range n {
				if f > 0 {
					p = append(p, d.delimiter)
				}
				p = append(p, contents[rng.IntN(len(contents))]...)
			}
			if rng.IntN(4) == 0 {
				p = append(p, '\r')
			}
			p = append(p, '\n')
		}
		if rng.IntN(3) == 0 {
			p = bytes.TrimSuffix(p, []byte{'\n'})
		}
		n, records := d.split(p, 0, true)
		p = p[:n]
		var got, want bounds
		got.reset(&d, records)
		if !d.flat(&got, p, records) {
			continue
		}
		want.reset(&d, records)
		d.walk(&want, p, records, true)
		k := records * d.fields
		if len(want.malformed) > 0 || !slices.Equal(got.starts, want.starts) || !slices.Equal(got.ends[:k], want.ends[:k]) {
			t.Fatalf("%q: fields at %v, want %v, malformed %v", p, got.ends[:k], want.ends[:k], want.malformed)
		}
		flat++
	}
	if flat < 15_000 {
		t.Errorf("only %d chunks were flat", flat)
	}
}
