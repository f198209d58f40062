package standing

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// same checks that two accumulators of two masked columns are equal: sums to 1e-9 of their scale,
// everything else bit by bit. It reads their encoding, which contains their whole state.
func same(tb testing.TB, got, want *assess.Accumulator) {
	tb.Helper()
	g, w := take(tb, got), take(tb, want)
	if !bytes.Equal(g.exact, w.exact) {
		tb.Errorf("counts, extremes, tallies or sample differ: %d records, want %d", got.Records(), want.Records())
		return
	}
	near := func(what string, a, b, scale float64) {
		if !(math.Abs(a-b) <= 1e-9*math.Max(scale, math.Abs(b))) {
			tb.Errorf("%s: %v, want %v", what, a, b)
		}
	}
	for c := range w.sums {
		near("squared difference", g.sums[c][1], w.sums[c][1], 0)
		near("difference", g.sums[c][0], w.sums[c][0], math.Sqrt(w.sums[c][1]*float64(want.Records())))
	}
	for i, p := range w.moments {
		q := g.moments[i]
		near("n", q.n, p.n, 0)
		near("mean", q.mi+q.li, p.mi+p.li, 0)
		near("mean", q.mj+q.lj, p.mj+p.lj, 0)
		near("variance", q.cii, p.cii, 0)
		near("variance", q.cjj, p.cjj, 0)
		near("covariance", q.cij, p.cij, math.Sqrt(p.cii*p.cjj))
	}
}

type moments struct{ n, mi, mj, li, lj, cii, cjj, cij float64 }

type decoded struct {
	exact   []byte
	sums    [][2]float64 // by column: Σ(y−x), Σ(x−y)²
	moments []moments    // original, released: of columns 0, 1 and both
}

// walker goes through an encoding; skipped values must be exactly equal unless they are read as
// sums.
type walker struct {
	rest []byte
	decoded
}

func (w *walker) pass(n int) []byte {
	b := w.rest[:n]
	w.exact, w.rest = append(w.exact, b...), w.rest[n:]
	return b
}

func (w *walker) uint() int { return int(binary.LittleEndian.Uint64(w.pass(8))) }
func (w *walker) text()     { w.pass(w.uint()) }
func (w *walker) sum() float64 {
	v := math.Float64frombits(binary.LittleEndian.Uint64(w.rest))
	w.rest = w.rest[8:]
	return v
}

func (w *walker) short() {
	_, n := binary.Uvarint(w.rest)
	w.pass(n)
}

// order skips the bins of consecutive records; means over several records need not be exactly
// equal.
func (w *walker) order() {
	w.pass(8) // limit
	for range w.uint() {
		w.pass(8)
		for range w.uint() {
			w.short()
			w.short()
			bins, n := binary.Uvarint(w.rest)
			w.pass(n)
			for range bins {
				records, n := binary.Uvarint(w.rest)
				switch w.pass(n); {
				case records == 1:
					w.pass(16)
				case records > 1:
					w.rest = w.rest[24:]
				}
			}
		}
	}
}

func take(tb testing.TB, a *assess.Accumulator) decoded {
	tb.Helper()
	data, err := a.MarshalBinary()
	must(tb, err)
	const columns, width = 2, 4
	w := &walker{rest: data}
	w.pass(12) // magic, version
	w.text()
	for range w.uint() {
		w.text()
		w.pass(8)
	}
	for range 2 { // carried columns, and those with kept released codes
		w.pass(8 * w.uint())
	}
	for range w.uint() { // columns beside the record's
		w.text()
		w.pass(8)
	}
	w.pass(24) // sample, extremes, records
	for range w.uint() {
		w.text()
		w.pass(8)
	}
	for range columns {
		w.pass(16) // pairs, and unchanged ones
		w.sums = append(w.sums, [2]float64{w.sum(), w.sum()})
		w.pass(16)
		for range 2 { // extremes
			for range w.uint() {
				w.pass(8)
				w.short()
				w.short()
				w.pass(8 * width)
			}
		}
		for range 2 { // tallies
			w.pass(8)
			for range w.uint() {
				w.short()
				w.short()
			}
		}
		for range 2 { // tails
			w.pass(8 * w.uint())
		}
		w.order()
	}
	for range 2 {
		var own [columns]moments
		diagonal := func(i int) {
			p := moments{n: w.sum(), mi: w.sum(), li: w.sum(), cii: w.sum(), cij: w.sum()}
			p.mj, p.lj, p.cjj = p.mi, p.li, p.cii
			own[i] = p
		}
		diagonal(0)
		var pair moments
		kind := w.rest[0]
		w.rest = w.rest[1:]
		if kind == 1 {
			pair.cij = w.sum()
		} else {
			pair = moments{w.sum(), w.sum(), w.sum(), w.sum(), w.sum(), w.sum(), w.sum(), w.sum()}
		}
		diagonal(1)
		if kind == 1 { // of columns 1 and 0
			pair = moments{own[1].n, own[1].mi, own[0].mi, own[1].li, own[0].li, own[1].cii, own[0].cii, pair.cij}
		}
		w.moments = append(w.moments, own[0], own[1], pair)
	}
	w.rest = w.rest[8:] // the sample's current threshold depends on when it was last pruned
	w.pass(len(w.rest))
	return w.decoded
}
