package linkage

import (
	"reflect"
	"testing"
)

// Small lattices of any shape, by every method.
func FuzzMethodsAgree(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 255, 254})
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 5 || len(b) > 4000 {
			return
		}
		p := 1 + int(b[0]%5)
		distance := []Distance{Standardised, Gower, Ranks}[b[0]/5%3]
		b = b[1:]
		n := len(b) / p
		if n == 0 {
			return
		}
		var released Keys
		for j := range p {
			x := make([]float64, n)
			for i := range x {
				if x[i] = float64(b[i*p+j] % 16); b[i*p+j] > 250 {
					x[i] = missing
				}
			}
			released.Numeric = append(released.Numeric, x)
		}
		m := min(n, 20)
		var targets Keys
		for j := range p {
			targets.Numeric = append(targets.Numeric, released.Numeric[(j+1)%p][n-m:])
		}
		o := Options{Distance: distance, Ranked: true, Truth: make([]int32, m)}
		for i := range o.Truth {
			o.Truth[i] = int32(i) - 1
		}
		// A key with a single value has no spread as a unit, and is rejected.
		if s, err := newSpace(targets, released, &o); err != nil || s.width() == 0 {
			return
		}
		want := everyPair(t, targets, released, o)
		for _, by := range methods {
			o.method = by.method
			r := link(t, targets, released, o)
			if !reflect.DeepEqual(r.Linked, want.Linked) || !reflect.DeepEqual(r.Ties, want.Ties) ||
				!reflect.DeepEqual(r.Nearest, want.Nearest) || !reflect.DeepEqual(r.Rank, want.Rank) {
				t.Errorf("%s: %v, every pair %v", by.name, r, want)
			}
		}
	})
}
