package transform

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Duncan and Keller-McNulty (2000), sections 2.2 and 6.2: three respondents in area 11, one of whom
// is unique with age 37, and two of that age in area 12. The unique respondent is exchanged with
// one of area 12 with probability π. Every window of five records is one such data set with its own
// random incomes.
func TestDuncan2000Swap(t *testing.T) {
	sets := 40000
	if testing.Short() {
		sets = 10000
	}
	const n1, n2 = 3, 2
	const mu1, mu2, sigma = 56.0, 47.5, 1.0
	n := sets * (n1 + n2)
	r := rand.New(rand.NewPCG(2000, 1))
	income, age, area := floats(-1, make([]float64, n)...), floats(0, make([]float64, n)...),
		floats(0, make([]float64, n)...)
	for i := range n {
		age.Values[i] = []float64{37, 43, 43, 37, 37}[i%5]
		area.Values[i] = []float64{11, 11, 11, 12, 12}[i%5]
		income.Values[i] = []float64{mu1, mu1, mu1, mu2, mu2}[i%5] + sigma*r.NormFloat64()
	}
	columns := []testColumn{income, age, area}
	setup := testSetup(t, columns...)
	setup.Window = n1 + n2
	const delta2 = (mu1 - mu2) * (mu1 - mu2)
	for _, pi := range []float64{0, 0.1, 0.5, 1} {
		y := release(t, setup, columns, mask(&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: &pi}))
		var loss, identified, mse, estimate statistic
		for s := range sets {
			x, y := income.Values[5*s:5*s+5], y[5*s:5*s+5]
			loss.add((x[0] - y[0]) * (x[0] - y[0]))
			if x[0] == y[0] {
				identified.add(1)
			} else {
				identified.add(0)
			}
			d := (y[0]+y[1]+y[2])/n1 - (y[3]+y[4])/n2
			estimate.add(d)
			mse.add((d - (mu1 - mu2)) * (d - (mu1 - mu2)))
		}
		const h = 1.0/n1 + 1.0/n2
		for _, c := range []struct {
			name string
			s    statistic
			want float64
		}{
			{"E(L)", loss, pi * (2*sigma*sigma + delta2)},
			{"identity disclosure loss", identified, 1 - pi},
			{"mean of the estimate", estimate, (mu1 - mu2) * (1 - h*pi)},
			{"MSE", mse, h*sigma*sigma + h*h*pi*delta2},
			{"MSE as the paper has it", mse, 5.0/6 + 25.0/36*pi*delta2},
		} {
			// Means of independent data sets, within five standard errors.
			if mean, se := c.s.mean(); !(math.Abs(mean-c.want) <= 5*se+1e-12) {
				t.Errorf("π = %v: %s = %.5g, want %.5g (standard error %.2g)", pi, c.name, mean, c.want, se)
			}
		}
		if pi == 0 {
			if mean, se := mse.mean(); !(math.Abs(1/mean-1.2) <= 5*1.2*1.2*se) {
				t.Errorf("U = %.4g at π = 0, paper 1.2", 1/mean)
			}
		}
	}
}

// statistic collects a mean and its standard error.
type statistic struct{ n, sum, squares float64 }

func (s *statistic) add(x float64) { s.n++; s.sum += x; s.squares += x * x }

func (s *statistic) mean() (mean, se float64) {
	mean = s.sum / s.n
	return mean, math.Sqrt(max(s.squares/s.n-mean*mean, 0) / s.n)
}
