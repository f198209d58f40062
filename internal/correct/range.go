package correct

import "math"

// CovarianceRange returns the limits of Cov(x, w) for a column w that is not
// masked, from Cov(y, w) and the standard deviation of w.
func (k Known) CovarianceRange(released, sd float64) Interval {
	if math.IsInf(k.Slack, 1) {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	return Interval{released - k.Slack*sd, released + k.Slack*sd}
}

// CorrelationRange returns the limits of r(x, w) for a column w that is not
// masked, from r(y, w) and the standard deviation of y; −1 to 1 where nothing else
// is known. Where r(x, w) is known exactly, sampling error may carry it beyond ±1.
func (k Known) CorrelationRange(released, sd float64) Interval {
	if math.IsInf(k.Slack, 1) {
		return Interval{-1, 1}
	}
	v := quotient(Interval{released*sd - k.Slack, released*sd + k.Slack},
		Interval{math.Sqrt(max(k.Variance.Least, 0)), math.Sqrt(k.Variance.Greatest)})
	if v.Exact() {
		return v
	}
	return Interval{max(v.Least, -1), min(v.Greatest, 1)}
}

// SlopeRange returns the limits of the slope b(w on x) for a column w that is not
// masked, from Cov(y, w) and the standard deviation of w.
func (k Known) SlopeRange(released, sd float64) Interval {
	return quotient(k.CovarianceRange(released, sd), k.Variance)
}

// quotient returns the limits of a/b, b ≥ 0.
func quotient(a, b Interval) Interval {
	over := func(a, b float64) float64 {
		switch {
		case a == 0 || math.IsInf(b, 1) && !math.IsInf(a, 0):
			return 0
		case b <= 0 || math.IsInf(a, 0):
			return math.Inf(int(math.Copysign(1, a)))
		}
		return a / b
	}
	return Interval{
		min(over(a.Least, b.Least), over(a.Least, b.Greatest)),
		max(over(a.Greatest, b.Least), over(a.Greatest, b.Greatest)),
	}
}
