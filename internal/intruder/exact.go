package intruder

import "math"

// exact is the likelihood of BiasNoise with known φ and σ (d.1) and independent keys:
//
//	f(x₀ | z) = Π_j N(z_j; x₀j, V_j) · E|θ_j|,   V = x₀²φ² + σ²,
//	θ | z, x₀ ~ N(1 + (z − x₀)·x₀φ²/V, φ²σ²/V),
//
// the integral of |θ|·N(θx₀; z, σ²) over θ ~ N(1, φ²) (Trottini et al. 2004, eq. 3).
type exact struct {
	p       *Problem
	keys    []Key
	columns []column
}

func newExact(p *Problem, o *Options, columns []column) *exact {
	return &exact{p, o.Keys, columns}
}

// exactKey is one key of one target: q = c·(z−x)², factor 1 + g·(z−x).
type exactKey struct {
	z          []float64
	x, c, g    float64
	variance   float64 // V
	biasSD     float64 // SD of θ given x and z
	logMissing float64 // log of the mean density over records that have the key
	gap        bool    // the column lacks values
}

type exactTarget struct {
	keys    []exactKey
	outside float64
	folds   bool // the sign of some record's θ is not certain
	gaps    bool
}

type exactBatch struct {
	targets []exactTarget
}

func (l *exact) batch(targets []int) (batch, error) {
	b := &exactBatch{make([]exactTarget, len(targets))}
	n := len(l.p.Released[0])
	for a, target := range targets {
		t := &b.targets[a]
		for j := range l.keys {
			x := l.p.Targets[j][target]
			if math.IsNaN(x) {
				continue
			}
			col := &l.columns[j]
			k := newExactKey(x, l.keys[j].Phi, l.keys[j].Sigma, col.floor)
			k.z, k.gap = l.p.Released[j], col.missing
			t.outside += k.outside(col.mean, col.predictive(n))
			if k.g != 0 {
				// The factor is linear in z, so its minimum is at an end of the
				// column's range.
				least := math.Min(1+k.g*(col.lowest-x), 1+k.g*(col.highest-x))
				t.folds = t.folds || least < foldLimit*k.biasSD || least <= 0
			}
			t.keys = append(t.keys, k)
		}
		for j := range t.keys {
			if k := &t.keys[j]; k.gap {
				t.gaps = true
				k.logMissing = k.meanDensity()
			}
		}
	}
	return b, nil
}

func newExactKey(x, phi, sigma, floor float64) exactKey {
	bias := x * x * phi * phi
	v := math.Max(bias+sigma*sigma, floor)
	noise := v - bias
	return exactKey{x: x, c: 1 / (2 * v), g: x * phi * phi / v, variance: v, biasSD: phi * math.Sqrt(noise/v)}
}

// outside returns the log density of x for a person whose record is not released,
// without the constant -log √(2πV). The unknown record is N(mean, spread) and is
// integrated out, which adds spread to the variance (Fienberg et al. eq. 4 under this
// model).
func (k *exactKey) outside(mean, spread float64) float64 {
	v := k.variance + spread
	e := mean - k.x
	shrink := k.variance / v
	phi2 := 0.0
	if k.x != 0 {
		phi2 = k.g * k.variance / k.x
	} else {
		phi2 = k.biasSD * k.biasSD
	}
	s := math.Sqrt(math.Max(phi2-k.g*k.g*k.variance*shrink, 0))
	return 0.5*math.Log(shrink) - e*e/(2*v) + math.Log(meanAbs(1+k.g*shrink*e, s))
}

// density returns the log density of the target's value given a record's value z.
func (k *exactKey) density(z float64) float64 {
	e := z - k.x
	return math.Log(k.factor(e)) - k.c*e*e
}

func (k *exactKey) factor(e float64) float64 {
	f := 1 + k.g*e
	if f < foldLimit*k.biasSD || f <= 0 {
		return meanAbs(f, k.biasSD)
	}
	return f
}

// meanDensity returns the log of the mean density over the records that have the key.
func (k *exactKey) meanDensity() float64 {
	var s logSum
	for _, z := range k.z {
		if !math.IsNaN(z) {
			s.add(k.density(z))
		}
	}
	return s.mean()
}

func (b *exactBatch) load(lo, hi int) error { return nil }
func (b *exactBatch) logError() float64     { return 0 }
func (b *exactBatch) outside(a int) float64 { return b.targets[a].outside }

func (b *exactBatch) fill(a, lo, hi int, q, m []float64) {
	t := &b.targets[a]
	if len(t.keys) == 0 {
		for i := range q {
			q[i], m[i] = 0, 1
		}
		return
	}
	if t.folds {
		t.fillFolded(lo, hi, q, m)
	} else {
		for first := 0; first < len(t.keys); {
			rest := t.keys[first:]
			switch {
			case len(rest) >= 3:
				fillFour(rest[:min(4, len(rest))], lo, hi, q, m, first == 0)
				first += 4
			default:
				fillTwo(rest, lo, hi, q, m, first == 0)
				first += 2
			}
		}
	}
	if len(t.keys) > 4 {
		rebalance(q, m)
	}
	if t.gaps {
		t.fillGaps(lo, q, m)
	}
}

