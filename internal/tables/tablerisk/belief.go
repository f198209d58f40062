package tablerisk

import "math"

// Belief is the posterior distribution of a count: P[0] is the probability of First. If it was
// estimated by chains, Chains has what each chain gave, and P is their mean.
type Belief struct {
	First  int64
	P      []float64
	Chains [][]float64
}

// standardErrors is the number of standard errors that the unsafe end of an estimate is away from it.
const standardErrors = 2

// Highest returns the greatest probability of a count, at the unsafe end of its error.
func (b *Belief) Highest() float64 {
	highest := 0.0
	for k := range b.P {
		highest = max(highest, b.UpTo(b.First+int64(k)))
	}
	return highest
}

// UpTo returns the probability of a count at the unsafe end of its error.
func (b *Belief) UpTo(count int64) float64 {
	k := count - b.First
	if k < 0 || k >= int64(len(b.P)) {
		return 0
	}
	return min(1, b.P[k]+standardErrors*b.standardError(func(p []float64) float64 { return p[k] }))
}

// Error returns the standard error of the probability of a count.
func (b *Belief) Error(count int64) float64 {
	k := count - b.First
	if k < 0 || k >= int64(len(b.P)) {
		return 0
	}
	return b.standardError(func(p []float64) float64 { return p[k] })
}

// from returns the probability that the count is at least the given one.
func (b *Belief) from(least int64) float64 {
	sum := 0.0
	for k, q := range b.P {
		if b.First+int64(k) >= least {
			sum += q
		}
	}
	return sum
}

// Risk returns 1/entropy at the unsafe end of its error, and how far that is above the estimate.
func (b *Belief) Risk() (risk, by float64) {
	risk = Risk(b.P)
	if math.IsInf(risk, 1) {
		return risk, 0
	}
	by = standardErrors * b.standardError(entropy) * risk * risk
	return risk + by, by
}

// SquaredError returns the expected squared difference from a count, at the unsafe end of its error.
func (b *Belief) SquaredError(count float64) float64 {
	of := func(p []float64) (sum float64) {
		for k, q := range p {
			d := float64(b.First) + float64(k) - count
			sum += q * d * d
		}
		return sum
	}
	return max(0, of(b.P)-standardErrors*b.standardError(of))
}

// standardError returns the standard error of the mean of a figure over the chains; 0 if the belief is exact.
func (b *Belief) standardError(figure func(p []float64) float64) float64 {
	n := float64(len(b.Chains))
	if n < 2 {
		return 0
	}
	mean, square := 0.0, 0.0
	for _, p := range b.Chains {
		v := figure(p)
		mean += v / n
		square += v * v / n
	}
	return math.Sqrt(max(0, square-mean*mean) / (n - 1))
}
