package expectation

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
)

func (e *Expectation) cluster(size int) *clusters {
	c := new(clusters)
	var first, sd float64
	for i, v := range e.Of.X {
		n, k := e.Of.N[i], len(c.x)-1
		if n == 0 {
			continue
		}
		own := e.sd(i)
		if k >= 0 && alike(v-first, sd, own, closeness) {
			c.n[k] += n
			c.x[k] += (v - c.x[k]) * n / c.n[k]
			c.low[k], c.high[k] = min(c.low[k], e.low[i]), max(c.high[k], e.high[i])
			c.lumps.add(k, n, size)
			continue
		}
		first, sd = v, own
		c.x, c.n, c.low, c.high = append(c.x, v), append(c.n, n), append(c.low, e.low[i]), append(c.high, e.high[i])
		c.lumps.add(k+1, n, size)
	}
	c.byLow, c.byHigh = edgesOf(c.low, c.n), edgesOf(c.high, c.n)
	return c
}

// window has the data that determine the k-th smallest released value: the records whose
// released values may be between bounds in which it certainly lies, and the number of records
// whose values certainly are below.
type window struct {
	law      Law
	each     func(t float64, p []float64) // of law, for x
	k        float64
	below    float64   // number of records that certainly are below
	x, n     []float64 // the others
	size     int       // greatest number of records that share a draw
	lumps    lumps     // how the records of each x share draws; nil if none do
	records  float64
	from, to float64
	p        []float64 // scratch
}

func (e *Expectation) window(k, size int) *window {
	c := e.clusters[size]
	if c == nil {
		c = e.cluster(size)
	}
	w := &window{law: e.law, k: float64(k), size: size, from: c.byLow.reaching(float64(k)),
		to: c.byHigh.reaching(float64(k))}
	for i, low := range c.low {
		switch {
		case c.high[i] < w.from || low == c.high[i] && low <= w.from:
			w.below += c.n[i]
		case low <= w.to:
			w.x, w.n = append(w.x, c.x[i]), append(w.n, c.n[i])
			w.records += c.n[i]
			if c.lumps != nil {
				w.lumps = append(w.lumps, c.lumps[i])
			}
		}
	}
	w.p, w.each = make([]float64, len(w.x)), w.law.BelowEach(w.x)
	return w
}

// refine uses ten times finer clusters, if few enough of them can reach the interval between
// two bounds.
func (w *window) refine(e *Expectation, from, to float64) {
	const few = 5000
	var x, n []float64
	var shared lumps
	below, records, first, sd := 0.0, 0.0, 0.0, 0.0
	for i, low := range e.low {
		v, m := e.Of.X[i], e.Of.N[i]
		switch high := e.high[i]; {
		case m == 0 || low > to:
			continue
		case high < from || low == high && low <= from:
			below += m
			continue
		}
		records += m
		own := e.sd(i)
		if k := len(x) - 1; k >= 0 && alike(v-first, sd, own, closeness/10) {
			n[k] += m
			x[k] += (v - x[k]) * m / n[k]
			shared.add(k, m, w.size)
			continue
		}
		if len(x) == few {
			return
		}
		first, sd = v, own
		x, n = append(x, v), append(n, m)
		shared.add(len(x)-1, m, w.size)
	}
	w.lumps = shared
	w.x, w.n, w.p, w.below, w.records = x, n, make([]float64, len(x)), below, records
	w.each = w.law.BelowEach(x)
}

// sd is the SD of y given the atom's x.
func (e *Expectation) sd(i int) float64 {
	return math.Sqrt(max(0, e.square[i]-e.shift[i]*e.shift[i]))
}

// exactly is the number of records up to which the distribution of the number below a bound is
// computed exactly. sparse is the variance of that number up to which it is also computed so,
// because it is not nearly normal.
const (
	exactly = 600
	sparse  = 60
)

