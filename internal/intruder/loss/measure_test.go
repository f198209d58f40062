package loss

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var nan = math.NaN()

func close12(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// By hand: x = (1, 2, 3, 0, –) has S_x² = 5/3 and y differs by 1, 0, –, 2, –.
func TestChangeByHand(t *testing.T) {
	p := Pair{[]string{"a"}, [][]float64{{1, 2, 3, 0, nan}}, [][]float64{{2, 2, nan, -2, 7}}}
	u, err := Measure(t.Context(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	scale := math.Sqrt(5.0/3) * math.Sqrt2
	close12(t, "il1", u.Change.IL1, 100) // the zero is dropped
	close12(t, "il1s", u.IL1s, 3/scale)
	close12(t, "il1s per cell", u.IL1sPerCell, 3/scale/5)
	close12(t, "il1s per compared cell", u.Change.PerComparedCell, 3/scale/3)
	close12(t, "relative", u.Change.Relative, (0.5+0+1)/3) // the zero counts 1
	want := Cells{All: 5, Compared: 3, Lost: 1, Gained: 1, Moved: 2, Zeros: 1, ZerosMoved: 1}
	if u.Change.Cells != want {
		t.Errorf("cells %+v, want %+v", u.Change.Cells, want)
	}
}

// IL1 does not see damage to zeros; Change.Relative does, and a suppressed column does
// not count as unchanged.
func TestChangeOfZerosAndSuppression(t *testing.T) {
	zeros := changeOf([]float64{0, 0, 5, 0}, []float64{9, 0, 5, -1}, 2.5)
	if zeros.IL1 != 0 || zeros.Relative != 0.5 || zeros.Cells.ZerosMoved != 2 {
		t.Errorf("%+v", zeros)
	}
	sign := changeOf([]float64{4}, []float64{-4}, nan)
	if sign.Relative != 2 || sign.IL1s != 0 || sign.Cells.UnscaledOff != 1 {
		t.Errorf("%+v", sign)
	}
	gone := changeOf([]float64{1, 2}, []float64{nan, nan}, 0.7)
	if gone.PerCell != 0 || gone.Cells.Lost != 2 || gone.Cells.Compared != 0 {
		t.Errorf("%+v", gone)
	}
}

func TestDistanceByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		x, y   []float64
		ks, w1 float64
	}{
		{"same, other order", []float64{3, 1, 2}, []float64{2, 3, 1}, 0, 0},
		{"shifted", []float64{0, 1, 2, 3}, []float64{0.5, 1.5, 2.5, 3.5}, 0.25, 0.5},
		{"apart", []float64{0, 1}, []float64{10, 11}, 1, 10},
		{"ties", []float64{0, 0, 1}, []float64{0, 1, 1}, 1.0 / 3, 1.0 / 3},
		// F is 1/2 from 0 on and 1 from 3; G is 1/3 from 1, 2/3 from 2, 1 from 3.
		{"sizes differ", []float64{0, 3}, []float64{1, 2, 3}, 0.5, 0.5 + 1.0/6 + 1.0/6},
		{"missing", []float64{nan, 4}, []float64{5, nan}, 1, 1},
	} {
		d := DistanceOf(c.x, c.y)
		close12(t, c.name+": KS", d.KS, c.ks)
		close12(t, c.name+": W1", d.Wasserstein, c.w1)
		if !d.Measured {
			t.Errorf("%s: not measured", c.name)
		}
	}
	if d := DistanceOf([]float64{nan}, []float64{1}); d.Measured {
		t.Error("measured without a value")
	}
}

// For equally many values W1 is the mean distance of the order statistics, and KS
// is the greatest difference of counts at any value.
func TestDistanceAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rng.IntN(40)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(20)), float64(rng.IntN(20))/2
		}
		d := DistanceOf(x, y)
		var w float64
		sx, sy := slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
		ks := 0.0
		for i := range sx {
			w += math.Abs(sx[i]-sy[i]) / float64(n)
		}
		count := func(v []float64, at float64) (c float64) {
			for _, e := range v {
				if e <= at {
					c++
				}
			}
			return c / float64(n)
		}
		for _, at := range append(sx, sy...) {
			ks = max(ks, math.Abs(count(x, at)-count(y, at)))
		}
		close12(t, "W1", d.Wasserstein, w)
		close12(t, "KS", d.KS, ks)
	}
}

