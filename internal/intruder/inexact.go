package intruder

import "math"

// inexact is the likelihood of InexactTarget: x₀ = θz + ξ, so that x₀ given a record is
// N(z, σ² + z²φ²), integrated over gamma priors of φ² and σ² if they are unknown
// (Fienberg, Makov and Sanil 1997, eq. 8). The variance depends on the record.
type inexact struct {
	p            *Problem
	phi2, sigma2 []variance
	columns      []column
	targets      []column
	wantsOutside bool
	// unseen[j] represents key j of a person outside the release: mixtures at the nodes
	// of a quadrature rule over the predictive distribution of z (eq. 4).
	unseen    [][]unseenNode
	unseenErr error
}

type unseenNode struct {
	z, logWeight float64
	mixture      *mixture
}

func newInexact(p *Problem, o *Options, columns []column) *inexact {
	l := &inexact{p: p, columns: columns, targets: describe(p.Targets), wantsOutside: o.Population > len(p.Released[0])}
	for j, k := range o.Keys {
		l.phi2 = append(l.phi2, newVariance(k.Phi, k.PhiPrior, false))
		l.sigma2 = append(l.sigma2, newVariance(k.Sigma, k.SigmaPrior, false))
		if l.wantsOutside {
			nodes, err := l.unseenNodes(j)
			if err != nil {
				l.unseenErr = err
			}
			l.unseen = append(l.unseen, nodes)
		}
	}
	return l
}

// unseenNodes returns the nodes of the trapezoidal rule over N(mean, predictive
// variance), ± 9 SD, with a step of at most half the typical width of the density in z
// (but no more than 8193 nodes).
func (l *inexact) unseenNodes(j int) ([]unseenNode, error) {
	col := &l.columns[j]
	sd := math.Sqrt(col.predictive(len(l.p.Released[j])))
	if sd == 0 {
		mix, err := l.mixtureAt(j, col.mean)
		return []unseenNode{{col.mean, 0, mix}}, err
	}
	width := math.Sqrt(math.Max(l.sigma2[j].typical()+col.mean*col.mean*l.phi2[j].typical(), col.floor))
	half := min(max(int(math.Ceil(9*sd/math.Min(width/2, sd/2))), 18), 4096)
	step := 9 * sd / float64(half)
	nodes := make([]unseenNode, 0, 2*half+1)
	for i := -half; i <= half; i++ {
		u := float64(i) * step / sd
		z := col.mean + float64(i)*step
		mix, err := l.mixtureAt(j, z)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, unseenNode{z, -u*u/2 + math.Log(step/sd) - 0.5*math.Log(2*math.Pi), mix})
	}
	return nodes, nil
}

// mixtureAt returns the density of key j around a record's value z.
func (l *inexact) mixtureAt(j int, z float64) (*mixture, error) {
	reach := math.Max(math.Abs(l.targets[j].highest-z), math.Abs(z-l.targets[j].lowest))
	return newMixture(&l.phi2[j], &l.sigma2[j], z, reach, l.columns[j].floor, false)
}

type inexactBatch struct {
	l       *inexact
	targets []int
	lo      int
	blocks  [][]*mixture // for each key and each loaded record; nil where the value is missing
	// logMissing[a·keys+j] is the log of the mean density of key j of target a.
	logMissing []float64
	err        float64
}

func (l *inexact) batch(targets []int) (batch, error) {
	if l.unseenErr != nil {
		return nil, l.unseenErr
	}
	keys := len(l.phi2)
	b := &inexactBatch{l: l, targets: targets, blocks: make([][]*mixture, keys),
		logMissing: make([]float64, len(targets)*keys)}
	for j := range l.phi2 {
		b.blocks[j] = make([]*mixture, blockRecords)
		if l.columns[j].missing {
			if err := b.fillMissing(j); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

func (b *inexactBatch) fillMissing(j int) error {
	keys := len(b.l.phi2)
	sums := make([]logSum, len(b.targets))
	for _, z := range b.l.p.Released[j] {
		if math.IsNaN(z) {
			continue
		}
		mix, err := b.l.mixtureAt(j, z)
		if err != nil {
			return err
		}
		for a, target := range b.targets {
			if x := b.l.p.Targets[j][target]; !math.IsNaN(x) {
				sums[a].add(b.density(mix, x-z))
			}
		}
	}
	for a := range sums {
		b.logMissing[a*keys+j] = sums[a].mean()
	}
	return nil
}

func (b *inexactBatch) density(m *mixture, e float64) float64 {
	if len(m.nodes) == 1 {
		return m.nodes[0].a - e*e*m.nodes[0].c
	}
	l, difference := m.logDensity(e)
	if difference > b.err {
		b.err = difference
	}
	return l
}

func (b *inexactBatch) load(lo, hi int) error {
	b.lo = lo
	for j, z := range b.l.p.Released {
		for i := lo; i < hi; i++ {
			b.blocks[j][i-lo] = nil
			if math.IsNaN(z[i]) {
				continue
			}
			mix, err := b.l.mixtureAt(j, z[i])
			if err != nil {
				return err
			}
			b.blocks[j][i-lo] = mix
		}
	}
	return nil
}

func (b *inexactBatch) fill(a, lo, hi int, q, m []float64) {
	for i := range q {
		q[i], m[i] = 0, 1
	}
	keys := len(b.blocks)
	for j, z := range b.l.p.Released {
		x := b.l.p.Targets[j][b.targets[a]]
		if math.IsNaN(x) {
			continue
		}
		for i := lo; i < hi; i++ {
			if mix := b.blocks[j][i-b.lo]; mix != nil {
				q[i-lo] -= b.density(mix, x-z[i])
			} else {
				q[i-lo] -= b.logMissing[a*keys+j]
			}
		}
	}
}

func (b *inexactBatch) logError() float64 { return b.err }

func (b *inexactBatch) outside(a int) float64 {
	total := 0.0
	for j := range b.l.unseen {
		x := b.l.p.Targets[j][b.targets[a]]
		if math.IsNaN(x) {
			continue
		}
		var s logSum
		for i := range b.l.unseen[j] {
			n := &b.l.unseen[j][i]
			s.add(n.logWeight + b.density(n.mixture, x-n.z))
		}
		total += s.log()
	}
	return total
}
