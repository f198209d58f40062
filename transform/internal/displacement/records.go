package displacement

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// displacing is the scratch space of one call: the expected values at the records of one
// window.
type displacing struct {
	view     microdata.Block
	drawn    [][][]float64 // [batch][column]: the results of the other masks for the block
	grouping coding.Grouping
	readers  map[*Swap]*coding.Grouping // of the codes of the whole data
	matcher  matching.Matcher
	here     []bool         // whether a record has a value
	centre   float64        // of the column
	from     []float64      // x − centre
	batches  int            // number of batches used in held and moved: one as long as all is exact
	held     [][]float64    // [batch][record]: probability that a record has kept its own value
	moved    [][]moment     // [batch][record]: moments of the values of other records that may be there
	own      [][]moment     // [batch][record]: of a record's own value: 1, E(y−x), E(y−x)²; one batch if in closed form
	undone   [][][2]float64 // [batch][record]: the results of undoing.squares; negative: those of the released value
	outcomes []outcome      // of combinations of the whole data
	wanted   func(i int) bool
	rows     []int // of the wanted records
	sizes    []int32
	combos   []moment
	class    []moment
	records  []float64
}

// content returns the moments of all values that may be at record r, its own among them.
func (w *displacing) content(k, r int) moment {
	m := w.moved[k][r]
	if o := w.own[k%len(w.own)][r]; o[0] > 0 {
		u := w.from[r]
		m.add(moment{1, u + o[1], o[2] + 2*u*o[1] + u*u, (u + o[1]) * (u + o[1])}, w.held[k][r])
	}
	return m
}

// split goes from one batch to all batches, because a result is not exact.
func (w *displacing) split() {
	for k := w.batches; k < batches; k++ {
		copy(w.held[k], w.held[0])
		copy(w.moved[k], w.moved[0])
		copy(w.undone[k], w.undone[0])
	}
	w.batches = batches
}

// original sets view to the block as it was before any mask.
func (w *displacing) original(b *microdata.Block) *microdata.Block {
	v := &w.view
	v.Reset(b.Stream, b.First, b.N, len(b.Columns))
	v.Scope, v.Places = b.Scope, b.Places
	for i := range b.Columns {
		v.Columns[i].Original, v.Columns[i].Array, v.Columns[i].Coded = b.Columns[i].Original, b.Columns[i].Array,
			b.Columns[i].Coded
	}
	return v
}

// begin sets the value at each record to its own.
func (d *Displacer) begin(w *displacing, b *microdata.Block, i, from, n int) {
	col := &d.columns[i]
	v := b.Columns[col.Index].Original
	w.batches, w.centre = 1, col.centre
	if col.Moments == nil {
		w.batches = batches
	}
	w.held, w.moved, w.own = sized(w.held, batches, n), sized(w.moved, batches, n), sized(w.own, w.batches, n)
	w.undone = sized(w.undone, batches, n)
	w.from = slices.Grow(w.from[:0], n)[:n]
	if w.attend(b, v, from, n); !col.centred {
		w.centre = w.middle(v.Values[from : from+n])
	}
	for r, here := range w.here {
		x := v.Values[from+r]
		w.from[r] = x - w.centre
		for k := range w.batches {
			w.held[k][r], w.moved[k][r], w.own[k][r], w.undone[k][r] = 1, moment{}, moment{}, [2]float64{-1, -1}
			switch {
			case !here:
			case col.Moments != nil:
				shift, square := col.Moments(x)
				w.own[k][r] = moment{1, shift, square, 0}
			default:
				shift := w.drawn[k][i][from+r] - x
				w.own[k][r] = moment{1, shift, shift * shift, 0}
			}
		}
	}
}

// attend finds which records have a value and are wanted.
func (w *displacing) attend(b *microdata.Block, v microdata.Vector, from, n int) {
	w.here = slices.Grow(w.here[:0], n)[:n]
	for r := range n {
		x := v.Values[from+r]
		w.here[r] = v.Valid.Has(from+r) && x-x == 0 && !b.Rejected(from+r) && (w.wanted == nil || w.wanted(from+r))
	}
}