// Two columns with correlation r have eigenvalues 1 ± r.
func TestStructureByHand(t *testing.T) {
	x := [][]float64{{1, 2, 3, 4}, {1, 2, 3, 4.5}, {2, 4, 6, 8}}
	y := [][]float64{{1, 2, 3, 4}, {4, 1, 3, 2}, {2, 4, 6, 8}}
	s, err := StructureOf(t.Context(), Pair{[]string{"a", "b"}, x[:2], y[:2]}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, q := s.CorrelationOriginal[0][1], s.CorrelationReleased[0][1] // q = −0.4
	close12(t, "r of y", q, -0.4)
	close12(t, "eigen", *s.Eigen, math.Abs((1+r)-(1+0.4))/(1+r)+math.Abs((1-r)-(1-0.4))/(1-r))
	close12(t, "correlation", s.Correlation.Mean, math.Abs(r-q))
	if s.Covariance.Entries != 3 || s.Correlation.Entries != 1 {
		t.Errorf("%+v", s)
	}
	// The third column is twice the first: one eigenvalue is 0 up to rounding.
	s, err = StructureOf(t.Context(), Pair{[]string{"a", "b", "c"}, x, y}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.EigenLeftOut != 1 || s.Rank != 2 || !(*s.Eigen < 1000) {
		t.Errorf("rank %d, %d left out, eigen %v", s.Rank, s.EigenLeftOut, *s.Eigen)
	}
	// A constant column has no correlation.
	s, err = StructureOf(t.Context(), Pair{[]string{"a", "b"}, [][]float64{x[0], {7, 7, 7, 7}}, [][]float64{x[0], y[1]}},
		0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.LeftOut, []string{"b"}) || *s.Eigen != 0 || s.Correlation.Entries != 0 {
		t.Errorf("%+v", s)
	}
}

func TestIntervalByHand(t *testing.T) {
	// S_y = 1 in both columns, S_x = 2.
	p := Pair{[]string{"a", "b"},
		[][]float64{{0, 2, 4}, {0, 2, 4}},
		[][]float64{{0, 1, 2}, {0, 1, nan}}}
	p.Released[1] = []float64{0.5, 1.5, nan}
	v, err := IntervalOf(p, []float64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	// b: S_y = 1/√2, record 0 off by 0.5, record 1 by 0.5, record 2 missing;
	// a: S_y = 1, off by 0, 1, 2. So records 0 and 1 are inside, and with S_x = 2
	// record 2 as well, by a alone.
	close12(t, "risk", v.Risk["1"], 2.0/3)
	close12(t, "sound", v.Sound["1"], 1)
	close12(t, "risk at 0", v.Risk["0"], 0)
	all := Pair{[]string{"a"}, [][]float64{{1, 2}}, [][]float64{{nan, nan}}}
	if v, err = IntervalOf(all, []float64{0.1}); err != nil || v.Risk["0.1"] != 1 || v.Sound["0.1"] != 0 {
		t.Errorf("%+v, %v: a suppressed column has sdcMicro's risk 1 and sound risk 0", v, err)
	}
	if _, err = IntervalOf(all, []float64{-1}); err == nil {
		t.Error("negative width accepted")
	}
}

func randomPair(n, k int, noise float64) Pair {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	p := Pair{}
	for j := range k {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64() * float64(1+j)
			if j > 0 {
				x[i] += p.Original[0][i]
			}
			y[i] = x[i] + noise*rng.NormFloat64()
		}
		p.Names = append(p.Names, string(rune('a'+j)))
		p.Original, p.Released = append(p.Original, x), append(p.Released, y)
	}
	return p
}

// If the release equals the original, every measure is at its limit.
func TestIdentity(t *testing.T) {
	p := randomPair(500, 3, 0)
	u,
		err := Measure(t.Context(), p,
		Options{Propensity: &PropensityOptions{Interactions: true},
			Regressions: []Regression{{Response: "a", Predictors: []string{"b", "c"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if u.IL1s != 0 || *u.Eigen != 0 || *u.PMSE > 1e-25 || u.KS["a"] != 0 || u.Wasserstein["b"] != 0 ||
		u.Regressions[0].Mean != 1 {
		t.Errorf("%+v", u)
	}
}

// Results do not depend on the number of processors, and the JSON has the names of the
// contract and only numbers that JSON can represent.
func TestMeasureIsReproducible(t *testing.T) {
	p := randomPair(3000, 4, 0.5)
	p.Released[2][7] = nan
	for i := range p.Original[3] {
		p.Released[3][i] = nan
	}
	o := Options{Propensity: &PropensityOptions{Columns: []string{"a", "b", "c"}, Interactions: true},
		Regressions: []Regression{{Response: "a", Predictors: []string{"b"}}}}
	var texts []string
	for _, procs := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(procs)
		u, err := Measure(t.Context(), p, o)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error("the result depends on the number of processors")
	}
	for _, member := range []string{`"il1s":`, `"il1s_per_cell":`, `"eigen":`, `"pmse":`, `"ks":{"a":`,
		`"wasserstein":{"a":`} {
		if !strings.Contains(texts[0], member) {
			t.Errorf("no member %s in %s", member, texts[0])
		}
	}
	if strings.Contains(texts[0], `"d":0`) {
		t.Error("a column without released values has a distance")
	}
}

func TestMeasureRefuses(t *testing.T) {
	good := randomPair(10, 2, 1)
	for name, c := range map[string]struct {
		p    Pair
		o    Options
		text string
	}{
		"nothing":   {Pair{}, Options{}, "at least 1"},
		"no record": {Pair{[]string{"a"}, [][]float64{{}}, [][]float64{{}}}, Options{}, "records"},
		"twice":     {Pair{[]string{"a", "a"}, good.Original, good.Released}, Options{}, "distinct"},
		"length":    {Pair{[]string{"a"}, [][]float64{{1, 2}}, [][]float64{{1}}}, Options{}, "2 records"},
		"sides":     {Pair{[]string{"a"}, [][]float64{{1, 2}}, nil}, Options{}, "0 released"},
		"infinite": {Pair{[]string{"a"}, [][]float64{{1, 2}}, [][]float64{{1, math.Inf(1)}}}, Options{},
			"record 2: must be finite"},
		"no column": {good, Options{Propensity: &PropensityOptions{Columns: []string{"z"}}},
			"propensity.columns: there is no"},
		"ridge": {good, Options{Propensity: &PropensityOptions{Ridge: -1}}, "propensity.ridge"},
		"response": {good, Options{Regressions: []Regression{{Response: "z"}}},
			`regressions[0]: there is no numeric column "z"`},
		"predictor": {good, Options{Regressions: []Regression{{Response: "a", Predictors: []string{"a"}}}}, "named twice"},
		"level":     {good, Options{Regressions: []Regression{{Response: "a", Level: 2}}}, "level"},
		"too few": {Pair{[]string{"a", "b"}, [][]float64{{1, 2}, {2, 5}}, [][]float64{{1, 2}, {2, 5}}},
			Options{Regressions: []Regression{{Response: "a", Predictors: []string{"b"}}}}, "more than 2"},
		"no complete": {Pair{[]string{"a", "b"}, [][]float64{{1, 2}, {nan, nan}}, [][]float64{{1, 2}, {2, 5}}},
			Options{Regressions: []Regression{{Response: "a", Predictors: []string{"b"}}}}, "complete"},
	} {
		if _, err := Measure(t.Context(), c.p, c.o); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.text)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Measure(ended, good, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// 1e6 records and 4 columns in a few seconds.
func BenchmarkMeasure(b *testing.B) {
	p := randomPair(1_000_000, 4, 0.5)
	for name, o := range map[string]Options{
		"plain":      {},
		"propensity": {Propensity: &PropensityOptions{}},
		"all": {Propensity: &PropensityOptions{Interactions: true}, Regressions: []Regression{
			{Response: "a", Predictors: []string{"b", "c", "d"}}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := Measure(b.Context(), p, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// As documented for pMSE: it does not see noise that doubles the variance and moves no mean, but the distance
// of distributions does; it sees a shift of the mean by half an SD. With n = 4,000 pMSE of equal means is
// about 1/(8·2n) = 1.6e-5 times a χ² of one degree of freedom, above 30 with a probability of 4e-8; KS of
// N(0, 1) and N(0, 2) is 0.083, less 0.03 at most by chance; of a shift by ½, Σ(p̂ − ½)²/N is about (½/4)² =
// 0.0156 less its curvature.
func TestWhatPropensityDoesNotSee(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 9))
	n := 4000
	x, spread, shifted := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = g.NormFloat64()
		spread[i], shifted[i] = x[i]+g.NormFloat64(), x[i]+0.5
	}
	of := func(y []float64) *Utility {
		u, err := Measure(t.Context(), Pair{Names: []string{"x"}, Original: [][]float64{x}, Released: [][]float64{y}},
			Options{Propensity: &PropensityOptions{}})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if u := of(spread); !(*u.PMSE < 30*1.6e-5) || !(u.KS["x"] > 0.05) {
		t.Errorf("twice the variance: pMSE %v, KS %v", *u.PMSE, u.KS["x"])
	}
	if u := of(shifted); !(*u.PMSE > 0.01) {
		t.Errorf("a shift: pMSE %v", *u.PMSE)
	}
}