// fillTwo adds one or two keys. If there is only one, the second key has coefficients 0
// and no effect.
func fillTwo(keys []exactKey, lo, hi int, q, m []float64, set bool) {
	k0 := &keys[0]
	k1 := &exactKey{z: k0.z, x: k0.x}
	if len(keys) > 1 {
		k1 = &keys[1]
	}
	z0, z1 := k0.z[lo:hi], k1.z[lo:hi]
	z1, q, m = z1[:len(z0)], q[:len(z0)], m[:len(z0)]
	x0, c0, g0 := k0.x, k0.c, k0.g
	x1, c1, g1 := k1.x, k1.c, k1.g
	if set {
		for i, v := range z0 {
			e0, e1 := v-x0, z1[i]-x1
			q[i] = c0*(e0*e0) + c1*(e1*e1)
			m[i] = (1 + g0*e0) * (1 + g1*e1)
		}
		return
	}
	for i, v := range z0 {
		e0, e1 := v-x0, z1[i]-x1
		q[i] += c0*(e0*e0) + c1*(e1*e1)
		m[i] *= (1 + g0*e0) * (1 + g1*e1)
	}
}

// fillFour adds three or four keys, in the same way as fillTwo.
func fillFour(keys []exactKey, lo, hi int, q, m []float64, set bool) {
	k0, k1, k2 := &keys[0], &keys[1], &keys[2]
	k3 := &exactKey{z: k0.z, x: k0.x}
	if len(keys) > 3 {
		k3 = &keys[3]
	}
	z0, z1, z2, z3 := k0.z[lo:hi], k1.z[lo:hi], k2.z[lo:hi], k3.z[lo:hi]
	z1, z2, z3, q, m = z1[:len(z0)], z2[:len(z0)], z3[:len(z0)], q[:len(z0)], m[:len(z0)]
	x0, c0, g0 := k0.x, k0.c, k0.g
	x1, c1, g1 := k1.x, k1.c, k1.g
	x2, c2, g2 := k2.x, k2.c, k2.g
	x3, c3, g3 := k3.x, k3.c, k3.g
	if set {
		for i, v := range z0 {
			e0, e1, e2, e3 := v-x0, z1[i]-x1, z2[i]-x2, z3[i]-x3
			q[i] = (c0*(e0*e0) + c1*(e1*e1)) + (c2*(e2*e2) + c3*(e3*e3))
			m[i] = ((1 + g0*e0) * (1 + g1*e1)) * ((1 + g2*e2) * (1 + g3*e3))
		}
		return
	}
	for i, v := range z0 {
		e0, e1, e2, e3 := v-x0, z1[i]-x1, z2[i]-x2, z3[i]-x3
		q[i] += (c0*(e0*e0) + c1*(e1*e1)) + (c2*(e2*e2) + c3*(e3*e3))
		m[i] *= ((1 + g0*e0) * (1 + g1*e1)) * ((1 + g2*e2) * (1 + g3*e3))
	}
}

// fillFolded is fill for a target under which some record's θ may be negative.
func (t *exactTarget) fillFolded(lo, hi int, q, m []float64) {
	for j := range t.keys {
		k := &t.keys[j]
		x, c, g, limit := k.x, k.c, k.g, foldLimit*k.biasSD
		for i, v := range k.z[lo:hi] {
			e := v - x
			f := 1 + g*e
			if f < limit || f <= 0 {
				f = meanAbs(f, k.biasSD)
			}
			if j == 0 {
				q[i], m[i] = c*(e*e), f
			} else {
				q[i] += c * (e * e)
				m[i] *= f
			}
		}
	}
}

// fillGaps recomputes the records that lack a value: those for which q is NaN.
func (t *exactTarget) fillGaps(lo int, q, m []float64) {
	for i := range q {
		if !math.IsNaN(q[i]) {
			continue
		}
		q[i], m[i] = 0, 1
		for j := range t.keys {
			k := &t.keys[j]
			if z := k.z[lo+i]; math.IsNaN(z) {
				q[i] -= k.logMissing
			} else {
				e := z - k.x
				q[i] += k.c * e * e
				m[i] *= k.factor(e)
			}
		}
		rebalance(q[i:i+1], m[i:i+1])
	}
}

// rebalance moves very small and very large factors m into the exponent q, so that
// products of many factors do not overflow or underflow.
func rebalance(q, m []float64) {
	for i, v := range m {
		if v > 0 && (v < 1e-50 || v > 1e50) {
			q[i] -= math.Log(v)
			m[i] = 1
		}
	}
}

// logSum is a sum of exponentials exp(l), scaled by the greatest of them.
type logSum struct {
	greatest, sum float64
	n             int
}

func (s *logSum) add(l float64) {
	s.n++
	switch {
	case math.IsInf(l, -1) || math.IsNaN(l):
	case s.sum == 0:
		s.greatest, s.sum = l, 1
	case l <= s.greatest:
		s.sum += math.Exp(l - s.greatest)
	default:
		s.sum = s.sum*math.Exp(s.greatest-l) + 1
		s.greatest = l
	}
}

// log is the logarithm of the sum.
func (s *logSum) log() float64 {
	if s.sum == 0 {
		return math.Inf(-1)
	}
	return s.greatest + math.Log(s.sum)
}

// mean is the logarithm of the mean; 0 if nothing was added.
func (s *logSum) mean() float64 {
	if s.n == 0 {
		return 0
	}
	return s.log() - math.Log(float64(s.n))
}
