package fileorder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// filled returns an order of two streams, thinned in its first levels.
func filled(limit int) *Order {
	rng := rand.New(rand.NewPCG(3, 3))
	o := New(limit)
	for stream := range int32(2) {
		const n = 3000
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = float64(i) + 50*rng.NormFloat64()
			y[i] = x[i] + 20*rng.NormFloat64()
		}
		b := &microdata.Block{N: n, First: 1000}
		o.Add(&place.Origin{Stream: stream}, b, microdata.Vector{Values: x}, microdata.Vector{Values: y}, nil)
	}
	return o
}

// Best is the fit with the smallest square error over all levels and kinds.
func TestBestIsTheLeast(t *testing.T) {
	for _, limit := range []int{64, 1024, 8192} {
		o := filled(limit)
		const mask = 400
		best, ok := o.Best(mask)
		if !ok {
			t.Fatalf("limit %d: no fit", limit)
		}
		least := Fit{Mse: math.Inf(1)}
		take := func(f Fit, fitted bool) {
			if fitted && f.Mse < least.Mse {
				least = f
			}
		}
		for l := range o.levels {
			s := o.sequence(l)
			for h := 1; h <= len(s.bins)/2; h *= 2 {
				e, fitted := s.average(h)
				f, ok := s.judged("moving average", e, 1)
				take(f, fitted && ok)
			}
			if e, fitted := s.groups(mask); fitted {
				take(s.judged("groups", e, 1))
			}
			for _, penalty := range []float64{100, 200, 400, 800} {
				take(s.judged("levels with jumps", s.jumps(penalty), 1))
			}
			if e, scale, fitted := s.neighbours(12); fitted {
				take(s.judged("neighbours", e, scale))
			}
			if s.complete {
				take(s.judged("isotonic, rising", s.isotonic(false, false), 1))
				take(s.judged("isotonic, rising", s.isotonic(false, true), 1))
				take(s.judged("isotonic, falling", s.isotonic(true, false), 1))
				take(s.judged("isotonic, falling", s.isotonic(true, true), 1))
			}
		}
		if best != least {
			t.Errorf("limit %d: %+v, want %+v", limit, best, least)
		}
	}
	if best, ok := New(0).Best(1); ok || !math.IsInf(best.Mse, 1) {
		t.Errorf("without records: %+v", best)
	}
}

// After any change of the bytes, the decoded order can be written again as it was read, or decoding
// refuses it. Truncated bytes and extra bytes are refused.
func TestOrderDecodesWhatItWrote(t *testing.T) {
	o := filled(64)
	data := encodedOrder(o)
	decode := func(data []byte) (*Order, bool) {
		d := wire.Decoder{Rest: data}
		got := New(64)
		var known place.Origins
		from := known.Decode(&d)
		if !d.Failed {
			got.Decode(&d, from)
		}
		return got, !d.Failed && len(d.Rest) == 0
	}
	if _, ok := decode(data); !ok {
		t.Fatal("a valid encoding is refused")
	}
	for n := range data {
		if _, ok := decode(data[:n]); ok {
			t.Fatalf("%d of %d bytes are accepted", n, len(data))
		}
	}
	refused := 0
	for at := range data {
		for _, bit := range []byte{1, 0x10, 0x80} {
			other := slices.Clone(data)
			other[at] ^= bit
			got, ok := decode(other)
			if !ok {
				refused++
				continue
			}
			for l, level := range got.levels {
				bins := 0
				for key, list := range level.stretches {
					for _, b := range list {
						if b.n > 0 {
							bins++
						}
						if !(b.n >= 0) || math.IsNaN(b.x) || math.IsInf(b.x, 0) || math.IsNaN(b.y) || math.IsInf(b.y, 0) ||
							!(b.square >= 0) {
							t.Fatalf("byte %d: level %d has %+v", at, l, b)
						}
					}
					if len(list) == 0 || len(list) > stretchLength || !level.keeps(key) {
						t.Fatalf("byte %d: level %d has a stretch of %d bins", at, l, len(list))
					}
				}
				if bins != level.bins || bins > 64 {
					t.Fatalf("byte %d: level %d has %d bins, declares %d", at, l, bins, level.bins)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	if _, ok := decode(slices.Concat(data, []byte{0})); ok {
		t.Error("a byte too many is accepted")
	}
	other := New(65)
	d := wire.Decoder{Rest: data}
	var known place.Origins
	if other.Decode(&d, known.Decode(&d)); !d.Failed {
		t.Error("an order of another limit is accepted")
	}
}
