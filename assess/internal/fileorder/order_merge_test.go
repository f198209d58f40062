package fileorder

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The content depends on the places alone: blocks of any size, merges in any grouping, and encoding
// and decoding give the same result.
func TestOrderMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	const n, limit = 50_000, 1024
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = math.Exp(6 + 0.5*rng.NormFloat64())
	}
	slices.Sort(x)
	for i := range y {
		y[i] = x[i] + 50*rng.NormFloat64()
	}
	stream := &place.Origin{Scope: "survey", Stream: 3}
	add := func(o *Order, from, to int) {
		b := &microdata.Block{First: int64(from), N: to - from}
		o.Add(stream, b, microdata.Vector{Values: x[from:to]}, microdata.Vector{Values: y[from:to]}, nil)
	}
	whole := New(limit)
	add(whole, 0, n)
	var parts []*Order
	for from := 0; from < n; {
		to := min(n, from+1+rng.IntN(9000))
		part := New(limit)
		for at := from; at < to; {
			next := min(to, at+1+rng.IntN(900))
			add(part, at, next)
			at = next
		}
		parts = append(parts, part)
		from = to
	}
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for len(parts) > 1 {
		parts[1].Merge(parts[0])
		parts = parts[1:]
	}
	data := encodedOrder(parts[0])
	d := wire.Decoder{Rest: data}
	got := New(limit)
	var known place.Origins
	got.Decode(&d, known.Decode(&d))
	if d.Failed || len(d.Rest) > 0 {
		t.Fatalf("decoding fails, %d bytes left", len(d.Rest))
	}
	if !bytes.Equal(data, encodedOrder(got)) {
		t.Fatal("encoded again it differs")
	}
	if len(whole.levels) < 3 || len(got.levels) != len(whole.levels) {
		t.Fatalf("%d levels, want %d, at least 3", len(got.levels), len(whole.levels))
	}
	for l := range whole.levels {
		a, b := whole.sequence(l), got.sequence(l)
		if whole.levels[l].bins > limit || len(a.bins) != len(b.bins) || !slices.Equal(a.ends, b.ends) ||
			a.complete != b.complete {
			t.Fatalf("level %d: %d and %d bins", l, len(a.bins), len(b.bins))
		}
		for i := range a.bins {
			p, q := a.bins[i], b.bins[i]
			if p.n != q.n || !(math.Abs(p.x-q.x) <= 1e-9*p.x) || math.Abs(p.y-q.y) > 1e-9*math.Abs(p.y)+1e-9 ||
				!(math.Abs(p.square-q.square) <= 1e-6*(1+p.square)) {
				t.Fatalf("level %d, bin %d: %+v, want %+v", l, i, q, p)
			}
		}
	}
	if last := whole.sequence(len(whole.levels) - 1); !last.complete || last.records != n {
		t.Errorf("the last level holds %v of %d records", last.records, n)
	}
}

func encodedOrder(o *Order) []byte {
	var e wire.Encoder
	n := place.NewNumbering()
	o.Number(n)
	n.Encode(&e)
	o.Encode(&e, n)
	return e
}
