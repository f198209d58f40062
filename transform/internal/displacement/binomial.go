package displacement

import (
	"math"
	"slices"
)

// binomial is the distribution of the number of heads among n coins.
type binomial struct {
	low int32
	cdf []float64 // P(X ≤ low), P(X ≤ low+1), …
}

func newBinomial(n int, p float64) binomial {
	switch {
	case p <= 0:
		return binomial{0, []float64{1}}
	case p >= 1:
		return binomial{int32(n), []float64{1}}
	}
	mean, sd := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	low, high := max(0, int(mean-9*sd-9)), min(n, int(mean+9*sd+9))
	b := binomial{low: int32(low)}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	sum := 0.0
	for x := low; x <= high; x++ {
		sum += math.Exp(lg(n) - lg(x) - lg(n-x) + float64(x)*math.Log(p) + float64(n-x)*math.Log1p(-p))
		b.cdf = append(b.cdf, sum)
	}
	return b
}

func (b binomial) quantile(u float64) int32 {
	at, _ := slices.BinarySearch(b.cdf, u)
	return b.low + int32(min(at, len(b.cdf)-1))
}
