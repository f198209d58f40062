package assess

import (
	"fmt"
	"math"
	"slices"
)

// KnowledgeOrder is the state of a snooper who has the records in the order of the
// source: τ̂ is a fit of the released values along that order. Its target is the
// typical one.
const KnowledgeOrder = "order"

// orderScore is the standard score beyond which a file is said to depart from a
// shuffled one. Up to 100 scores are looked at in a column, each beyond it with a
// probability of 1.6e-6 in a shuffled file: less than 2e-4 in all.
const orderScore = 4.8

// Order says of a column how much the order of the records tells of it.
type Order struct {
	// Descents is the share of descents among neighbours with different original
	// values, ½ in a shuffled file, and Autocorrelation the lag-1 autocorrelation
	// of the ranks of the original values, 0 there.
	Descents        Float `json:"descents" doc:"share of descents among neighbours with different original values, 1/2 in a shuffled file"`
	Autocorrelation Float `json:"autocorrelation" doc:"lag-1 autocorrelation of the ranks of the original values, 0 in a shuffled file"`
	// Departs says whether the source departs from a shuffled file.
	Departs bool `json:"departs" doc:"whether the source departs from a shuffled file"`
	// Fit is the fit that comes nearest to the original values where it departs.
	Fit string `json:"fit,omitempty" doc:"the fit that comes nearest to the original values"`
	// Shuffled says that the release has its records in another order, so that
	// nothing of this can be seen in it.
	Shuffled bool `json:"shuffled,omitempty" doc:"whether the release has its records in an order of its own"`
}

// order puts into m what the order of the source tells of column c, and where it
// departs from a shuffled file the risk by it, docs/methods.md §9.
func (r *reckoning) order(c int, m *ColumnMeasures) {
	s := &r.a.columns[c]
	if s.order == nil || r.tried || s.pairs == 0 {
		return
	}
	m.Order = &Order{Shuffled: r.a.opts.Shuffled}
	s.order.test(m.Order)
	if !m.Order.Departs || m.Order.Shuffled {
		return
	}
	best, ok := s.order.best(s.squareDiff / float64(s.pairs))
	if !ok {
		return
	}
	m.Order.Fit = best.name
	risk := Risk{Target: TargetTypical, Knowledge: KnowledgeOrder, R: Float(riskOf(best.mse)), Sampled: best.sampled}
	risk.SE = Float(standardError(float64(risk.R), best.noise))
	risk.RMSE, risk.RealisedR = Float(math.Sqrt(best.mse)), risk.R
	m.Risk = append(m.Risk, risk)
}

// test fills in how the source's order departs from a shuffled one.
func (o *order) test(found *Order) {
	found.Descents, found.Autocorrelation = Float(math.NaN()), Float(math.NaN())
	for l := range o.levels {
		s := o.sequence(l)
		z, share := s.descents()
		worst := math.Abs(z)
		for k := 1; k <= 12; k++ {
			z, r := s.autocorrelation(k)
			worst = max(worst, math.Abs(z))
			if l == 0 && k == 1 {
				found.Descents, found.Autocorrelation = Float(share), Float(r)
			}
		}
		found.Departs = found.Departs || worst > orderScore
	}
}

// descents returns how far the number of descents less that of ascents is from 0,
// in standard errors of a shuffled file, (L+1)/3 a stretch of L different values
// (Wolfowitz 1944) and less with ties, and the share of descents.
func (s *sequence) descents() (z, share float64) {
	var up, down, variance float64
	s.stretches(func(from, to int) {
		for i := from + 1; i < to; i++ {
			switch before, x := s.bins[i-1].x, s.bins[i].x; {
			case x > before:
				up++
			case x < before:
				down++
			}
		}
		if to > from+1 {
			variance += float64(to-from+1) / 3
		}
	})
	if variance == 0 {
		return 0, math.NaN()
	}
	return (up - down) / math.Sqrt(variance), down / (up + down)
}

// autocorrelation of the ranks of x at lag k, and as a standard score (Wald and
// Wolfowitz 1943).
func (s *sequence) autocorrelation(k int) (z, r float64) {
	rank := s.ranks()
	var total, pairs, product float64
	for _, v := range rank {
		total += v * v
	}
	s.stretches(func(from, to int) {
		for i := from + k; i < to; i++ {
			product += rank[i] * rank[i-k]
			pairs++
		}
	})
	if total == 0 || pairs == 0 {
		return 0, math.NaN()
	}
	r = product / pairs / (total / float64(len(rank)))
	r = max(-1, min(1, r)) // the variance is that of all ranks, of which the pairs leave some out
	return r * math.Sqrt(pairs), r
}

// ranks are the midranks of x less their mean.
func (s *sequence) ranks() []float64 {
	if s.rank != nil {
		return s.rank
	}
	by := make([]int, len(s.bins))
	for i := range by {
		by[i] = i
	}
	slices.SortFunc(by, func(a, b int) int {
		switch x, y := s.bins[a].x, s.bins[b].x; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	s.rank = make([]float64, len(by))
	for from := 0; from < len(by); {
		to := from + 1
		for to < len(by) && s.bins[by[to]].x == s.bins[by[from]].x {
			to++
		}
		for _, i := range by[from:to] {
			s.rank[i] = float64(from+to-1)/2 - float64(len(by)-1)/2
		}
		from = to
	}
	return s.rank
}

// OrderWarning says that the order of the records tells of a column what its masks
// do not; "" where it does not.
func (c *ColumnMeasures) OrderWarning() string {
	var order, index *Risk
	for i := range c.Risk {
		if r := &c.Risk[i]; r.Target == TargetTypical {
			switch r.Knowledge {
			case KnowledgeOrder:
				order = r
			case KnowledgeIndex:
				index = r
			}
		}
	}
	// What a fit gains below a tenth of the error is no finding of its own.
	if order == nil || index != nil && !(order.RMSE < 0.95*index.RMSE) {
		return ""
	}
	text := fmt.Sprintf("%s: the order of the records gives values to within %s", c.Name, withUnit(float64(order.RMSE), c.Unit))
	if index != nil {
		text += fmt.Sprintf(", the released value alone to within %s", withUnit(float64(index.RMSE), c.Unit))
	}
	return text + "; release the records in another order (sink.order: shuffled)"
}

// shuffledRisk is R of the order where it tells nothing: the mean is all that is
// left of it. NaN where the order was not measured.
func (c *ColumnMeasures) shuffledRisk() float64 {
	if c.Order == nil || c.Order.Departs && !c.Order.Shuffled {
		return math.NaN()
	}
	n, sd, drift := float64(c.Original.N), float64(c.Original.SD), float64(c.Released.Mean-c.Original.Mean)
	return riskOf(sd*sd*(n-1)/n + drift*drift)
}

// judgeShuffled judges a rule about the order where it tells nothing.
func (r Rule) judgeShuffled(c *ColumnMeasures, v *RuleVerdict, needed float64) {
	risk := c.shuffledRisk()
	rmse := math.Sqrt(1 / risk)
	if r.MaxRisk != nil {
		v.Found, v.Passed = Float(risk), risk <= *r.MaxRisk
	} else {
		v.Found, v.Passed = Float(rmse), rmse >= needed
	}
	if !v.Passed {
		v.Advice = advise(Risk{Target: TargetTypical, Knowledge: KnowledgeMean, R: Float(risk), RMSE: Float(rmse)}, needed, c.Unit)
	}
}
