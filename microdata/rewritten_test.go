package microdata

import (
	"slices"
	"testing"
)

// TestRewritten: a mask that writes every value computes them from the originals, which stay; the
// next mask uses the values written before. Nulls are those of the originals.
func TestRewritten(t *testing.T) {
	var b Block
	for range 2 { // the second with the buffers of the first
		b.Reset(0, 0, 3, 1)
		c := &b.Columns[0]
		v := c.Alloc(3, true)
		copy(v.Values, []float64{1, 2, 3})
		v.Valid.Clear(1)
		to, from := c.Rewritten()
		if !slices.Equal(from, v.Values) || &to.Values[0] == &from[0] || to != &c.Released || to.Valid.Has(1) ||
			!to.Valid.Has(2) {
			t.Fatalf("rewrites %v of %v", to, from)
		}
		copy(to.Values, []float64{4, 5, 6})
		if again, from := c.Rewritten(); !slices.Equal(from, []float64{4, 5, 6}) || again != to || &from[0] != &to.Values[0] {
			t.Fatalf("the next mask rewrites %v", from)
		}
		if m := c.Mutable(); !slices.Equal(m.Values, []float64{4, 5, 6}) ||
			!slices.Equal(c.Original.Values, []float64{1, 2, 3}) {
			t.Fatalf("%v of %v", m, c.Original)
		}
	}
	b.Reset(0, 0, 0, 1)
	b.Columns[0].Alloc(0, false)
	if m := b.Columns[0].Mutable(); m.Values == nil || len(m.Values) != 0 {
		t.Errorf("no records: %v", m)
	}
}
