package assess

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// near12 checks that the sums of two accumulators agree to 1e-12 of their scale; sameAccumulator
// checks the rest.
func near12(t *testing.T, got, want *Accumulator) {
	t.Helper()
	near := func(what string, g, w, scale float64) {
		if !(math.Abs(g-w) <= 1e-12*math.Max(scale, math.Abs(w))) {
			t.Errorf("%s: %v, want %v", what, g, w)
		}
	}
	for _, grams := range [][2]*comoment.Gram{{&got.original, &want.original}, {&got.released, &want.released}} {
		for p := range grams[1].Pairs {
			g, w := grams[0].Pairs[p], grams[1].Pairs[p]
			near("mean", g.Mi, w.Mi, 0)
			near("variance", g.Cii, w.Cii, 0)
			near("covariance", g.Cij, w.Cij, math.Sqrt(w.Cii*w.Cjj))
		}
	}
	for c := range want.columns {
		near("squared difference", got.columns[c].squareDiff, want.columns[c].squareDiff, 0)
		if counts := want.columns[c].counts; counts != nil {
			var g, w wire.Encoder
			got.columns[c].counts.Encode(&g)
			counts.Encode(&w)
			if !bytes.Equal(g, w) {
				t.Errorf("column %d: tallies differ", c)
			}
		}
	}
}

// After deltas are merged or dropped at random, the whole is as if only the merged records had been
// added, although deltas keep less.
func TestDeltasAddUp(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 8))
		const n = 6000
		table := makePairs(100+seed, n, seed%2 == 0)
		o := testOptions(t)
		whole, want := newAccumulator(t, o), newAccumulator(t, o)
		d, err := whole.Delta()
		must(t, err)
		for from := 0; from < n; {
			to := min(n, from+1+rng.IntN([]int{20, 900}[rng.IntN(2)]))
			for at := from; at < to; {
				end := min(to, at+1+rng.IntN(200))
				d.Add(table.block(at, end))
				at = end
			}
			if rng.IntN(3) == 0 { // aborted; the records come again
				must(t, whole.Renew(d))
				continue
			}
			want.Add(table.block(from, to))
			if rng.IntN(2) == 0 {
				scratch, err := Merged(o, whole, d)
				must(t, err)
				sameAccumulator(t, scratch, want)
			}
			must(t, whole.Merge(d))
			if rng.IntN(2) == 0 {
				must(t, whole.Renew(d))
			} else {
				d, err = whole.Delta()
				must(t, err)
			}
			from = to
		}
		sameAccumulator(t, whole, want)
		near12(t, whole, want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A delta of a long stream keeps almost nothing of its records.
func TestDeltasAreSmall(t *testing.T) {
	const n = 20_000
	table := makePairs(5, n, false)
	o := testOptions(t)
	a := newAccumulator(t, o)
	a.Add(table.block(0, n-1000))
	d, err := a.Delta()
	must(t, err)
	d.Add(table.block(n-1000, n))
	// 300/19,000 of 1000 is 16; the sample is cut a little late, and 6 standard
	// errors of 4 are allowed for.
	if k := d.sample.Len(); k > 16*9/8+24 {
		t.Errorf("%d records in the sample of the delta", k)
	}
	for c := range d.columns[:2] {
		// 20 of the 19,000 are beyond the bound at either end; Poisson of mean 1.
		if top, bottom := d.columns[c].top.Entries, d.columns[c].bottom.Entries; len(top) > 8 || len(bottom) > 8 {
			t.Errorf("column %d: %d and %d extremes in the delta", c, len(top), len(bottom))
		}
	}
	// Renewing keeps its memory, and no record is added twice.
	must(t, a.Merge(d))
	must(t, a.Renew(d))
	fresh, err := a.Delta()
	must(t, err)
	got, err := d.MarshalBinary()
	must(t, err)
	want, err := fresh.MarshalBinary()
	must(t, err)
	if d.records != 0 || !bytes.Equal(got, want) {
		t.Error("a renewed delta differs from a new one")
	}
	if a.Renew(a) == nil {
		t.Error("an accumulator must not be its own delta")
	}
	o.Sample++
	if other := newAccumulator(t, o); a.Renew(other) == nil {
		t.Error("another sample must be refused")
	}
}

// A delta is unchanged by encoding and decoding.
func TestDeltaEncoded(t *testing.T) {
	const n = 3000
	table := makePairs(7, n, true)
	o := testOptions(t)
	a, want := newAccumulator(t, o), newAccumulator(t, o)
	a.Add(table.block(0, 2900))
	want.Add(table.block(0, n))
	d, err := a.Delta()
	must(t, err)
	d.Add(table.block(2900, n))
	text, err := d.MarshalBinary()
	must(t, err)
	back := newAccumulator(t, o)
	must(t, back.UnmarshalBinary(text))
	must(t, a.Merge(back))
	sameAccumulator(t, a, want)
}

// Merged does not change its parts, and gives the measures of the whole.
func TestMergedMeasures(t *testing.T) {
	table := makePairs(9, 4000, true)
	o := testOptions(t)
	o.Replicates = 20
	o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0, 1, 2}, lambda: 1, replicate: m} }
	a, want := newAccumulator(t, o), newAccumulator(t, o)
	a.Add(table.block(0, 3000))
	d, err := a.Delta()
	must(t, err)
	d.Add(table.block(3000, 4000))
	want.Add(table.block(0, 4000))
	for range 2 {
		m, err := Merged(o, a, d)
		must(t, err)
		got, err := m.MeasureQuick(context.Background())
		must(t, err)
		exp, err := want.MeasureQuick(context.Background())
		must(t, err)
		for i, r := range exp.Columns[0].Risk {
			if g := got.Columns[0].Risk[i]; g.Target != r.Target ||
				!(math.Abs(float64(g.R-r.R)) <= 1e-9*math.Abs(float64(r.R))) {
				t.Errorf("%+v, want %+v", g, r)
			}
		}
	}
	if a.records+d.records != want.records {
		t.Error("Merged changed its arguments")
	}
	o.Extremes = 3
	if _, err := Merged(o, a); err == nil {
		t.Error("parts with different options must be an error")
	}
}
