package correct_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// synthetic returns one copy of two columns.
func synthetic(t *testing.T, key keystream.Key, x, y []float64, m transform.Synthesise) (a, b []float64) {
	t.Helper()
	setup := transform.Setup{Key: key, Window: 1 << 20}
	for i, name := range []string{"x", "y"} {
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: -1, SD: 1})
	}
	chain, err := transform.NewChain([]transform.Spec{{Params: &m}}, setup)
	if err != nil {
		t.Fatal(err)
	}
	block := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, len(x), 2)
		copy(b.Columns[0].Alloc(len(x), false).Values, x)
		copy(b.Columns[1].Alloc(len(x), false).Values, y)
		return b
	}
	if err := chain.Survey(block()); err != nil {
		t.Fatal(err)
	}
	if err := chain.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	out := block()
	if err := chain.Apply(out); err != nil {
		t.Fatal(err)
	}
	return out.Columns[0].Out().Values, out.Columns[1].Out().Values
}

// statistics are a mean, a slope and a correlation (Fisher's z), each with its variance.
func statistics(x, y []float64) (q, u [3]float64) {
	n := float64(len(x))
	q[0], u[0] = stat.Mean(y, nil), stat.Variance(y, nil)/n
	r := stat.Correlation(x, y, nil)
	sx, sy := stat.Variance(x, nil), stat.Variance(y, nil)
	q[1], u[1] = r*math.Sqrt(sy/sx), sy*(1-r*r)/(sx*(n-2))
	q[2], u[2] = math.Atanh(r), 1/(n-3)
	return q, u
}

// Over simulated samples and their releases, the 95 % interval of a mean, a slope and a correlation
// covers the population value 95 times in 100, for five copies, with all columns synthetic or one.
// The SE of a coverage from 1,000 samples is .7 %; the tolerance is 4 SE, plus 1 % for the
// approximation in T. An interval from one copy, treated as data, covers much less.
func TestCombinedIntervalsCover(t *testing.T) {
	samples := 1000
	if testing.Short() {
		samples = 150
	}
	const n, copies, slope = 150, 5, 0.8
	key, err := keystream.NewKey(append(make([]byte, 31), 7))
	if err != nil {
		t.Fatal(err)
	}
	third := 1.0 / 3
	truth := [3]float64{2, slope, math.Atanh(slope / math.Sqrt(slope*slope+1))}
	for name, m := range map[string]transform.Synthesise{
		"all": {Columns: []string{"x", "y"}}, "one": {Columns: []string{"y"}, On: []string{"x"}},
		"cart":      {Columns: []string{"x", "y"}, Method: "cart"},
		"cart, one": {Columns: []string{"y"}, On: []string{"x"}, Method: "cart"},
		"normal":    {Columns: []string{"x", "y"}, Method: "normal"},
		"held out":  {Columns: []string{"x", "y"}, HeldOut: &third},
	} {
		random := rand.New(rand.NewPCG(8, 15))
		var covered, naive, single [3]int
		for range samples {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = random.NormFloat64()
				y[i] = 2 + slope*x[i] + random.NormFloat64()
			}
			var q, u [3][]float64
			for number := 1; number <= copies; number++ {
				m.Copy = &number
				a, b := synthetic(t, key, x, y, m)
				of, variance := statistics(a, b)
				for k := range of {
					if m.HeldOut != nil {
						variance[k] /= 1 - *m.HeldOut
					}
					q[k], u[k] = append(q[k], of[k]), append(u[k], variance[k])
				}
			}
			for k := range truth {
				count := func(to *[3]int, i correct.Interval) {
					if i.Least <= truth[k] && truth[k] <= i.Greatest {
						to[k]++
					}
				}
				c, err := correct.Combine(q[k], u[k])
				if err != nil {
					t.Fatal(err)
				}
				count(&covered, c.Interval(0.95))
				one, _ := correct.Combine(q[k][:1], u[k][:1])
				plain := one.Variance / 2
				if m.Method == "normal" {
					one.Variance = 3 * plain // a mean is drawn as well
				}
				count(&single, one.Interval(0.95))
				one.Variance = plain
				count(&naive, one.Interval(0.95))
			}
		}
		tolerance := 4*math.Sqrt(0.95*0.05/float64(samples)) + 0.01
		for k, what := range []string{"mean", "slope", "correlation"} {
			share := func(c [3]int) float64 { return float64(c[k]) / float64(samples) }
			if math.Abs(share(covered)-0.95) > tolerance {
				t.Errorf("%s synthetic: the interval of the %s covers %.3f", name, what, share(covered))
			}
			if share(single) < 0.95-tolerance {
				t.Errorf("%s synthetic: the interval of the %s from one copy covers %.3f", name, what, share(single))
			}
			if name == "all" && share(naive) > 0.92 {
				t.Errorf("%s synthetic: the %s without the rule covers %.3f, so nothing is shown", name, what, share(naive))
			}
		}
	}
}

func TestCombineByHand(t *testing.T) {
	c, err := correct.Combine([]float64{1, 2, 6}, []float64{0.5, 0.7, 0.9})
	// Mean 3, ū = 0.7, b = (4 + 1 + 9)/2 = 7, T = 0.7 + 7/3; ν = 2·(1 + 0.7/(7/3))² = 2·1.69.
	if err != nil || math.Abs(c.Estimate-3) > 1e-12 || math.Abs(c.Variance-(0.7+7.0/3)) > 1e-12 ||
		math.Abs(c.Freedom-3.38) > 1e-12 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, bad := range [][2][]float64{{nil, nil}, {{1, 2}, {1}}} {
		if _, err := correct.Combine(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
