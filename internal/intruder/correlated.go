package intruder

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// correlated is the likelihood of BiasNoise with known φ and additive noise of
// covariance Σ: z given x₀ is N(x₀, W), W = Σ + diag(x₀²φ²), times E Π|θ_j| under the
// posterior of θ, which is normal with
//
//	mean 1 + B W⁻¹ (z − x₀),   covariance diag(φ²) − B W⁻¹ B,   B = diag(φ²x₀).
//
// The mean of a product of correlated normal variables is exact (Isserlis) as long as
// the sign of every θ is certain; where the sign of one is uncertain, the product of
// the means E|θ_j| is used instead.
type correlated struct {
	p          *Problem
	keys       []Key
	columns    []column
	covariance [][]float64
	released   [][]float64 // covariance of the released keys, for a person outside
	patterns   []uint64    // distinct patterns of the keys that records have
	n          int
}

func newCorrelated(p *Problem, o *Options, columns []column) *correlated {
	l := &correlated{p: p, keys: o.Keys, columns: columns, covariance: o.Covariance, n: len(p.Released[0])}
	if o.Population > l.n {
		l.released = covariance(p.Released, columns)
	}
	seen := map[uint64]bool{}
	for i := range l.n {
		var pattern uint64
		for j, z := range p.Released {
			if !math.IsNaN(z[i]) {
				pattern |= 1 << j
			}
		}
		if !seen[pattern] {
			seen[pattern] = true
			l.patterns = append(l.patterns, pattern)
		}
	}
	return l
}

// covariance returns the covariance matrix of the keys (divisor n−1). An entry off the
// diagonal is over the records that have both keys, with the means of the whole
// columns; the diagonal holds the columns' variances.
func covariance(z [][]float64, columns []column) [][]float64 {
	s := make([][]float64, len(z))
	for j := range z {
		s[j] = make([]float64, len(z))
		s[j][j] = columns[j].variance
	}
	for j := range z {
		for k := range j {
			n, sum := 0.0, 0.0
			for i := range z[j] {
				if d := (z[j][i] - columns[j].mean) * (z[k][i] - columns[k].mean); !math.IsNaN(d) {
					n++
					sum += d
				}
			}
			if n > 1 {
				s[j][k] = sum / (n - 1)
				s[k][j] = s[j][k]
			}
		}
	}
	return s
}

// gaussian is the normal density, for one target, of the keys that a record with a
// given pattern has.
type gaussian struct {
	keys      []int // indices into the target's keys
	inverse   []float64
	halfLog   float64 // ½ log det W
	gain      []float64
	posterior []float64 // covariance of θ
	sds       []float64
	biased    bool
	e, mean   []float64
	moments   []float64
}

type correlatedTarget struct {
	keys     []int // the keys that the target has
	x        []float64
	columns  [][]float64
	patterns map[uint64]*gaussian
	outside  float64
	single   []exactKey // the density of each key alone, for records that lack it
}

type correlatedBatch struct {
	l       *correlated
	targets []*correlatedTarget
}

func (l *correlated) batch(targets []int) (batch, error) {
	b := &correlatedBatch{l: l}
	for _, target := range targets {
		t := &correlatedTarget{patterns: map[uint64]*gaussian{}}
		for j := range l.keys {
			x := l.p.Targets[j][target]
			if math.IsNaN(x) {
				continue
			}
			k := newExactKey(x, l.keys[j].Phi, math.Sqrt(l.covariance[j][j]), l.columns[j].floor)
			k.z = l.p.Released[j]
			if l.columns[j].missing {
				k.logMissing = k.meanDensity() - 0.5*math.Log(k.variance)
			}
			t.keys = append(t.keys, j)
			t.x = append(t.x, x)
			t.columns = append(t.columns, k.z)
			t.single = append(t.single, k)
		}
		for _, pattern := range l.patterns {
			var own uint64 // the pattern restricted to the keys that the target has
			for i, j := range t.keys {
				own |= pattern >> j & 1 << i
			}
			if t.patterns[own] != nil {
				continue
			}
			g, err := l.gaussian(t, own, nil)
			if err != nil {
				return nil, err
			}
			t.patterns[own] = g
		}
		if l.released != nil && len(t.keys) > 0 {
			wide, err := l.gaussian(t, 1<<len(t.keys)-1, l.released)
			if err != nil {
				return nil, err
			}
			for i, j := range t.keys {
				wide.e[i] = l.columns[j].mean - t.x[i]
			}
			t.outside = wide.logDensity()
		}
		b.targets = append(b.targets, t)
	}
	return b, nil
}

