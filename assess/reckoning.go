package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/expectation"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// located is a target as it is known before any replicate.
type located struct {
	target orderstat.Target
	tau    float64
	record *sample.Extreme // the record that holds it, or the nearest one of the sample; nil if the column has no values
	// position is y_(k) of the release; sampled is whether the record is one of the
	// sample, counted whether τ and y_(k) are those of all records.
	position float64
	sampled  bool
	counted  bool
	// exact says that τ and its record are those of all records. Otherwise τ is within slack of that, and position within
	// slackOut of that of all records.
	exact           bool
	slack, slackOut float64
}

// positionSquare returns E(τ−τ̂)² of a target known by its position, Duncan et al.
// (2004) eq. 6, from the release's own order statistic and its variance over the
// randomness of the mask: over all records, the expected square of their difference is the
// square of the bias plus that variance, which is negligible unless the bias is small too.
func (f *located) positionSquare(variance float64) float64 {
	d := f.apart()
	return max(0, d*d-variance) + variance
}

// apart returns the least distance that τ and y_(k) can have.
func (f *located) apart() float64 { return max(0, math.Abs(f.position-f.tau)-f.slack-f.slackOut) }

// positionSquareNoise returns the variance of positionSquare over the randomness of the
// mask: the release is one draw.
func (f *located) positionSquareNoise(variance float64) float64 {
	d := f.apart()
	return estimate.VarianceOfSquare(d*d-variance, variance)
}

// bias holds E(ȳ − x̄) and its precision.
type bias struct {
	mean   float64
	noise  float64 // Monte-Carlo variance of mean
	square float64 // estimate of its square
	ofMean float64 // Var(ȳ) over the randomness of the mask, at the release's n

	// Monte-Carlo variances of square and of ofMean; NaN with one replicate, from
	// which they cannot be estimated.
	squareNoise, ofMeanNoise float64
}

// ranks holds the squared error of a target known by its position.
type ranks struct {
	expectation.Target
	square, spread float64 // the mean squared error and its variance
	safe           bool
}

// group is the records of the sample that have the same values in some columns.
type group struct {
	replicate.Class
	codes   []float64
	located map[int][]located     // by masked column
	moment  map[int]comoment.Pair // of the originals
}

// reckoning is one evaluation of an accumulator.
type reckoning struct {
	a       *Accumulator
	data    *replicate.Data
	targets map[int][]located // by masked column

	exchange Exchange // nil if the effect of swaps on single records is not known
	group    *group   // the records that are evaluated; nil: all

	// the masks were not applied to the data: there is no release, and the released values are the original ones
	candidate bool

	// Of the replicates:
	answers map[int][]replicate.Answer // by masked column; no entry where there are none
	partial bool                       // whether replicates were made on less than all pairs
	repeats bool                       // whether respondents have several records with the same value, which share a draw
	single  bool                       // whether the effect of draws is known from the release only
	brief   bool                       // whether the evaluation is that of a snapshot
	subsets int
	share   float64 // records of a replicate over records of the release
	bias    map[int]bias
	before  map[int][]float64 // by column: s² of the original in each subset, for candidate masks
	known   []KnownTotals     // by tables of the ledger

	// Of the masks' laws:
	expected map[int]*expectation.Expectation // by masked column that has one
	ranks    map[int][]ranks                  // and by target
	spectra  []*tally.Spectrum                // by column, computed when needed
}

// reckon begins an evaluation: it finds the targets.
func (a *Accumulator) reckon(candidate bool) *reckoning {
	a.sample.Settle()
	r := &reckoning{a: a, exchange: a.opts.Exchange, candidate: candidate, targets: map[int][]located{},
		answers: map[int][]replicate.Answer{}, bias: map[int]bias{}}
	r.data = a.sampleData()
	list := make([][]located, len(a.opts.Columns))
	cores.Each(len(list), func(c int) {
		if a.opts.Columns[c].Masked {
			list[c] = r.locate(c)
		}
	})
	for c := range list {
		if list[c] != nil {
			r.targets[c] = list[c]
		}
	}
	return r
}

// sampleData returns the content of the sample, after all records have been added.
func (a *Accumulator) sampleData() *replicate.Data {
	s := &a.sample
	return &replicate.Data{N: s.Len(), Records: a.records, Complete: int64(s.Len()) == a.records,
		Values: s.Values, Priority: s.Priority, From: s.From, Row: s.Row}
}

// locate finds the targets of a column: τ, the record that holds it, and the
// same order statistic of the release.
func (r *reckoning) locate(c int) []located {
	x, y := cell.Present(r.data.Original(c)), cell.Present(r.data.Released(c))
	taus, positions := orderstat.Percentiles(x, r.a.targets), orderstat.Percentiles(y, r.a.targets)
	list := make([]located, len(r.a.targets))
	for i, t := range r.a.targets {
		f := located{target: t, tau: math.NaN(), position: math.NaN()}
		s := &r.a.columns[c]
		switch {
		case t.Minimum():
			f.record, f.position = s.bottom.First(), s.low
		case t.Maximum():
			f.record, f.position = s.top.First(), s.high
		case len(x) > 0:
			f.record = r.holder(c, taus[i], t.Rank(len(x)))
			f.sampled = !r.data.Complete
			f.tau, f.position = taus[i], positions[i]
			f.counted = r.data.Complete && !r.candidate
			if s.counts != nil && !f.counted && !r.candidate {
				tau, known := s.counts.X.OrderStatistic(t.Rank(int(s.counts.X.N)), x)
				position, knownToo := s.counts.Y.OrderStatistic(t.Rank(int(s.counts.Y.N)), y)
				if f.counted = known && knownToo; f.counted {
					f.tau, f.position = tau, position
				}
			}
			if f.exact = r.data.Complete; !f.exact && !r.candidate {
				f.doubt(s, x, y)
				f.holding(r.a.found[c][t.Name], c, r.a.layout.CarryAt(0))
			}
		}
		if f.record != nil && t.Extremal() {
			f.exact = true
			f.tau = f.record.X
		}
		list[i] = f
	}
	return list
}

// holder returns the record with the k-th smallest value tau, in the order of
// place among equals.
func (r *reckoning) holder(c int, tau float64, k int) *sample.Extreme {
	x := r.data.Original(c)
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
		e := &sample.Extreme{X: v, From: r.data.From[i], Row: r.data.Row[i], Values: make([]float64, len(r.data.Values))}
		for j := range e.Values {
			e.Values[j] = r.data.Values[j][i]
		}
		return e
	}
	return nil
}