// middle returns the median of some of the values. Squared deviations from it are of the size
// of the variance, so that their differences are exact enough. It depends only on the records
// that take part.
func (w *displacing) middle(x []float64) float64 {
	const most = 63
	some := make([]float64, 0, 2*most)
	every, skip := 1, 0
	for r, here := range w.here {
		if !here {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		skip = every - 1
		if some = append(some, x[r]); len(some) == 2*most { // every other one from here on
			for i := range most {
				some[i] = some[2*i]
			}
			some, every = some[:most], 2*every
		}
	}
	if len(some) == 0 {
		return 0
	}
	slices.Sort(some)
	return some[len(some)/2]
}

// writeColumn writes the results for a column to the block.
func (d *Displacer) writeColumn(w *displacing, b *microdata.Block, i, from, n int) {
	col := &b.Columns[d.columns[i].Index]
	if w.batches > 1 && col.Moved.Deviations == nil {
		col.Deviate(batches)
	}
	to := &col.Moved
	for r := range n {
		at := from + r
		if !w.here[r] {
			writeUnknown(to, at)
			continue
		}
		var h, own [batches]float64
		var m [batches]moment
		for k := range w.batches {
			h[k], m[k], own[k] = w.held[k][r], w.moved[k][r], w.own[k%len(w.own)][r][2]
		}
		writeRecord(to, at, w.from[r], w.batches, &h, &m, &own)
		to.Likeliest[at], to.Mean[at] = to.Total[at], to.Total[at]
		if likeliest := w.meanUndone(r, 0); likeliest >= 0 {
			to.Likeliest[at] = to.Weight[at] * likeliest
		}
		if mean := w.meanUndone(r, 1); mean >= 0 {
			to.Mean[at] = to.Weight[at] * mean
		}
	}
}

// writeRecord writes the result for the record at a place. u is its own value minus the centre.
// For each of count batches, h is the probability that the record has kept its value, m the
// moments of the other values that may be there, and own the expected squared change of its own
// value by the other masks.
func writeRecord(to *microdata.Moved, at int, u float64, count int, h *[batches]float64, m *[batches]moment,
	own *[batches]float64) {
	f := 1 / float64(count)
	var weight, held, square, squares, total float64
	var each [batches]float64
	for k := range count {
		m := &m[k]
		away := max(0, u*u*m[0]-2*u*m[1]+m[2])
		weight += h[k] + m[0]
		held += h[k]
		square += away
		squares += away * away
		each[k] = h[k]*own[k] + away
		total += each[k]
	}
	weight, held, square, squares, total = weight*f, held*f, square*f, squares*f, total*f
	to.Weight[at], to.Total[at] = weight, total
	to.Stay[at], to.Square[at], to.Noise[at] = held/weight, square/weight, 0
	if count > 1 {
		to.Noise[at] = max(0, squares-square*square) / (batches - 1) / (weight * weight)
		for k := range batches {
			to.Deviations[k][at] = float32(each[k] - total)
		}
	}
}

// alone is follow where one swap over the whole data moves a column, and the law of its other
// masks is known: each record's result follows from its value and its combination.
func (d *Displacer) alone(w *displacing, b *microdata.Block, i, from, n int, s *Swap) error {
	col := &d.columns[i]
	c := &b.Columns[col.Index]
	v, to := c.Original, &c.Moved
	w.attend(b, v, from, n)
	if err := s.find(w, b, from, n); err != nil {
		return err
	}
	count := 1
	for r, group := range w.grouping.Group {
		if group < 0 || !w.here[r] {
			continue
		}
		o, err := w.outcomeOf(s, i, r)
		if err != nil {
			return err
		}
		if o.batches > 1 {
			count = batches
		}
	}
	if count > 1 && to.Deviations == nil {
		c.Deviate(batches)
	}
	w.writeOutcomes(s, to, i, from, count, func(x float64) (u, shift, square float64) {
		shift, square = col.Moments(x)
		return x - col.centre, shift, square
	}, v.Values[from:from+n])
	return nil
}

// writeUnknown writes that there is no result for the record at a place.
func writeUnknown(to *microdata.Moved, at int) {
	to.Weight[at], to.Total[at], to.Likeliest[at], to.Mean[at] = 0, 0, 0, 0
	to.Stay[at], to.Square[at], to.Noise[at] = math.NaN(), math.NaN(), math.NaN()
}

// sized returns count lists of n records with undefined content.
func sized[T any](lists [][]T, count, n int) [][]T {
	lists = slices.Grow(lists[:0], count)[:count]
	for k := range lists {
		lists[k] = slices.Grow(lists[k][:0], n)[:n]
	}
	return lists
}