// atMost returns P(y_(k) ≤ t) for independent records each of which is below t with a
// probability of its own: the number of those below is Poisson-binomial. It also returns the
// mean of that number. Records that share a draw are below together.
func (w *window) atMost(t float64) (probability, mean float64) {
	if w.lumps != nil {
		return w.atMostShared(t)
	}
	mean = w.below
	variance, third := 0.0, 0.0 // central moments of the number
	w.each(t, w.p)
	for i, p := range w.p {
		mean += w.n[i] * p
		v := w.n[i] * p * (1 - p)
		variance += v
		third += v * (1 - 2*p)
	}
	need := w.k - w.below
	switch {
	case need <= 0:
		return 1, mean
	case need > w.records:
		return 0, mean
	case need == 1: // the first of them
		none := 0.0
		for i, p := range w.p {
			none += w.n[i] * math.Log1p(-p)
		}
		return -math.Expm1(none), mean
	case need == w.records: // the last
		all := 0.0
		for i, p := range w.p {
			all += w.n[i] * math.Log(p)
		}
		return math.Exp(all), mean
	case variance < sparse && w.records <= exactly:
		return w.poissonBinomial(int(need)), mean
	case variance < 1e-12:
		if mean > w.k-0.5 {
			return 1, mean
		}
		return 0, mean
	}
	return edgeworth(w.k-0.5-mean, variance, third), mean
}

// edgeworth returns the probability that a nearly normal number exceeds its mean by a distance, with its second and
// third central moment. The first term of the Edgeworth expansion: in a tail the number is skewed. The correction is up
// to a sixth of a record, and moves an order statistic by that share of the gap between records.
func edgeworth(distance, variance, third float64) float64 {
	z := distance / math.Sqrt(variance)
	skewness := third / (variance * math.Sqrt(variance))
	edge := skewness / 6 * (z*z - 1) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return max(0, min(1, 0.5*math.Erfc(z/math.Sqrt2)+edge))
}

// poissonBinomial returns the probability that at least need of the records lie below.
func (w *window) poissonBinomial(need int) float64 {
	few := make([]float64, need) // few[k] = P(k of the records so far lie below)
	few[0] = 1
	for i, p := range w.p {
		for range int(w.n[i]) {
			if p == 0 {
				continue
			}
			for j := need - 1; j > 0; j-- {
				few[j] = few[j]*(1-p) + few[j-1]*p
			}
			few[0] *= 1 - p
		}
	}
	sum := 0.0
	for _, v := range few {
		sum += v
	}
	return max(0, min(1, 1-sum))
}

// distribution is that of the k-th smallest released value.
type distribution struct {
	mean, variance float64 // of y_(k)
	slope          float64 // records per unit near it
	middle         float64 // median
}

const (
	negligible = 1e-9 // probability at either end that is ignored
	cells      = 96
)

// points returns the ends of the cells between two bounds over which the distribution
// function is summed, and whether they are all the values that can be released there.
// None lies below the lowest multiple of the step from `from` on, since a refined window has no
// data for lower values.
func (e *Expectation) points(from, to float64) (points []float64, lattice bool) {
	if lattice = e.step > 0 && (to-from)/e.step <= 4*cells; lattice {
		for j := math.Floor(from / e.step); j*e.step <= to+e.step; j++ {
			points = append(points, j*e.step)
		}
	} else {
		for i := range cells + 1 {
			points = append(points, from+(to-from)*float64(i)/cells)
		}
	}
	for _, bound := range []float64{e.least, e.utmost} {
		if bound >= from && bound <= to && !math.IsInf(bound, 0) {
			points = append(points, bound, math.Nextafter(bound, math.Inf(-1)))
		}
	}
	slices.Sort(points)
	return slices.Compact(points), lattice
}

// values returns P(y_(k) ≤ t) at each of the points; the values do not decrease, and the last is 1.
func (w *window) values(points []float64) []float64 {
	values := make([]float64, len(points))
	for i, t := range points {
		if values[i], _ = w.atMost(t); i > 0 {
			values[i] = max(values[i], values[i-1])
		}
	}
	values[len(values)-1] = 1
	return values
}