// gaussian prepares the density for the pattern of keys that a record has. wider, if
// not nil, is the covariance of an unknown record and is added to Σ. It returns an
// error if the covariance matrix is not positive semidefinite.
func (l *correlated) gaussian(t *correlatedTarget, pattern uint64, wider [][]float64) (*gaussian, error) {
	g := &gaussian{}
	for i := range t.keys {
		if pattern>>i&1 == 1 {
			g.keys = append(g.keys, i)
		}
	}
	k := len(g.keys)
	g.e, g.mean, g.sds = make([]float64, k), make([]float64, k), make([]float64, k)
	g.inverse, g.gain, g.posterior = make([]float64, k*k), make([]float64, k), make([]float64, k*k)
	if k == 0 {
		return g, nil
	}
	w := mat.NewSymDense(k, nil)
	for a, i := range g.keys {
		ji := t.keys[i]
		for b := a; b < k; b++ {
			jk := t.keys[g.keys[b]]
			v := l.covariance[ji][jk]
			if wider != nil {
				v += wider[ji][jk] * (1 + 1/float64(l.n))
			}
			if a == b {
				phi := l.keys[ji].Phi
				g.gain[a] = phi * phi * t.x[i]
				v += t.x[i] * g.gain[a]
				v = v*(1+0x1p-45) + l.columns[ji].floor
			}
			w.SetSym(a, b, v)
		}
		g.biased = g.biased || l.keys[ji].Phi > 0
	}
	var chol mat.Cholesky
	if !chol.Factorize(w) {
		return nil, fmt.Errorf("intruder: covariance: must be positive semidefinite")
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		if _, poor := errors.AsType[mat.Condition](err); !poor {
			return nil, fmt.Errorf("intruder: covariance: %w", err)
		}
	}
	g.halfLog = chol.LogDet() / 2
	for a := range k {
		phi := l.keys[t.keys[g.keys[a]]].Phi
		for b := range k {
			g.inverse[a*k+b] = inverse.At(a, b)
			g.posterior[a*k+b] = -g.gain[a] * inverse.At(a, b) * g.gain[b]
		}
		g.posterior[a*k+a] = math.Max(g.posterior[a*k+a]+phi*phi, 0)
		g.sds[a] = math.Sqrt(g.posterior[a*k+a])
	}
	if g.biased {
		g.moments = make([]float64, 1<<k)
	}
	return g, nil
}

// logDensity returns the log density at the differences z − x in e, without the
// constant ½ log 2π of each key.
func (g *gaussian) logDensity() float64 {
	k := len(g.e)
	q, certain := 0.0, true
	for a := range k {
		s := 0.0
		row := g.inverse[a*k : a*k+k]
		for b, e := range g.e {
			s += row[b] * e
		}
		q += s * g.e[a]
		g.mean[a] = 1 + g.gain[a]*s
		certain = certain && g.mean[a] > 0 && g.mean[a] >= foldLimit*g.sds[a]
	}
	l := -q/2 - g.halfLog
	switch {
	case !g.biased:
		return l
	case certain:
		if m := g.meanProduct(); m > 0 {
			return l + math.Log(m)
		}
	}
	for a, m := range g.mean {
		l += math.Log(meanAbs(m, g.sds[a]))
	}
	return l
}

// meanProduct returns E Π θ over all keys. It uses E(θ_a R) = m_a E R + Σ_b C_ab
// E(R/θ_b), where R is a product of other θ, over the subsets of keys.
func (g *gaussian) meanProduct() float64 {
	k := len(g.mean)
	g.moments[0] = 1
	for set := 1; set < 1<<k; set++ {
		a := 0
		for set>>a&1 == 0 {
			a++
		}
		rest := set &^ (1 << a)
		s := g.mean[a] * g.moments[rest]
		for b := a + 1; b < k; b++ {
			if rest>>b&1 == 1 {
				s += g.posterior[a*k+b] * g.moments[rest&^(1<<b)]
			}
		}
		g.moments[set] = s
	}
	return g.moments[1<<k-1]
}

func (b *correlatedBatch) load(lo, hi int) error { return nil }
func (b *correlatedBatch) logError() float64     { return 0 }
func (b *correlatedBatch) outside(a int) float64 { return b.targets[a].outside }

func (b *correlatedBatch) fill(a, lo, hi int, q, m []float64) {
	t := b.targets[a]
	for i := lo; i < hi; i++ {
		var pattern uint64
		for j, z := range t.columns {
			if !math.IsNaN(z[i]) {
				pattern |= 1 << j
			}
		}
		q[i-lo], m[i-lo] = 0, 1
		g := t.patterns[pattern]
		if len(g.keys) < len(t.keys) {
			for j := range t.columns {
				if pattern>>j&1 == 0 {
					q[i-lo] -= t.single[j].logMissing
				}
			}
		}
		for j, key := range g.keys {
			g.e[j] = t.columns[key][i] - t.x[key]
		}
		q[i-lo] -= g.logDensity()
	}
}
