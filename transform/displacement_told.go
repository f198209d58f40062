package transform

import "github.com/sdlfilter/sdlfilter/microdata"

// told is the part of what tellRecord writes that is the same for all records of an outcome, for one
// number of batches.
type told struct{ weight, stay, square float64 } // square is weight²

// untold is the outcome of a record that keeps its value.
var untold = func() (o outcome) {
	for k := range o.stays {
		o.stays[k] = 1
	}
	o.tell()
	return o
}()

// tell works out what is told of all records of an outcome, for one batch and for all.
func (o *outcome) tell() {
	for i, count := range []int{1, batches} {
		f := 1 / float64(count)
		var weight, held float64
		for k := range count {
			weight += o.stays[k] + o.receives[k][0]
			held += o.stays[k]
		}
		weight, held = weight*f, held*f
		o.told[i] = told{weight, held / weight, weight * weight}
	}
}

// tellOutcomes is tellRecord for the records with these values of a column, the first of which stands at a
// place, by their combinations: about gives a value's distance from the centre, and what the other
// masks do to it. outcomeOf must have been asked for each of them.
func (w *displacing) tellOutcomes(s *displacingSwap, to *microdata.Moved, column, from, count int, about func(x float64) (u, own float64), values []float64) {
	end := from + len(values)
	weights, totals, stays := to.Weight[from:end], to.Total[from:end], to.Stay[from:end]
	squares, noises := to.Square[from:end], to.Noise[from:end]
	var deviations [batches][]float32
	for k := range to.Deviations {
		deviations[k] = to.Deviations[k][from:end]
	}
	here, groups, codes := w.here[:len(values)], w.grouping.group[:len(values)], w.grouping.combo[:len(values)]
	for r, x := range values {
		if !here[r] {
			tellNothing(to, from+r)
			continue
		}
		o := &untold
		if groups[r] >= 0 {
			if found := w.outcome(s, column, int(codes[r])); found.batches > 0 {
				o = found
			}
		}
		u, own := about(x)
		if count == 1 {
			m, t := &o.receives[0], &o.told[0]
			away := max(0, u*u*m[0]-2*u*m[1]+m[2])
			weights[r], totals[r] = t.weight, o.stays[0]*own+away
			stays[r], squares[r], noises[r] = t.stay, away/t.weight, 0
			continue
		}
		var square, sum, total float64
		var each [batches]float64
		for k := range batches {
			m := &o.receives[k]
			away := max(0, u*u*m[0]-2*u*m[1]+m[2])
			square += away
			sum += away * away
			each[k] = o.stays[k]*own + away
			total += each[k]
		}
		const f = 1 / float64(batches)
		square, sum, total = square*f, sum*f, total*f
		t := &o.told[1]
		weights[r], totals[r] = t.weight, total
		stays[r], squares[r] = t.stay, square/t.weight
		noises[r] = max(0, sum-square*square) / (batches - 1) / t.square
		for k := range deviations {
			deviations[k][r] = float32(each[k] - total)
		}
	}
}
