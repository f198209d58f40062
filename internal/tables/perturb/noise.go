package perturb

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
)

// Noise holds the parameters of the changes of counts.
type Noise struct {
	Max      int     // the greatest change, up or down
	Variance float64 // of the change of every count but 0
	Least    int     // the least count above 0 that is published; 0 and 1: every count
}

// largestMax keeps a table of changes small.
const largestMax = 1000

// Table holds the distribution of the change of every count. It is the distribution
// with the greatest entropy among those that change a count by at most Max, give
// neither a count below 0 nor one between 0 and Least, keep the expectation and have
// the given Variance (Giessing 2016, "Computational issues in the design of transition
// probabilities and disclosure risk estimation for additive noise", PSD 2016). A count
// of 0 stays 0.
type Table struct {
	noise Noise
	rows  []row // by count; the last row is for all greater counts
}

// row is the distribution of the changes of one count.
type row struct {
	change []int64
	p      []float64
	upTo   []uint64 // a change has the draws below this and not below the previous one
}

// NewTable computes the distributions. It returns problems if a parameter is out of
// range or if no distribution has the requested variance.
func NewTable(n Noise) (*Table, check.Problems) {
	var problems check.Problems
	if n.Max < 1 || n.Max > largestMax {
		problems.Addf("max", "must be between 1 and %d, got %d", largestMax, n.Max)
	}
	if n.Least < 0 || n.Least > largestMax {
		problems.Addf("least", "must be between 0 and %d, got %d", largestMax, n.Least)
	}
	problems.Above("variance", n.Variance, 0)
	if len(problems) > 0 {
		return nil, problems
	}
	n.Least = max(n.Least, 1)
	least, most := n.between(&problems)
	if len(problems) == 0 && !(n.Variance > least && n.Variance < most) {
		problems.Addf("variance",
			"must be greater than %v and less than %v, with which every count can be changed by at most %d without a bias, got %v", least, most, n.Max, n.Variance)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	t := &Table{noise: n, rows: []row{certain()}}
	for count := 1; count <= n.Max+n.Least-1; count++ {
		r, ok := n.row(count)
		if !ok {
			problems.Addf("variance", "must be one that the changes of a count of %d can have, got %v", count, n.Variance)
			return nil, problems
		}
		t.rows = append(t.rows, r)
	}
	r, _ := n.row(n.Max + n.Least)
	t.rows = append(t.rows, r)
	return t, nil
}

// certain returns the row of a count that does not change.
func certain() row { return row{[]int64{0}, []float64{1}, []uint64{math.MaxUint64}} }

// support returns the possible changes of a count.
func (n Noise) support(count int) (changes []int64) {
	for v := -n.Max; v <= n.Max; v++ {
		if to := count + v; to == 0 || to >= n.Least {
			changes = append(changes, int64(v))
		}
	}
	return changes
}

// between returns the range of the variance that is possible for every count: the
// maximum over the counts of the least variance and the minimum of the greatest. A
// distribution with mean 0 over two points a < 0 < b has variance −a·b. It is least for
// the points nearest to 0 and greatest for the points furthest from 0.
func (n Noise) between(problems *check.Problems) (least, most float64) {
	most = math.Inf(1)
	for count := 1; count <= n.Max+n.Least; count++ {
		s := n.support(count)
		up, _ := slices.BinarySearch(s, 0)
		if len(s) == 0 || s[0] >= 0 || s[len(s)-1] <= 0 {
			problems.Addf("max", "must be at least %d, so that a count of %d can become both less and more, got %d",
				max(n.Least-count, min(count, n.Least)), count, n.Max)
			return 0, 0
		}
		if s[up] != 0 {
			least = max(least, -float64(s[up-1])*float64(s[up]))
		}
		most = min(most, -float64(s[0])*float64(s[len(s)-1]))
	}
	return least, most
}

// row returns the distribution with the greatest entropy, p(v) ∝ exp(a v + b v²), with a
// and b such that the mean is 0 and the variance is as requested. They are computed by
// Newton's method on the convex dual. It returns false if they are not found.
func (n Noise) row(count int) (row, bool) {
	changes := n.support(count)
	p := make([]float64, len(changes))
	var a, b float64
	dual := func(a, b float64) float64 { // log Σ exp(a v + b v²) − b Variance; p gets the distribution
		top := math.Inf(-1)
		for _, v := range changes {
			x := float64(v)
			top = max(top, a*x+b*x*x)
		}
		sum := 0.0
		for i, v := range changes {
			x := float64(v)
			p[i] = math.Exp(a*x + b*x*x - top)
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return top + math.Log(sum) - b*n.Variance
	}
	value := dual(a, b)
	for range 500 {
		var m [5]float64
		for i, v := range changes {
			x := p[i]
			for k := range m {
				m[k] += x
				x *= float64(v)
			}
		}
		ga, gb := m[1], m[2]-n.Variance
		if math.Abs(ga) < 1e-12*float64(n.Max) && math.Abs(gb) < 1e-11*(1+n.Variance) {
			return finished(changes, p), true
		}
		haa, hab, hbb := m[2]-m[1]*m[1], m[3]-m[1]*m[2], m[4]-m[2]*m[2]
		det := haa*hbb - hab*hab
		if !(det > 0) {
			break
		}
		da, db := -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
		step := 1.0
		for ; step > 1e-12; step /= 2 {
			if next := dual(a+step*da, b+step*db); next <= value+1e-15*math.Abs(value) {
				value = next
				break
			}
		}
		if step <= 1e-12 {
			break
		}
		a, b = a+step*da, b+step*db
	}
	mean, variance := moments(changes, p)
	return finished(changes, p), math.Abs(mean) < 1e-9 && math.Abs(variance-n.Variance) < 1e-8*(1+n.Variance)
}

func moments(changes []int64, p []float64) (mean, variance float64) {
	for i, v := range changes {
		mean += p[i] * float64(v)
		variance += p[i] * float64(v) * float64(v)
	}
	return mean, variance - mean*mean
}

// finished divides the range of the draws among the changes, in units of 2⁻³², so that
// the last bits of an exponential, which may differ between machines, have no effect.
// The probabilities become those of the draws; a change without draws has probability
// 0.
func finished(changes []int64, p []float64) row {
	r := row{change: changes, p: make([]float64, len(p)), upTo: make([]uint64, len(p))}
	sum, before := 0.0, uint64(0)
	for i, q := range p {
		sum += q
		end := uint64(math.RoundToEven(min(sum, 1) * parts))
		if i == len(p)-1 {
			end = parts
		}
		r.p[i], before = float64(end-before)/parts, end
		if r.upTo[i] = end << 32; end == parts {
			r.upTo[i] = math.MaxUint64
		}
	}
	return r
}

const parts = 1 << 32

func (t *Table) of(count int64) *row { return &t.rows[min(count, int64(len(t.rows)-1))] }

// Perturb returns a count (at least 0) after the change that its draw determines.
func (t *Table) Perturb(count int64, draw uint64) int64 {
	r := t.of(count)
	for i, end := range r.upTo {
		if draw < end || i == len(r.upTo)-1 {
			return count + r.change[i]
		}
	}
	return count
}

// Likelihood returns, for every true count, the probability that it is published as the
// given one: p[0] is the probability for the count first. For all other counts it is 0.
func (t *Table) Likelihood(published int64) (first int64, p []float64) {
	d := int64(t.noise.Max)
	first = -1
	for count := max(0, published-d); count <= published+d; count++ {
		r := t.of(count)
		i := slices.Index(r.change, published-count)
		q := 0.0
		if i >= 0 {
			q = r.p[i]
		}
		if q > 0 && first < 0 {
			first = count
		}
		if first >= 0 {
			p = append(p, q)
		}
	}
	for len(p) > 0 && p[len(p)-1] == 0 {
		p = p[:len(p)-1]
	}
	return max(first, 0), p
}
