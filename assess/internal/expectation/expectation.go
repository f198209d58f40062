// Package expectation computes expectations over the law of the masks for all records of a
// column, without simulation.
package expectation

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// Law is the law of the masks; assess.Law describes the methods.
type Law interface {
	Moments(x float64) (shift, square float64)
	Below(x, t float64) float64
	BelowEach(x []float64) func(t float64, p []float64)
	Reach(x float64) (low, high float64)
	Support() (low, high, step float64)
	Fixed() bool
}

// Expectation holds expectations for a column under the law of its masks: docs/methods.md §9.
// The sums are over all records and use no draws.
type Expectation struct {
	law   Law
	Of    *tally.Spectrum
	X     comoment.Pair // of the originals, exact
	shift []float64     // by atom: E(y − x) and E(y − x)²
	square,
	low, high []float64 // by atom: the interval that y lies in

	Bias, BiasNoise     float64 // E(ȳ − x̄), and its variance over samples
	OfMean              float64 // Var(ȳ) over the masks
	Typical             float64 // (1/n) Σ E(y − x)²
	TypicalNoise        float64
	Variance            float64           // E s_y²
	Error, ErrorNoise   float64           // 1/U and its variance over samples
	clusters            map[int]*clusters // by size of a lump
	step, least, utmost float64
	Unit                float64 // unit of the last decimal of the originals; 0 if they are on no decimal grid
	Sampled             bool    // the spectrum is that of a sample
	Shared              bool    // records with the same value may share a draw
}

// New computes the expectations under a law; s is the spectrum of the originals and x their moments.
func New(law Law, s *tally.Spectrum, x comoment.Pair) *Expectation {
	k := len(s.X)
	all := make([]float64, 4*k)
	e := &Expectation{law: law, Of: s, X: x, Sampled: s.Sampled(), shift: all[:k:k], square: all[k : 2*k : 2*k],
		low: all[2*k : 3*k : 3*k], high: all[3*k:]}
	e.least, e.utmost, e.step = law.Support()
	mean, n := x.Mi, s.Total
	var shift, square, cross, spread float64
	for i, v := range s.X {
		a, b := law.Moments(v)
		e.shift[i], e.square[i] = a, b
		e.low[i], e.high[i] = law.Reach(v)
		shift += s.N[i] * a
		square += s.N[i] * b
		cross += s.N[i] * (v - mean) * a
		spread += s.N[i] * max(0, b-a*a)
	}
	e.Bias, e.Typical, e.OfMean = shift/n, square/n, spread/(n*n)
	// Σ(y−ȳ)² = Σ(x−x̄)² + 2Σ(x−x̄)(y−x) + Σ(y−x)² − n(ȳ−x̄)².
	e.Variance = max(0, x.Cii+2*cross+square-n*(e.Bias*e.Bias+e.OfMean)) / (n - 1)
	if e.Variance < 1e-12*x.Cii/(n-1) {
		e.Variance = 0 // the rest is rounding: the masks make the column constant
	}
	e.Error = e.Variance/n + e.Bias*e.Bias
	if e.Sampled {
		e.BiasNoise = s.SampleVariance(func(i int) float64 { return e.shift[i] }) / (n * n)
		e.TypicalNoise = s.SampleVariance(func(i int) float64 { return e.square[i] }) / (n * n)
		e.ErrorNoise = s.SampleVariance(func(i int) float64 {
			a := e.shift[i]
			return (2*(s.X[i]-mean)*a+e.square[i]-2*e.Bias*a)/(n-1)/n + 2*e.Bias*a/n
		})
	}
	return e
}

// Fixed reports whether the masks draw nothing.
func (e *Expectation) Fixed() bool { return e.law.Fixed() }

// Settle frees the memory of all that is kept for each atom. ByMean and ByIndex may be called
// after it, Seek and ByPosition may not.
func (e *Expectation) Settle() {
	e.Of, e.clusters = nil, nil
	e.shift, e.square, e.low, e.high = nil, nil, nil, nil
}

// ByMean returns E(τ − ȳ)² and its variance; noise is the variance of τ.
func (e *Expectation) ByMean(tau, noise float64) (square, squareNoise float64) {
	d := e.X.Mi + e.Bias - tau
	return d*d + e.OfMean, estimate.VarianceOfSquare(d*d, e.BiasNoise+noise)
}

// Target is a target of a column: its value τ, and how well that is known.
type Target struct {
	rank    int
	Tau     float64
	Exact   bool    // τ is a value of the data
	counted bool    // the number of records below τ is that of the data
	Noise   float64 // variance of τ if it is not exact
	width   float64 // of the interval in which τ lies, or the distance to either end
	density float64 // originals per unit near τ, if their number below it is not known
}

// Seek finds the k-th smallest value of the originals.
func (e *Expectation) Seek(k int, t *tally.Tally, sample []float64) Target {
	tau, at, exact := e.Of.OrderStatistic(k)
	q := Target{rank: k, Tau: tau, Exact: exact, counted: exact}
	if exact || at < 0 {
		return q
	}
	n, m := e.Of.Total, float64(len(sample))
	if v, width, count, known := t.Located(k, sample, e.Unit); known {
		q.Tau, q.counted, q.width = v, true, width
		q.Exact = width == 0
		q.Noise = width * width / 4 / count
		if e.Unit > 0 && width > 0 && e.Unit < width {
			q.Noise += e.Unit * e.Unit / 4 // as it may be the next one
		}
		return q
	}
	// The interval about the sample's order statistic: two standard errors of the rank to either side.
	p := float64(k) / n
	d := int(math.Ceil(2 * math.Sqrt(m*p*(1-p)) * n / m))
	lo, _, _ := e.Of.OrderStatistic(max(1, k-d))
	hi, _, _ := e.Of.OrderStatistic(min(int(n), k+d))
	q.width = hi - lo
	q.Noise = (hi - lo) * (hi - lo) / 16
	q.density = float64(2*d) / max(hi-lo, e.Unit, math.SmallestNonzeroFloat64)
	return q
}

// ByIndex returns E(y − x)² of the record that holds the target. If its value is not known
// exactly, the result is the least for the values that it may have; safe says that these
// differ.
func (e *Expectation) ByIndex(q Target) (square float64, safe bool) {
	_, square = e.law.Moments(q.Tau)
	if q.Exact || !(q.width > 0) {
		return square, false
	}
	step := q.width / 64
	if e.Unit > 0 {
		step = max(e.Unit, math.Ceil(q.width/e.Unit/256)*e.Unit)
	}
	least, most := square, square
	for x := q.Tau - math.Ceil(q.width/step)*step; x <= q.Tau+q.width; x += step {
		v := x
		if e.Unit > 0 {
			v = math.Round(x/e.Unit) * e.Unit
		}
		_, square := e.law.Moments(v)
		least, most = min(least, square), max(most, square)
	}
	return least, most-least > 0.01*most
}
