package assess

import (
	"math/rand/v2"
	"testing"
)

// Columns of which one is the sum of others depend on each other, also but for a rounding; others do not, nor does one
// alone.
func TestDependentColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	a, b := make([]float64, 200), make([]float64, 200)
	sum, near, far := make([]float64, 200), make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i], b[i] = 1e5+1000*rng.NormFloat64(), 500*rng.NormFloat64()
		sum[i] = a[i] + b[i]
		near[i], far[i] = sum[i]+0.01*rng.Float64(), sum[i]+20*rng.NormFloat64()
	}
	for name, c := range map[string]struct {
		columns [][]float64
		want    bool
	}{
		"none": {}, "one": {columns: [][]float64{a}}, "two": {columns: [][]float64{a, b}},
		"a sum": {[][]float64{a, sum, b}, true}, "nearly": {[][]float64{near, a, b}, true},
		"not so near": {columns: [][]float64{a, b, far}}, "the same": {[][]float64{a, a}, true},
	} {
		if got := dependent(c.columns); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
