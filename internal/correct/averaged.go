package correct

import "math"

// Averaged is microaggregation: values were replaced by the mean or the median of groups
// of records. Mean says that it was the mean, as far as that is published.
type Averaged struct{ Mean bool }

// undo: a group's mean keeps the sum of its values, and with it the mean of all; what the
// values spread within groups is gone, Σ(x − x̄)² = Σ(y − x̄)² + Σ(x − y)², so that the
// variance was that after at least. Of medians nothing follows.
func (s Averaged) undo(k *Known, c Chain, i int) {
	if !s.Mean {
		Unknown{}.undo(k, c, i)
		return
	}
	k.Variance.Greatest = math.Inf(1)
	k.Slack = math.Inf(1)
}
