package intruder

import "math"

// uncertain is the likelihood of BiasNoise if φ or σ has a prior (d.2) and keys are
// independent: the density of each key is integrated over the priors (Trottini et al.
// 2004, eq. 4).
type uncertain struct {
	p             *Problem
	phi2, sigma2  []variance
	columns       []column
	wantsOutside  bool
	predictiveVar []float64
}

func newUncertain(p *Problem, o *Options, columns []column) *uncertain {
	l := &uncertain{p: p, columns: columns, wantsOutside: o.Population > len(p.Released[0])}
	for j, k := range o.Keys {
		l.phi2 = append(l.phi2, newVariance(k.Phi, k.PhiPrior, true))
		l.sigma2 = append(l.sigma2, newVariance(k.Sigma, k.SigmaPrior, true))
		l.predictiveVar = append(l.predictiveVar, columns[j].predictive(len(p.Released[0])))
	}
	return l
}

type uncertainKey struct {
	z          []float64
	x          float64
	mixture    *mixture
	table      *table // nil unless the records are more than four times its entries
	logMissing float64
}

type uncertainBatch struct {
	targets  [][]uncertainKey
	outsides []float64
	err      float64
}

func (l *uncertain) batch(targets []int) (batch, error) {
	b := &uncertainBatch{targets: make([][]uncertainKey, len(targets)), outsides: make([]float64, len(targets))}
	for a, target := range targets {
		for j := range l.phi2 {
			x := l.p.Targets[j][target]
			if math.IsNaN(x) {
				continue
			}
			col := &l.columns[j]
			low, high := col.lowest-x, col.highest-x
			mix, err := newMixture(&l.phi2[j], &l.sigma2[j], x, math.Max(math.Abs(low), math.Abs(high)), col.floor, true)
			if err != nil {
				return nil, err
			}
			k := uncertainKey{z: l.p.Released[j], x: x, mixture: mix}
			if entries := tableEntries(mix, low, high); len(k.z) > 4*entries {
				var tableErr float64
				k.table, tableErr = newTable(mix, low, high)
				b.err = math.Max(b.err, tableErr)
			}
			if col.missing {
				var s logSum
				for _, z := range k.z {
					if !math.IsNaN(z) {
						s.add(k.logDensity(z-x, &b.err))
					}
				}
				k.logMissing = s.mean()
			}
			if l.wantsOutside {
				b.outsides[a] += mix.outside(col.mean, l.predictiveVar[j])
			}
			b.targets[a] = append(b.targets[a], k)
		}
	}
	return b, nil
}

func (k *uncertainKey) logDensity(e float64, greatestErr *float64) float64 {
	if k.table != nil {
		return k.table.at(e)
	}
	l, difference := k.mixture.logDensity(e)
	if difference > *greatestErr {
		*greatestErr = difference
	}
	return l
}

func (b *uncertainBatch) load(lo, hi int) error { return nil }
func (b *uncertainBatch) logError() float64     { return b.err }
func (b *uncertainBatch) outside(a int) float64 { return b.outsides[a] }

func (b *uncertainBatch) fill(a, lo, hi int, q, m []float64) {
	for i := range q {
		q[i], m[i] = 0, 1
	}
	for j := range b.targets[a] {
		k := &b.targets[a][j]
		for i, z := range k.z[lo:hi] {
			switch {
			case math.IsNaN(z):
				q[i] -= k.logMissing
			case k.table != nil:
				q[i] -= k.table.at(z - k.x)
			default:
				q[i] -= k.logDensity(z-k.x, &b.err)
			}
		}
	}
}
