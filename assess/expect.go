package assess

import (
	"math"
)

// expectation is what the law of the masks makes of a column as a whole: docs/methods.md §9.
// The sums are over all records, no draw among them.
type expectation struct {
	law   Law
	of    *spectrum
	x     comoment  // of the originals, exact
	shift []float64 // by atom: E(y − x) and E(y − x)²
	square,
	low, high []float64 // and the interval that y lies in

	bias, biasNoise     float64 // E(ȳ − x̄), and its variance by the sample
	ofMean              float64 // Var(ȳ) over the masks
	typical             float64 // (1/n) Σ E(y − x)²
	typicalNoise        float64
	variance            float64 // E s_y²
	error, errorNoise   float64 // 1/U and its variance by the sample
	clusters            *clusters
	step, least, utmost float64
	unit                float64 // of the decimals that the originals show, 0 where they show none
}

func newExpectation(law Law, s *spectrum, x comoment) *expectation {
	k := len(s.x)
	all := make([]float64, 4*k)
	e := &expectation{law: law, of: s, x: x, shift: all[:k:k], square: all[k : 2*k : 2*k], low: all[2*k : 3*k : 3*k], high: all[3*k:]}
	e.least, e.utmost, e.step = law.Support()
	mean, n := x.Mi, s.total
	var shift, square, cross, spread float64
	for i, v := range s.x {
		a, b := law.Moments(v)
		e.shift[i], e.square[i] = a, b
		e.low[i], e.high[i] = law.Reach(v)
		shift += s.n[i] * a
		square += s.n[i] * b
		cross += s.n[i] * (v - mean) * a
		spread += s.n[i] * max(0, b-a*a)
	}
	e.bias, e.typical, e.ofMean = shift/n, square/n, spread/(n*n)
	// Σ(y−ȳ)² = Σ(x−x̄)² + 2Σ(x−x̄)(y−x) + Σ(y−x)² − n(ȳ−x̄)².
	e.variance = max(0, x.Cii+2*cross+square-n*(e.bias*e.bias+e.ofMean)) / (n - 1)
	if e.variance < 1e-12*x.Cii/(n-1) {
		e.variance = 0 // what rounding left of a column that masks make constant
	}
	e.error = e.variance/n + e.bias*e.bias
	if s.sampled() {
		e.biasNoise = s.sampleVariance(func(i int) float64 { return e.shift[i] }) / (n * n)
		e.typicalNoise = s.sampleVariance(func(i int) float64 { return e.square[i] }) / (n * n)
		e.errorNoise = s.sampleVariance(func(i int) float64 {
			a := e.shift[i]
			return (2*(s.x[i]-mean)*a+e.square[i]-2*e.bias*a)/(n-1)/n + 2*e.bias*a/n
		})
	}
	return e
}

// byMean is E(τ − ȳ)², of which τ is known with the variance given.
func (e *expectation) byMean(tau, noise float64) (square, squareNoise float64) {
	d := e.x.Mi + e.bias - tau
	return d*d + e.ofMean, varianceOfSquare(d*d, e.biasNoise+noise)
}

// sought is a target of a column: its value τ, how well that is known, and what a
// snooper is to be expected to make of it.
type sought struct {
	rank    int
	tau     float64
	exact   bool    // τ is a value of the data
	counted bool    // the number of records below τ is that of the data
	noise   float64 // variance of τ where it is not exact
	width   float64 // of the interval in which τ lies, or half of it to either side
	density float64 // originals per unit near τ, where their number below it is not known
}

// seek finds the k-th smallest value of the originals.
func (e *expectation) seek(k int, t *tally, sample []float64) sought {
	tau, at, exact := e.of.orderStatistic(k)
	q := sought{rank: k, tau: tau, exact: exact, counted: exact}
	if exact || at < 0 {
		return q
	}
	n, m := e.of.total, float64(len(sample))
	if v, width, count, known := t.located(k, sample, e.unit); known {
		q.tau, q.counted, q.width = v, true, width
		q.exact = width == 0
		q.noise = width * width / 4 / count
		if e.unit > 0 && width > 0 && e.unit < width {
			q.noise += e.unit * e.unit / 4 // as it may be the next one
		}
		return q
	}
	// The order statistic of the sample: two standard errors of the rank to either side.
	p := float64(k) / n
	d := int(math.Ceil(2 * math.Sqrt(m*p*(1-p)) * n / m))
	lo, _, _ := e.of.orderStatistic(max(1, k-d))
	hi, _, _ := e.of.orderStatistic(min(int(n), k+d))
	q.width = hi - lo
	q.noise = (hi - lo) * (hi - lo) / 16
	q.density = float64(2*d) / max(hi-lo, e.unit, math.SmallestNonzeroFloat64)
	return q
}

// byIndex is E(y − x)² of the record that holds the target. Where its value is not
// known exactly, the least of those that it may have is taken; safe then says that they
// differ.
func (e *expectation) byIndex(q sought) (square float64, safe bool) {
	_, square = e.law.Moments(q.tau)
	if q.exact || !(q.width > 0) {
		return square, false
	}
	step := q.width / 64
	if e.unit > 0 {
		step = max(e.unit, math.Ceil(q.width/e.unit/256)*e.unit)
	}
	least, most := square, square
	for x := q.tau - math.Ceil(q.width/step)*step; x <= q.tau+q.width; x += step {
		v := x
		if e.unit > 0 {
			v = math.Round(x/e.unit) * e.unit
		}
		_, square := e.law.Moments(v)
		least, most = min(least, square), max(most, square)
	}
	return least, most-least > 0.01*most
}
