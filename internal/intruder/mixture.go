package intruder

import (
	"fmt"
	"math"
)

// A mixture is a density over the variance V = b·φ² + σ², where b is a squared key
// value. It replaces the two integrals over the priors of φ² and σ² by one sum over
// nodes of V. In the coordinates v = log V and λ = logit r, with r = bφ²/V the bias's
// part of V, the change from (log φ², log σ²) has determinant 1, so the product of the
// two prior densities is also the density of (v, λ). The trapezoidal rule integrates it
// in both coordinates and converges geometrically for such densities. Each node of V is
// stored together with its sums over λ.
type mixture struct {
	nodes []mixtureNode // ascending V
	// sub lists the λ nodes of each V, for the density of a record under which the
	// sign of θ is not certain.
	sub [][]shareNode
	x   float64
}

type mixtureNode struct {
	a      float64 // log weight − ½ log V
	coarse float64 // the same for the rule with twice the step; -Inf where that rule has no node
	c      float64 // 1/(2V)
	g      float64 // mean of r/x: the mean factor is 1 + g·e
	// fold: the sign of θ counts as certain where e/x is at least fold[i]. The index i
	// depends on t, where the node adds e^t to the sum: t above -8, above -16, above
	// -24, or below. A node that adds less needs less certainty.
	fold [foldClasses]float64
}

const (
	foldClasses = 4
	foldWidth   = 8
	// foldLogs: the contribution of P(θ < 0) is omitted where it is below e^-34 of the
	// density.
	foldLogs = foldLimit * foldLimit / 2
)

type shareNode struct {
	weight, coarse float64 // parts of the node's weight
	r              float64
}

const (
	// stepSDs is the rule's step in standard deviations of the narrowest density that it
	// integrates. The trapezoidal rule's relative error on a normal density is
	// 2·exp(−2π²/step²): 2e-42 here, 5e-9 for the doubled step that it is compared with.
	stepSDs = 0.45
	// the greatest step, about a seventh of the width π/2 of the strip in which the densities are analytic
	greatestLog = 0.2
	// tailLogs: the grid of nodes ends where a node adds less than e^-45 of what the
	// greatest one adds.
	tailLogs = 45
	maxNodes = 1 << 14
)

// newMixture builds the mixture for b = x². It is valid for distances |z−x| from 0 to
// reach. withBias keeps the data that the factor E|θ| needs (BiasNoise). It returns an
// error if the priors leave nothing to integrate over or need more than maxNodes nodes.
func newMixture(phi2, sigma2 *variance, x, reach, floor float64, withBias bool) (*mixture, error) {
	m := &mixture{x: x}
	b := x * x
	if b == 0 || (phi2.fixed && phi2.value == 0) {
		phi2 = &variance{fixed: true} // no bias at 0, and no r
	}
	if phi2.fixed && sigma2.fixed {
		bias := b * phi2.value
		v := math.Max(bias+sigma2.value, floor)
		m.append(math.Log(v), 0, 0, []shareNode{{1, 1, bias / v}}, withBias)
		return m, nil
	}
	if !phi2.fixed && !sigma2.fixed {
		// If one of the two is always below the precision of a double relative to the
		// other, it does not change V.
		switch biasTop, biasLow := b*math.Exp(phi2.top), b*math.Exp(phi2.low); {
		case biasTop < 1e-17*math.Exp(sigma2.low):
			phi2 = &variance{fixed: true}
		case math.Exp(sigma2.top) < 1e-17*biasLow:
			sigma2 = &variance{fixed: true}
		}
	}
	step, shareStep := steps(phi2, sigma2)
	logB := 0.0
	if b > 0 {
		logB = math.Log(b)
	}
	// Above this log V the prior's tail determines the weights. Below it, a distant
	// record still raises the weight of a greater V.
	beyond := math.Log(b*phi2.typical() + sigma2.typical())
	for _, p := range []*variance{phi2, sigma2} {
		if !p.fixed && p.mirrored && reach > 0 {
			beyond = math.Max(beyond, math.Log(reach*reach/(2*p.shape)))
		}
	}
	g := grid{phi2: phi2, sigma2: sigma2, logB: logB, step: step, shareStep: shareStep}
	start := g.start()
	up, err := g.march(start, 1, beyond, reach)
	if err != nil {
		return nil, err
	}
	down, err := g.march(start-1, -1, 0, 0)
	if err != nil {
		return nil, err
	}
	for i := len(down) - 1; i >= 0; i-- {
		m.append(down[i].v, down[i].log, down[i].logCoarse, down[i].shares, withBias)
	}
	for _, n := range up {
		m.append(n.v, n.log, n.logCoarse, n.shares, withBias)
	}
	if len(m.nodes) == 0 {
		return nil, fmt.Errorf("intruder: the priors of phi and sigma leave no variance to integrate over")
	}
	return m, nil
}

