package assess

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// orderBlock returns a block of one column with original and released values.
func orderBlock(x, y []float64, from, to int) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, int64(from), to-from, 1)
	copy(b.Columns[0].Alloc(to-from, false).Values, x[from:to])
	copy(b.Columns[0].Mutable().Values, y[from:to])
	return b
}

func orderOptions(bins int) Options {
	return Options{Columns: []Column{{Name: "wage", Index: 0, Masked: true}}, Sample: 100, OrderBins: bins}
}

func measureOrder(t *testing.T, x, y []float64, bins int) (*ColumnMeasures, *Risk) {
	t.Helper()
	a := newAccumulator(t, orderOptions(bins))
	for from := 0; from < len(x); from += 5000 {
		a.Add(orderBlock(x, y, from, min(len(x), from+5000)))
	}
	m, err := a.Measure(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c := &m.Columns[0]
	for i := range c.Risk {
		if c.Risk[i].Knowledge == KnowledgeOrder {
			return c, &c.Risk[i]
		}
	}
	return c, nil
}

// pava is isotonic regression by the min-max formula in its simplest form, for few values: max over
// a ≤ i of min over b ≥ i of the mean of y[a..b]. It shares no code with the tested one.
func pava(y []float64) []float64 {
	n := len(y)
	sum := make([]float64, n+1)
	for i, v := range y {
		sum[i+1] = sum[i] + v
	}
	out := slices.Repeat([]float64{math.Inf(-1)}, n)
	for a := range n {
		least := math.Inf(1)
		for i := n - 1; i >= a; i-- {
			least = min(least, (sum[i+1]-sum[a])/float64(i+1-a))
			out[i] = max(out[i], least)
		}
	}
	return out
}

func rmse(x, y []float64) float64 {
	s := 0.0
	for i := range x {
		s += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(s / float64(len(x)))
}

// withNoise returns x with noise of SD λ.
func withNoise(rng *rand.Rand, x []float64, lambda float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + lambda*rng.NormFloat64()
	}
	return y
}

func lognormal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(6 + rng.NormFloat64())
	}
	return x
}

// For a sorted file the risk is that of isotonic regression over all records, however much of it is
// kept, ascending or descending. It is never much less, because R would then be understated.
func TestOrderOfASortedFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, n := range []int{60, 3000, 9000} {
		x := lognormal(rng, n)
		slices.Sort(x)
		y := withNoise(rng, x, 200)
		truth := rmse(x, pava(y))
		for _, falling := range []bool{false, true} {
			u, v := slices.Clone(x), slices.Clone(y)
			if falling {
				slices.Reverse(u)
				slices.Reverse(v)
			}
			for _, bins := range []int{0, 4096} {
				c, risk := measureOrder(t, u, v, bins)
				if risk == nil {
					t.Fatalf("n %d: no risk by order: %+v", n, c.Order)
				}
				if got := float64(risk.RMSE); got > 1.1*truth || got < 0.5*truth {
					t.Errorf("n %d, falling %v, %d bins: known to ± %.1f, by isotonic regression of all to ± %.1f (%s)", n, falling,
						bins, got, truth, c.Order.Fit)
				}
				if c.OrderWarning() == "" && truth < 150 {
					t.Error("no warning")
				}
			}
		}
	}
}

// If there is no order, none is reported: for shuffled files of any shape, with many ties, with
// nulls left out, small and large.
func TestShuffledFilesDoNotDepart(t *testing.T) {
	racetest.Further(t)
	most := 3000 // files of one record
	if testing.Short() {
		most = 300
	}
	rng := rand.New(rand.NewPCG(12, 1))
	for _, shape := range []struct {
		name string
		draw func() float64
	}{
		{"normal", rng.NormFloat64},
		{"lognormal", func() float64 { return math.Exp(2 * rng.NormFloat64()) }},
		{"pareto", func() float64 { return math.Pow(rng.Float64(), -1/1.1) }},
		{"heaps", func() float64 { return math.Floor(math.Exp(rng.NormFloat64())) }},
		{"rare", func() float64 { return math.Floor(rng.Float64() * 1.001) }},
		{"constant", func() float64 { return 7 }},
	} {
		name, draw := shape.name, shape.draw
		for _, n := range []int{1, 2, 3, 7, 40, 700, 30_000} {
			for range max(1, most/n) {
				x := make([]float64, n)
				for i := range x {
					x[i] = draw()
				}
				c, risk := measureOrder(t, x, withNoise(rng, x, 0.5), 1024)
				if c.Order.Departs || risk != nil {
					t.Fatalf("%s, n %d: %+v", name, n, c.Order)
				}
			}
		}
	}
}

