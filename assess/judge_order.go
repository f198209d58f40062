package assess

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
)

// OrderWarning returns a warning if the order of the records discloses more about a column than
// its masked values do; otherwise "".
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
	// An improvement of less than a tenth of the error is not reported.
	if order == nil || index != nil && !(order.RMSE < 0.95*index.RMSE) {
		return ""
	}
	text := fmt.Sprintf("%s: the order of the records gives values to within %s", c.Name,
		withUnit(float64(order.RMSE), c.Unit))
	if index != nil {
		text += fmt.Sprintf(", the released value alone to within %s", withUnit(float64(index.RMSE), c.Unit))
	}
	return text + "; release the records in another order (sink.order: shuffled)"
}

// shuffledRisk returns R under knowledge of the order if the order discloses nothing: that of
// knowledge of the mean. NaN if the order was not measured, or if it does disclose something.
func (c *ColumnMeasures) shuffledRisk() float64 {
	if c.Order == nil || c.Order.Departs && !c.Order.Shuffled {
		return math.NaN()
	}
	n, sd, drift := float64(c.Original.N), float64(c.Original.SD), float64(c.Released.Mean-c.Original.Mean)
	return estimate.Risk(sd*sd*(n-1)/n + drift*drift)
}

// judgeShuffled judges a rule about the order if the order discloses nothing.
func (r Rule) judgeShuffled(c *ColumnMeasures, v *RuleVerdict, needed float64) {
	risk := c.shuffledRisk()
	rmse := math.Sqrt(1 / risk)
	if r.MaxRisk != nil {
		v.Found, v.Passed = Float(risk), risk <= *r.MaxRisk
	} else {
		v.Found, v.Passed = Float(rmse), rmse >= needed
	}
	if !v.Passed {
		v.Advice = advise(Risk{Target: TargetTypical, Knowledge: KnowledgeMean, R: Float(risk), RMSE: Float(rmse)}, needed,
			c.Unit)
	}
}