// steps returns the step widths of v and λ. Along v the curvature of the log integrand
// is at most the sum of the curvatures of both priors and the normal density, along λ
// at most the greater one.
func steps(phi2, sigma2 *variance) (v, share float64) {
	sum, most := 1.0, 1.0
	for _, p := range []*variance{phi2, sigma2} {
		if !p.fixed {
			sum += p.shape
			most = math.Max(most, p.shape+1)
		}
	}
	return math.Min(stepSDs/math.Sqrt(sum), greatestLog), math.Min(stepSDs/math.Sqrt(most), greatestLog)
}

// grid generates nodes over log V or, if one variance is known, over the log of the
// other one: V then hardly changes while the other one is the smaller part.
type grid struct {
	phi2, sigma2    *variance
	logB            float64
	step, shareStep float64
	parts           [2][]part // for λ ≥ 0 and for λ < 0, computed when first needed
}

// part holds, for one λ, the shares r and 1−r of V and their logarithms.
type part struct{ r, rest, logR, logRest float64 }

// part returns the shares at λ = k steps. They are the same for every V.
func (g *grid) part(k int) *part {
	side, i := 0, k
	if k < 0 {
		side, i = 1, -k
	}
	for len(g.parts[side]) <= i {
		u := math.Exp(-float64(len(g.parts[side])) * g.shareStep)
		small, large := u/(1+u), 1/(1+u)
		p := part{large, small, -math.Log1p(u), math.Log(small)}
		if side == 1 {
			p = part{small, large, math.Log(small), -math.Log1p(u)}
		}
		g.parts[side] = append(g.parts[side], p)
	}
	return &g.parts[side][i]
}

type gridNode struct {
	v, log, logCoarse float64
	shares            []shareNode
}

// start returns the index of the node nearest to the mode.
func (g *grid) start() int {
	switch {
	case g.phi2.fixed:
		return int(math.Round(g.sigma2.mode / g.step))
	case g.sigma2.fixed:
		return int(math.Round(g.phi2.mode / g.step))
	}
	return int(math.Round(math.Log(math.Exp(g.logB+g.phi2.mode)+math.Exp(g.sigma2.mode)) / g.step))
}

// march collects nodes from index start in one direction until they add nothing to the
// density at distance reach. In the upward direction it does not stop below V =
// e^beyond. It returns an error after more than maxNodes nodes.
func (g *grid) march(start, direction int, beyond, reach float64) ([]gridNode, error) {
	var nodes []gridNode
	best := math.Inf(-1)
	for k := start; ; k += direction {
		n, l, coarse := g.at(float64(k) * g.step)
		n.log = l + math.Log(g.step)
		n.logCoarse = math.Inf(-1)
		if k%2 == 0 {
			n.logCoarse = coarse + math.Log(2*g.step)
		}
		reached := l - n.v/2 - reach*reach/2*math.Exp(-n.v)
		best = math.Max(best, reached)
		if len(n.shares) > 0 {
			nodes = append(nodes, n)
		}
		if (direction < 0 || n.v >= beyond-1e-9) && (reached < best-tailLogs || len(n.shares) == 0) {
			return nodes, nil
		}
		if len(nodes) > maxNodes {
			return nil, fmt.Errorf("intruder: the priors of phi and sigma are too wide to integrate over: more than %d nodes",
				maxNodes)
		}
	}
}

// at returns the node at grid point t and the log density there, integrated over λ,
// with the rule's own step and with twice the step.
func (g *grid) at(t float64) (n gridNode, l, coarse float64) {
	switch {
	case g.phi2.fixed:
		bias := math.Exp(g.logB) * g.phi2.value
		total := bias + math.Exp(t)
		l = g.sigma2.logDensity(t)
		return gridNode{v: math.Log(total), shares: []shareNode{{1, 1, bias / total}}}, l, l
	case g.sigma2.fixed:
		bias := math.Exp(g.logB + t)
		total := bias + g.sigma2.value
		l = g.phi2.logDensity(t)
		return gridNode{v: math.Log(total), shares: []shareNode{{1, 1, bias / total}}}, l, l
	}
	n.v = t
	n.shares, l, coarse = g.shares(t)
	return n, l, coarse
}

// shares integrates over λ at v = log V.
func (g *grid) shares(v float64) (shares []shareNode, l, coarse float64) {
	// log φ² = v + log r − log b must be at least low, and log σ² = v + log(1−r) too.
	least := logit(g.phi2.low - v + g.logB)
	most := -logit(g.sigma2.low - v)
	if !(least < most) {
		return nil, math.Inf(-1), math.Inf(-1)
	}
	first, last := int(math.Ceil(least/g.shareStep)), int(math.Floor(most/g.shareStep))
	total, b := math.Exp(v), math.Exp(g.logB)
	greatest := math.Inf(-1)
	logs := make([]float64, 0, max(last-first+1, 0))
	for k := first; k <= last; k++ {
		p := g.part(k)
		x := g.phi2.logDensityAt(v+p.logR-g.logB, total*p.r/b) + g.sigma2.logDensityAt(v+p.logRest, total*p.rest)
		logs = append(logs, x)
		greatest = math.Max(greatest, x)
	}
	if math.IsInf(greatest, -1) {
		return nil, greatest, greatest
	}
	sum, half := 0.0, 0.0
	for i, x := range logs {
		if x < greatest-tailLogs {
			continue
		}
		k := first + i
		s := shareNode{weight: math.Exp(x - greatest), r: g.part(k).r}
		sum += s.weight
		if k%2 == 0 {
			s.coarse = s.weight
			half += s.weight
		}
		shares = append(shares, s)
	}
	for i := range shares {
		shares[i].weight /= sum
		if half > 0 {
			shares[i].coarse /= half
		}
	}
	return shares, greatest + math.Log(sum*g.shareStep), greatest + math.Log(half*2*g.shareStep)
}

