package displacement

import "github.com/sdlfilter/sdlfilter/microdata"

// outcomeFactors is the part of the result of writeRecord that is the same for all records of an
// outcome, for one number of batches.
type outcomeFactors struct{ weight, stay, square float64 } // square is weight²

// keepsValue is the outcome of a record that keeps its value.
var keepsValue = func() (o outcome) {
	for k := range o.stays {
		o.stays[k] = 1
	}
	o.setFactors()
	return o
}()

// setFactors computes the factors of an outcome, for one batch and for all batches.
func (o *outcome) setFactors() {
	for i, count := range []int{1, batches} {
		f := 1 / float64(count)
		var weight, held float64
		for k := range count {
			weight += o.stays[k] + o.receives[k][0]
			held += o.stays[k]
		}
		weight, held = weight*f, held*f
		o.factors[i] = outcomeFactors{weight, held / weight, weight * weight}
	}
}

// writeOutcomes is writeRecord for consecutive records with the given values of a column, from
// place from on, by their combinations. about returns a value minus the centre, and its expected
// squared change by the other masks. outcomeOf must have been called for each of the records.
func (w *displacing) writeOutcomes(s *Swap, to *microdata.Moved, column, from, count int,
	about func(x float64) (u, shift, own float64), values []float64) {
	end := from + len(values)
	weights, totals, stays := to.Weight[from:end], to.Total[from:end], to.Stay[from:end]
	squares, noises := to.Square[from:end], to.Noise[from:end]
	likeliest, means := to.Likeliest[from:end], to.Mean[from:end]
	var deviations [batches][]float32
	for k := range to.Deviations {
		deviations[k] = to.Deviations[k][from:end]
	}
	here, groups, codes := w.here[:len(values)], w.grouping.Group[:len(values)], w.grouping.Combo[:len(values)]
	for r, x := range values {
		if !here[r] {
			writeUnknown(to, from+r)
			continue
		}
		o := &keepsValue
		if groups[r] >= 0 {
			if found := w.outcome(s, column, int(codes[r])); found.batches > 0 {
				o = found
			}
		}
		u, shift, own := about(x)
		if count == 1 {
			m, t := &o.receives[0], &o.factors[0]
			away := max(0, u*u*m[0]-2*u*m[1]+m[2])
			weights[r], totals[r] = t.weight, o.stays[0]*own+away
			stays[r], squares[r], noises[r] = t.stay, away/t.weight, 0
			likeliest[r], means[r] = o.undone(u, shift, own, totals[r], t.weight)
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
		t := &o.factors[1]
		weights[r], totals[r] = t.weight, total
		stays[r], squares[r] = t.stay, square/t.weight
		noises[r] = max(0, sum-square*square) / (batches - 1) / t.square
		likeliest[r], means[r] = o.undone(u, shift, own, total, t.weight)
		for k := range deviations {
			deviations[k][r] = float32(each[k] - total)
		}
	}
}

// undone is undoing.squares for a record of the outcome, times the probability that its released value is there.
// shift and own are E(y − x) and E(y − x)² for its own value, total is that of the released value.
func (o *outcome) undone(u, shift, own, total, weight float64) (likeliest, mean float64) {
	if !o.undo.known {
		return total, total
	}
	likeliest, mean = o.undo.squares(u, u+shift, own+2*u*shift+u*u, total/weight)
	if !o.undo.moves {
		return total, weight * mean
	}
	return weight * likeliest, weight * mean
}