// An intruder with the whole file uses the best method for each kind of order, which the test
// implements independently. His RMSE is not understated by more than a tenth and three standard
// errors, and not overstated by more than a factor of three.
func TestOrdersOfManyKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	const n, lambda = 60_000, 1.0
	normal := func() []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	grouped := func(size int) ([]float64, []int) {
		x, of := make([]float64, n), make([]int, n)
		for i := range x {
			of[i] = i / size
			if i%size == 0 {
				x[i] = 3 * rng.NormFloat64()
			} else {
				x[i] = x[i-1]
			}
		}
		return x, of
	}
	meanOf := func(y []float64, of []int) []float64 {
		sum, k := map[int]float64{}, map[int]float64{}
		for i, v := range y {
			sum[of[i]] += v
			k[of[i]]++
		}
		out := make([]float64, n)
		for i := range out {
			out[i] = sum[of[i]] / k[of[i]]
		}
		return out
	}
	type kind struct {
		x   []float64
		fit func(y []float64) []float64 // the best method, with the original's parameters known
	}
	kinds := map[string]kind{}

	series := make([]float64, n) // autoregressive; the Wiener filter is optimal
	for i := range series {
		if i > 0 {
			series[i] = 0.95 * series[i-1]
		}
		series[i] += math.Sqrt(1-0.95*0.95) * rng.NormFloat64()
	}
	kinds["series"] = kind{series, func(y []float64) []float64 { return kalman(y, 0.95, lambda) }}

	for _, size := range []int{5, 60, 700} {
		x, of := grouped(size)
		kinds[fmt.Sprint("groups of ", size)] = kind{x, func(y []float64) []float64 { return meanOf(y, of) }}
	}

	nearly := normal()
	slices.Sort(nearly)
	for i := range nearly {
		j := min(n-1, i+rng.IntN(50))
		nearly[i], nearly[j] = nearly[j], nearly[i]
	}
	kinds["nearly sorted"] = kind{nearly, func(y []float64) []float64 { return smooth(y, 400) }}

	base, correlated := normal(), make([]float64, n)
	slices.Sort(base)
	for i, v := range base {
		correlated[i] = 0.8*v + 0.6*rng.NormFloat64()
	}
	kinds["sorted by another"] = kind{correlated, func(y []float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 0.8*base[i] + (y[i]-0.8*base[i])*0.36/(0.36+lambda*lambda)
		}
		return out
	}}

	for name, k := range kinds {
		y := withNoise(rng, k.x, lambda)
		truth := rmse(k.x, k.fit(y))
		for _, bins := range []int{0, 4096} {
			c, risk := measureOrder(t, k.x, y, bins)
			if risk == nil {
				t.Errorf("%s: not found: %+v", name, c.Order)
				continue
			}
			got := float64(risk.RMSE)
			t.Logf("%s, %d bins: ± %.4f, the best there is ± %.4f, %s, SE of R %.2g of %.3g", name, bins, got, truth,
				c.Order.Fit, risk.SE, risk.R)
			luck := 1 + 3*float64(risk.SE/risk.R)/2 // the standard error of RMSE is half that of R
			if got > 1.1*luck*truth || got < truth/3 {
				t.Errorf("%s, %d bins: known to ± %.4f, by the best means to ± %.4f (%s)", name, bins, got, truth, c.Order.Fit)
			}
		}
	}
}

// kalman is the smoother of an autoregressive series of variance 1 with noise of SD λ (Rauch, Tung
// and Striebel).
func kalman(y []float64, rho, lambda float64) []float64 {
	n := len(y)
	mean, variance := make([]float64, n), make([]float64, n)
	predicted, spread := make([]float64, n), make([]float64, n)
	m, v := 0.0, 1.0
	for i := range y {
		predicted[i], spread[i] = m, v
		g := v / (v + lambda*lambda)
		mean[i], variance[i] = m+g*(y[i]-m), v*(1-g)
		m, v = rho*mean[i], rho*rho*variance[i]+1-rho*rho
	}
	for i := n - 2; i >= 0; i-- {
		g := variance[i] * rho / spread[i+1]
		mean[i] += g * (mean[i+1] - predicted[i+1])
	}
	return mean
}

func smooth(y []float64, h int) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		a, b := max(0, i-h), min(len(y), i+h+1)
		for _, v := range y[a:b] {
			out[i] += v / float64(b-a)
		}
	}
	return out
}
