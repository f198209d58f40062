package assess

import (
	"math"
)

// order puts into m what the order of the source tells of column c, and where it
// departs from a shuffled file the risk by it, docs/methods.md §9.
func (r *reckoning) order(c int, m *ColumnMeasures) {
	s := &r.a.columns[c]
	if s.order == nil || r.tried || s.pairs == 0 {
		return
	}
	found := s.order.departure()
	m.Order = &Order{Descents: Float(found.descents), Autocorrelation: Float(found.autocorrelation), Departs: found.departs, Shuffled: r.a.opts.Shuffled}
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
