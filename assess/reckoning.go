package assess

import "math"

// found is what is known of a target before any replicate.
type found struct {
	target target
	tau    float64
	record *extreme // holds it, or of the sample what is nearest; nil where the column has no values
	// position is y_(k) of the release, sampled whether the record that holds τ is
	// one of the sample, counted whether τ and y_(k) are those of all records.
	position float64
	sampled  bool
	counted  bool
}

// positionSquare is E(τ−τ̂)² of a target known by its position, Duncan et al.
// (2004) eq. 6, from the release's own order statistic and its variance over the
// randomness of the mask: over all records the square of their difference is
// the square of the bias, and that variance, which is all but nothing beside it
// unless the bias is.
func (f *found) positionSquare(variance float64) float64 {
	d := f.position - f.tau
	return max(0, d*d-variance) + variance
}

// positionSquareNoise is the variance of positionSquare over the randomness of the
// mask: the release is one draw.
func (f *found) positionSquareNoise(variance float64) float64 {
	d := f.position - f.tau
	return varianceOfSquare(d*d-variance, variance)
}

// bias is E(ȳ − x̄) and what is known of it.
type bias struct {
	mean   float64
	noise  float64 // Monte-Carlo variance of mean
	square float64 // estimate of its square
	ofMean float64 // Var(ȳ) over the randomness of the mask, at the release's n

	// Monte-Carlo variances of square and of ofMean, NaN where one replicate
	// shows none.
	squareNoise, ofMeanNoise float64
}

// ranks are the squares of the errors of a target known by its position.
type ranks struct {
	sought
	square, spread float64 // and the variance of the square
	safe           bool
}

// group is the records of the sample that have the same values in some columns.
type group struct {
	class
	codes  []float64
	found  map[int][]found  // by masked column
	moment map[int]comoment // of the originals
}

// reckoning is one evaluation of an accumulator.
type reckoning struct {
	a       *Accumulator
	data    *data
	targets map[int][]found // by masked column

	exchange Exchange // nil where nothing tells of exchanged records
	group    *group   // that it is about; nil: all records

	tried bool // the masks were not applied to the data: there is no release, and what is found as one is the original

	// Of the replicates:
	answers map[int][]answer // by masked column; no entry where there are none
	partial bool             // whether replicates were made on less than all pairs
	subsets int
	share   float64 // records of a replicate over records of the release
	bias    map[int]bias
	before  map[int][]float64 // by column: s² of the original in each subset, for masks that are tried

	// Of the masks' laws:
	expected map[int]*expectation // by masked column that has one
	ranks    map[int][]ranks      // and by target
	spectra  map[int]*spectrum
}

// reckon begins an evaluation: it finds the targets.
func (a *Accumulator) reckon(tried bool) *reckoning {
	a.sample.settle()
	s := &a.sample
	r := &reckoning{a: a, exchange: a.opts.Exchange, tried: tried, targets: map[int][]found{}, answers: map[int][]answer{}, bias: map[int]bias{}}
	r.data = &data{n: s.len(), records: a.records, complete: int64(s.len()) == a.records,
		values: s.values, priority: s.priority, from: s.from, row: s.row}
	for c, column := range a.opts.Columns {
		if column.Masked {
			r.targets[c] = r.locate(c)
		}
	}
	return r
}

// locate finds the targets of a column: τ, the record that holds it, and the
// same order statistic of the release.
func (r *reckoning) locate(c int) []found {
	x, y := withValue(r.data.original(c)), withValue(r.data.released(c))
	taus, positions := percentiles(x, r.a.targets), percentiles(y, r.a.targets)
	list := make([]found, len(r.a.targets))
	for i, t := range r.a.targets {
		f := found{target: t, tau: math.NaN(), position: math.NaN()}
		s := &r.a.columns[c]
		switch {
		case t.minimum():
			f.record, f.position = s.bottom.first(), s.low
		case t.maximum():
			f.record, f.position = s.top.first(), s.high
		case len(x) > 0:
			f.record = r.holder(c, taus[i], t.rank(len(x)))
			f.sampled = !r.data.complete
			f.tau, f.position = taus[i], positions[i]
			f.counted = r.data.complete && !r.tried
			if s.x != nil && !f.counted && !r.tried {
				tau, known := s.x.orderStatistic(t.rank(int(s.x.n)), x)
				position, knownToo := s.y.orderStatistic(t.rank(int(s.y.n)), y)
				if f.counted = known && knownToo; f.counted {
					f.tau, f.position = tau, position
				}
			}
		}
		if f.record != nil && t.extremal() {
			f.tau = f.record.x
		}
		list[i] = f
	}
	return list
}

// holder returns the record with the k-th smallest value tau, in the order of
// place among equals.
func (r *reckoning) holder(c int, tau float64, k int) *extreme {
	x := r.data.original(c)
	below := 0
	for _, v := range x {
		if v < tau {
			below++
		}
	}
	for i, v := range x {
		if v != tau {
			continue
		}
		if below++; below < k {
			continue
		}
		e := &extreme{x: v, from: r.data.from[i], row: r.data.row[i], values: make([]float64, len(r.data.values))}
		for j := range e.values {
			e.values[j] = r.data.values[j][i]
		}
		return e
	}
	return nil
}