// split halves cells as long as it matters where in a cell its probability lies: because of a few
// records that may be very far away, cells of equal width can be much wider than the interval of
// all other records.
func (w *window) split(points, values []float64, tau float64) ([]float64, []float64) {
	const most, enough = 40, 1e-3
	for range most {
		var square, unknown float64
		for i := 1; i < len(points); i++ {
			mass, width := values[i]-values[i-1], points[i]-points[i-1]
			centre := points[i] - width/2 - tau
			square += mass * centre * centre
			unknown += mass * width * width / 12
		}
		share := enough * max(square, enough*unknown) / float64(len(points))
		if unknown <= enough*square {
			break
		}
		finer, finerValues := points[:1:1], values[:1:1]
		for i := 1; i < len(points); i++ {
			a, b := points[i-1], points[i]
			middle := a + (b-a)/2
			if mass := values[i] - values[i-1]; mass*(b-a)*(b-a)/12 > share && middle > a && middle < b {
				f, _ := w.atMost(middle)
				finer, finerValues = append(finer, middle), append(finerValues, min(max(f, values[i-1]), values[i]))
			}
			finer, finerValues = append(finer, b), append(finerValues, values[i])
		}
		if len(finer) == len(points) {
			break
		}
		points, values = finer, finerValues
	}
	return points, values
}

// ranked returns the distribution of the k-th smallest released value about τ: moments
// are summed over cells of its distribution function.
func (e *Expectation) ranked(k int, tau float64, size int) distribution {
	w := e.window(k, size)
	low, high := w.from, w.to
	computed := map[float64]float64{} // the searches for several p evaluate the same first values
	cut := func(p float64) float64 {  // least t with P(y_(k) ≤ t) above p
		lo, hi := low, high
		for range 60 {
			m := lo + (hi-lo)/2
			if m <= lo || m >= hi || hi-lo <= 1e-6*(high-low) && hi-lo <= 1e-9*math.Abs(m) {
				break
			}
			f, ok := computed[m]
			if !ok {
				f, _ = w.atMost(m)
				computed[m] = f
			}
			if f > p {
				hi = m
			} else {
				lo = m
			}
		}
		return hi
	}
	if !(high > low) {
		return distribution{mean: high, middle: high}
	}
	d := distribution{middle: cut(0.5)}
	from, to := cut(negligible), cut(1-negligible)
	w.refine(e, from, to)
	points, lattice := e.points(from, to)
	values := w.values(points)
	if !lattice {
		points, values = w.split(points, values, tau)
	}
	first, second := momentsAbout(tau, points, values, lattice)
	if second < 1e-20*(1+tau*tau) {
		first, second = 0, 0 // the rest comes from the probabilities that were ignored
	}
	d.mean, d.variance = tau+first, max(0, second-first*first)
	half := math.Sqrt(d.variance)
	if e.step > 0 {
		half = max(half, e.step)
	}
	if half > 0 {
		_, above := w.atMost(d.middle + half)
		_, below := w.atMost(d.middle - half)
		d.slope = (above - below) / (2 * half)
	}
	return d
}

// momentsAbout returns E(y − tau) and E(y − tau)² of a distribution with the values P(y ≤ t) at points. With
// lattice the probability is at the points themselves, otherwise it is uniform between each two.
func momentsAbout(tau float64, points, values []float64, lattice bool) (first, second float64) {
	for i, t := range points {
		mass, width := values[i], 0.0
		if i > 0 {
			mass -= values[i-1]
		}
		if i > 0 && !lattice {
			width = t - points[i-1]
		}
		centre := t - width/2 - tau
		first += mass * centre
		second += mass * (centre*centre + width*width/12)
	}
	return first, second
}

// ByPosition returns E(τ − y_(k))², Duncan et al. (2004) eq. 6, and its variance over samples.
// safe says that the bias of y_(k) is not known and was left out, because the masks move values
// by less than the accuracy with which τ is known, or that it is a bound because it is not known how many records share
// a draw: the least expectation over the numbers that may.
func (e *Expectation) ByPosition(q Target) (square, noise float64, safe bool) {
	if e.law.Fixed() { // a nondecreasing function keeps the order
		square, safe = e.ByIndex(q)
		return square, 0, safe
	}
	square, noise, safe = e.byPosition(q, 1)
	if !e.Shared {
		return square, noise, safe
	}
	most := square
	for _, size := range sizes {
		other, ofOther, safeToo := e.byPosition(q, size)
		if most = max(most, other); other < (1-1e-9)*square { // less is rounding
			square, noise, safe = other, ofOther, safeToo
		}
	}
	return square, noise, safe || most-square > 0.01*most
}

