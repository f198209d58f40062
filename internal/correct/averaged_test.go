package correct

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Limits hold for means of sorted groups, for any data; after noise and before it, where the limit
// holds in expectation only.
func TestAveragedHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, draw := range map[string]func() float64{
		"normal": r.NormFloat64, "skewed": func() float64 { return math.Exp(2 * r.NormFloat64()) },
		"heap": func() float64 { return max(0, r.NormFloat64()) },
	} {
		x := make([]float64, 999)
		for i := range x {
			x[i] = draw()
		}
		slices.Sort(x)
		y := make([]float64, len(x))
		for i := range y {
			from := i / 3 * 3
			y[i] = (x[from] + x[from+1] + x[from+2]) / 3
		}
		moments := func(v []float64) (mean, variance float64) {
			for _, a := range v {
				mean += a / float64(len(v))
			}
			for _, a := range v {
				variance += (a - mean) * (a - mean) / float64(len(v)-1)
			}
			return mean, variance
		}
		mean, variance := moments(y)
		wantMean, wantVariance := moments(x)
		k := Chain{Averaged{Mean: true}}.Undo(mean, variance)
		if math.Abs(k.Mean.Least-wantMean) > 1e-9 || !k.Mean.Exact() {
			t.Errorf("%s: mean %+v, was %v", name, k.Mean, wantMean)
		}
		if !(k.Variance.Least <= wantVariance*(1+1e-12)) || !math.IsInf(k.Variance.Greatest, 1) || !math.IsInf(k.Slack, 1) {
			t.Errorf("%s: variance %+v, slack %v, was %v", name, k.Variance, k.Slack, wantVariance)
		}
		if k.Variance.Least < variance {
			t.Errorf("%s: the least variance %v is below that of the means, %v", name, k.Variance.Least, variance)
		}
		k = Chain{Added{SD: 0.1}, Averaged{Mean: true}}.Undo(mean, variance)
		if math.Abs(k.Variance.Least-(variance-0.01)) > 1e-12 {
			t.Errorf("%s: behind noise %+v", name, k.Variance)
		}
	}
	k := Chain{Averaged{}}.Undo(3, 4)
	if !math.IsInf(k.Mean.Greatest, 1) || k.Variance.Least != 0 || !math.IsInf(k.Variance.Greatest, 1) {
		t.Errorf("of medians %+v is told", k)
	}
}
