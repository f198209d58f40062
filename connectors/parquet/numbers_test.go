package parquet

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Every unscaled decimal of at most 53 bits comes back from its float64, or is
// found not to.
func TestRescale(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for scale := range int32(30) {
		for i := range 2000 {
			u := r.Int64N(microdata.MaxExact+1) >> (i % 53)
			if i%2 == 1 {
				u = -u
			}
			x := []float64{float64(u)}
			if unscaleExactly(x, scale) {
				if u > -digits15 && u < digits15 {
					t.Fatalf("%d at scale %d is not exact", u, scale)
				}
				continue
			}
			if got, ok := rescale(x[0], scale); !ok || got != u {
				t.Fatalf("%d at scale %d became %v and then %d, %v", u, scale, x[0], got, ok)
			}
		}
	}
	if _, ok := rescale(1e17, 2); ok {
		t.Error("1e19 unscaled passes")
	}
	if _, ok := rescale(math.NaN(), 2); ok {
		t.Error("NaN passes")
	}
}

func TestBigEndian(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want int64
		ok   bool
	}{
		{nil, 0, true}, {[]byte{5}, 5, true}, {[]byte{0xff}, -1, true}, {[]byte{0x80, 0}, -32768, true},
		{[]byte{0, 0x20, 0, 0, 0, 0, 0, 0}, 1 << 53, true}, {[]byte{0, 0x20, 0, 0, 0, 0, 0, 1}, 1<<53 + 1, false},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, -2, true},
		{[]byte{0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, 0, false}, {[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, false},
	} {
		got, ok := bigEndian(c.b)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("% x: %d, %v; want %d, %v", c.b, got, ok, c.want, c.ok)
		}
	}
	for _, x := range []int64{0, 1, -1, 127, 128, -128, -129, 1 << 40, -(1 << 53)} {
		b := make([]byte, shortest(x))
		if got, ok := bigEndian(b); !putBigEndian(b, x) || ok && got != 0 {
			t.Errorf("%d does not fit %d bytes", x, len(b))
		}
		if got, ok := bigEndian(b); !ok || got != x {
			t.Errorf("%d became %d", x, got)
		}
	}
	if putBigEndian(make([]byte, 1), 128) {
		t.Error("128 passes for a byte with a sign")
	}
}
