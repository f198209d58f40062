package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
)

// order measures what the order of the source discloses about column c. If the order differs from
// a random one, it adds the risk by knowledge of the order, docs/methods.md §9.
func (r *reckoning) order(c int, m *ColumnMeasures) {
	s := &r.a.columns[c]
	if s.order == nil || r.candidate || s.pairs == 0 {
		return
	}
	found := s.order.Departure()
	m.Order = &Order{Descents: Float(found.Descents), Autocorrelation: Float(found.Autocorrelation),
		Departs: found.Departs, Shuffled: r.a.opts.Shuffled}
	if !m.Order.Departs || m.Order.Shuffled {
		return
	}
	best, ok := s.order.Best(s.squareDiff / float64(s.pairs))
	if !ok {
		return
	}
	m.Order.Fit = best.Name
	risk := Risk{Target: TargetTypical, Knowledge: KnowledgeOrder, R: Float(estimate.Risk(best.Mse)),
		Sampled: best.Sampled}
	risk.SE = Float(estimate.StandardError(float64(risk.R), best.Noise))
	risk.RMSE, risk.RealisedR = Float(math.Sqrt(best.Mse)), risk.R
	m.Risk = append(m.Risk, risk)
}
