package correct_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// The combining rule holds for categories drawn by a logistic regression: for the share of a
// category and the mean of its product with a number, over simulated samples of five copies, as
// above.
func TestCombinedIntervalsOfCategoriesCover(t *testing.T) {
	samples := 600
	if testing.Short() {
		samples = 150
	}
	const n, copies = 200, 5
	key, err := keystream.NewKey(append(make([]byte, 31), 8))
	if err != nil {
		t.Fatal(err)
	}
	p := func(x float64) float64 { return 1 / (1 + math.Exp(0.5-1.2*x)) }
	var truth [2]float64 // over the normal distribution of x, in steps of 0.01
	for i := -800; i <= 800; i++ {
		x := float64(i) / 100
		weight := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) / 100
		truth[0] += weight * p(x)
		truth[1] += weight * p(x) * x
	}
	for name, m := range map[string]transform.Synthesise{
		"all":       {Columns: []string{"x", "y"}, Categories: []string{"y"}},
		"one":       {Columns: []string{"y"}, Categories: []string{"y"}, On: []string{"x"}},
		"the first": {Columns: []string{"y", "x"}, Categories: []string{"y"}},
	} {
		random := rand.New(rand.NewPCG(9, 15))
		var covered, naive [2]int
		for range samples {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				if x[i] = random.NormFloat64(); random.Float64() < p(x[i]) {
					y[i] = 1
				}
			}
			var q, u [2][]float64
			for number := 1; number <= copies; number++ {
				m.Copy = &number
				a, b := synthetic(t, key, x, y, m)
				product := make([]float64, n)
				for i := range a {
					product[i] = a[i] * b[i]
				}
				for k, of := range [][]float64{b, product} {
					q[k], u[k] = append(q[k], stat.Mean(of, nil)), append(u[k], stat.Variance(of, nil)/n)
				}
			}
			for k := range truth {
				c, err := correct.Combine(q[k], u[k])
				if err != nil {
					t.Fatal(err)
				}
				if i := c.Interval(0.95); i.Least <= truth[k] && truth[k] <= i.Greatest {
					covered[k]++
				}
				one, _ := correct.Combine(q[k][:1], u[k][:1])
				one.Variance /= 2
				if i := one.Interval(0.95); i.Least <= truth[k] && truth[k] <= i.Greatest {
					naive[k]++
				}
			}
		}
		tolerance := 4*math.Sqrt(0.95*0.05/float64(samples)) + 0.01
		for k, what := range []string{"share", "mean product"} {
			if got := float64(covered[k]) / float64(samples); math.Abs(got-0.95) > tolerance {
				t.Errorf("%s: the interval of the %s covers %.3f", name, what, got)
			}
			if got := float64(naive[k]) / float64(samples); name == "all" && got > 0.92 {
				t.Errorf("%s: the %s without the rule covers %.3f, so nothing is shown", name, what, got)
			}
		}
	}
}