// byPosition is ByPosition where up to a number of records with the same value share a draw.
func (e *Expectation) byPosition(q Target, size int) (square, noise float64, safe bool) {
	d := e.ranked(q.rank, q.Tau, size)
	bias := d.mean - q.Tau
	square = bias*bias + d.variance
	if q.Exact && !e.Sampled {
		return square, 0, false
	}
	var ofPlace float64 // variance of the mean of y_(k) less τ
	if e.Sampled {
		perReleased, perOriginal := 0.0, 0.0 // by how much one more record moves y_(k) and τ
		if d.slope > 0 {
			perReleased = 1 / d.slope
		}
		if !q.counted {
			perOriginal = 1 / q.density
		}
		below := e.belowInOrder(d.middle)
		ofPlace = e.Of.SampleVariance(func(i int) float64 {
			shift := 0.0
			if p := below(i); p > 0 {
				shift = perReleased * p
			}
			if e.Of.X[i] <= q.Tau {
				shift -= perOriginal
			}
			return shift
		})
	}
	if q.counted {
		ofPlace += q.Noise
	}
	unbiased := max(0, bias*bias-ofPlace)
	square = unbiased + d.variance
	noise = estimate.VarianceOfSquare(unbiased, ofPlace)
	_, own := e.law.Moments(q.Tau)
	if !q.Exact && math.Sqrt(own) < q.width/2 && q.counted {
		return d.variance, 0, true
	}
	return square, noise, false
}

// belowInOrder returns a function that gives P(y ≤ t) of atom i, or 0 or 1 if t is out of reach, to
// within 0.00001 if the law is smooth. It is fastest for atoms in ascending order.
func (e *Expectation) belowInOrder(t float64) func(i int) float64 {
	const together = 1024
	from, p := 0, []float64(nil) // p[i] is for atom from+i
	return func(i int) float64 {
		switch {
		case e.high[i] <= t:
			return 1
		case e.low[i] > t:
			return 0
		}
		if i < from || i >= from+len(p) {
			n := min(together, len(e.Of.X)-i)
			from, p = i, slices.Grow(p[:0], n)[:n]
			e.below(t, from, p)
		}
		return p[i-from]
	}
}

// below writes P(y ≤ t) of the atoms from the given one on to p. For atoms that lie close together
// the law is evaluated for the first and the last, and for the others only if these differ, since
// the law may have steps.
func (e *Expectation) below(t float64, from int, p []float64) {
	const (
		most  = 16   // atoms between two for which the law is evaluated
		close = 0.01 // SDs of y between them
		alike = 0.02
	)
	x := e.Of.X[from : from+len(p)]
	var ends []int
	var at []float64
	for k := 0; k < len(x); {
		ends, at = append(ends, k), append(at, x[k])
		next, bound := k+1, x[k]+close*e.sd(from+k)
		for next+1 < len(x) && next-k < most && x[next+1] <= bound {
			next++
		}
		k = next
	}
	computed := make([]float64, len(at))
	e.law.BelowEach(at)(t, computed)
	for k, a := range ends {
		p[a] = computed[k]
		if k+1 == len(ends) || ends[k+1] == a+1 {
			continue
		}
		b, rise := ends[k+1], computed[k+1]-computed[k]
		if !(math.Abs(rise) <= alike) {
			e.law.BelowEach(x[a+1:b])(t, p[a+1:b])
			continue
		}
		perUnit := 0.0
		if x[b] > x[a] {
			perUnit = rise / (x[b] - x[a])
		}
		for i := a + 1; i < b; i++ {
			p[i] = computed[k] + (x[i]-x[a])*perUnit
		}
	}
}

// Prepare computes what ByPosition needs for all targets. ByPosition may then be called by
// several goroutines.
func (e *Expectation) Prepare() {
	if e.law.Fixed() {
		return
	}
	e.clusters = map[int]*clusters{1: e.cluster(1)}
	if e.Shared {
		for _, size := range sizes {
			e.clusters[size] = e.cluster(size)
		}
	}
}