// logit is the λ at which log r is l; +Inf where l ≥ 0.
func logit(l float64) float64 {
	if l >= 0 {
		return math.Inf(1)
	}
	return l - math.Log(-math.Expm1(l))
}

func (m *mixture) append(v, log, logCoarse float64, shares []shareNode, withBias bool) {
	n := mixtureNode{a: log - v/2, coarse: logCoarse - v/2, c: math.Exp(-v) / 2}
	for i := range n.fold {
		n.fold[i] = math.Inf(-1)
	}
	if withBias && m.x != 0 {
		variance := math.Exp(v)
		for _, s := range shares {
			n.g += s.weight * s.r / m.x
			if s.r == 0 {
				continue
			}
			sd := math.Sqrt(s.r*(1-s.r)*variance) / math.Abs(m.x)
			n.certain(sd, &s)
		}
		m.sub = append(m.sub, shares)
	}
	m.nodes = append(m.nodes, n)
}

// certain raises the node's limits to those that one of its shares requires: 1 +
// (e/x)·r must be so many SDs above 0 that P(θ < 0) times the share is negligible.
func (n *mixtureNode) certain(sd float64, s *shareNode) {
	most := (foldLimit*sd - 1) / s.r
	if most < -1 { // only records of the other sign reach this limit
		for i := range n.fold {
			n.fold[i] = math.Max(n.fold[i], most)
		}
		return
	}
	logWeight := math.Log(s.weight)
	for i := range n.fold {
		limit := math.Sqrt(2 * math.Max(foldLogs-foldWidth*float64(i)+logWeight, 0))
		n.fold[i] = math.Max(n.fold[i], (limit*sd-1)/s.r)
	}
}

// logDensity returns the log of ∫∫ N(e; 0, V)·E|θ| over the priors, without the
// constant ½ log 2π, at e = z − x, and its absolute difference from the rule with twice
// the step.
func (m *mixture) logDensity(e float64) (l, difference float64) {
	d := e * e
	greatest := math.Inf(-1)
	for i := range m.nodes {
		n := &m.nodes[i]
		if t := n.a - d*n.c; t > greatest {
			greatest = t
		}
	}
	relative := math.Inf(1)
	if m.x != 0 {
		relative = e / m.x
	}
	fine, coarse := 0.0, 0.0
	for i := range m.nodes {
		n := &m.nodes[i]
		t := n.a - d*n.c - greatest
		if t < -tailLogs {
			continue
		}
		f, half := 1+n.g*e, 0.0
		if relative < n.fold[min(int(-t/foldWidth), foldClasses-1)] {
			f, half = m.folded(i, e)
		} else {
			half = f
		}
		w := exp(t)
		fine += w * f
		if !math.IsInf(n.coarse, -1) {
			coarse += w * math.Exp(n.coarse-n.a) * half
		}
	}
	l = greatest + math.Log(fine)
	if len(m.nodes) > 1 && fine > 0 {
		difference = math.Abs(math.Log(coarse / fine))
	}
	return l, difference
}

// folded returns the mean of |θ| at node i, for the rule's own step and for twice the
// step.
func (m *mixture) folded(i int, e float64) (fine, coarse float64) {
	variance := 1 / (2 * m.nodes[i].c)
	for _, s := range m.sub[i] {
		f := meanAbs(1+e/m.x*s.r, math.Sqrt(s.r*(1-s.r)*variance)/math.Abs(m.x))
		fine += s.weight * f
		coarse += s.coarse * f
	}
	return fine, coarse
}

// outside returns the log density at x of a person whose record is not released and is
// taken as drawn from N(mean, spread), without the same constant as in logDensity.
func (m *mixture) outside(mean, spread float64) float64 {
	var s logSum
	e := mean - m.x
	for i := range m.nodes {
		n := &m.nodes[i]
		v := 1 / (2 * n.c)
		wide := v + spread
		l := n.a + 0.5*math.Log(v/wide) - e*e/(2*wide)
		if m.x == 0 || m.sub == nil {
			s.add(l)
			continue
		}
		f := 0.0
		for _, sh := range m.sub[i] {
			r := sh.r * v / wide
			f += sh.weight * meanAbs(1+e/m.x*r, math.Sqrt(math.Max(sh.r*v-r*r*wide, 0))/math.Abs(m.x))
		}
		s.add(l + math.Log(f))
	}
	return s.log()
}
