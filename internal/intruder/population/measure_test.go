package population

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// TestRisks: the expectations over a Poisson number against their sums.
func TestRisks(t *testing.T) {
	for _, v := range []float64{0, 1e-300, 1e-9, 0.3, 1, 7, 39.99, 40, 40.01, 55, 120, 600} {
		var p0, one, two float64
		for j := range 3000 {
			x := float64(j)
			l, _ := math.Lgamma(x + 1)
			p := math.Exp(x*math.Log(v) - v - l)
			if v == 0 {
				p = map[bool]float64{true: 1}[j == 0]
			}
			if j == 0 {
				p0 = p
			}
			one += p / (x + 1)
			two += p / (x + 1) / (x + 1)
		}
		for name, c := range map[string][2]float64{"alone": {alone(v), p0}, "match": {match(v), one},
			"matchSquare": {matchSquare(v), two}} {
			// The logarithms of the sum's terms are as great as v·log v: its error is some 1e-13 of it.
			if !(math.Abs(c[0]-c[1]) <= 1e-11*c[1]) {
				t.Errorf("%s(%v) = %v, want %v", name, v, c[0], c[1])
			}
		}
	}
}

// draw makes a population with independent keys of skewed categories, Poisson counts and mean size n,
// and a sample in which each person of category i of the first key is with probability rate[i]. It
// returns the sample, and of its uniques the number that are unique in the population, and the sum of
// their 1/F.
func draw(rng *rand.Rand, n float64, widths []int, rate []float64) (d Data, uniques, matches float64) {
	shares := make([][]float64, len(widths))
	for j, w := range widths {
		total := 0.0
		for i := range w {
			shares[j] = append(shares[j], math.Pow(0.6, float64(i)))
			total += shares[j][i]
		}
		for i := range w {
			shares[j][i] /= total
		}
		d.Variables = append(d.Variables, Variable{Name: string(rune('a' + j))})
	}
	at := make([]int, len(widths))
	for {
		mean := n
		for j, i := range at {
			mean *= shares[j][i]
		}
		size, sampled := poisson(rng, mean), 0
		for range size {
			if rng.Float64() >= rate[at[0]] {
				continue
			}
			sampled++
			d.Weights = append(d.Weights, 1/rate[at[0]])
			for j, i := range at {
				d.Variables[j].Codes = append(d.Variables[j].Codes, int32(i))
			}
		}
		if sampled == 1 {
			matches += 1 / float64(size)
			if size == 1 {
				uniques++
			}
		}
		j := len(at) - 1
		for ; j >= 0; j-- {
			if at[j]++; at[j] < widths[j] {
				break
			}
			at[j] = 0
		}
		if j < 0 {
			return d, uniques, matches
		}
	}
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for t := rng.ExpFloat64(); t < mean; t += rng.ExpFloat64() {
		n++
	}
	return n
}

func formula(t *testing.T, text string) asked.Formula {
	t.Helper()
	f, err := asked.ParseFormula(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPopulationUniquesAreFound: in populations of which the model holds, τ₁ and τ₂ are the numbers of
// the population, within their standard errors. z = (τ − truth)/se has mean 0 and SD 1; over m
// populations its mean is within 4.5/√m of 0, its SD within 4.5/√(2m) of 1 but for the skewness of
// small counts and the curvature that the delta method leaves out: 0.1 more for each.
func TestPopulationUniquesAreFound(t *testing.T) {
	m := 400
	if testing.Short() {
		m = 60
	}
	for _, c := range []struct {
		name   string
		rate   []float64
		models []asked.Model
	}{
		{"equal", []float64{0.1, 0.1, 0.1, 0.1}, []asked.Model{asked.Default, asked.CE, asked.PML, asked.IPF}},
		{"by the first key", []float64{0.05, 0.1, 0.3, 0.6}, []asked.Model{asked.Default, asked.PML}},
	} {
		sums := make([][4]float64, len(c.models))
		for seed := range m {
			d, uniques, matches := draw(rand.New(rand.NewPCG(7, uint64(seed))), 20000, []int{4, 6, 8, 10}, c.rate)
			for i, model := range c.models {
				r, err := Measure(t.Context(), d, Options{Model: model, Formula: formula(t, "a + b + c + d")})
				if err != nil {
					t.Fatal(err)
				}
				z1, z2 := (r.Tau1-uniques)/r.Tau1SE, (r.Tau2-matches)/r.Tau2SE
				for k, x := range [4]float64{z1, z1 * z1, z2, z2 * z2} {
					sums[i][k] += x / float64(m)
				}
				// The number of sample uniques is about Poisson given the model.
				if off := math.Abs(r.ModelUniques - float64(r.SampleUniques)); off > 6*math.Sqrt(r.ModelUniques) {
					t.Errorf("%s, %v: %d uniques, the model expects %.0f", c.name, model, r.SampleUniques, r.ModelUniques)
				}
			}
		}
		within := 4.5 / math.Sqrt(float64(m))
		for i, model := range c.models {
			for k, name := range []string{"τ₁", "", "τ₂"} {
				if name == "" {
					continue
				}
				mean := sums[i][k]
				sd := math.Sqrt(sums[i][k+1] - mean*mean)
				t.Logf("%s, %v, %s: z has mean %.3f, SD %.3f", c.name, model, name, mean, sd)
				if !(math.Abs(mean) <= within+0.1) || !(math.Abs(sd-1) <= within/math.Sqrt2+0.1) {
					t.Errorf("%s, %v, %s: z has mean %.3f and SD %.3f", c.name, model, name, mean, sd)
				}
			}
		}
	}
}

// TestFitByProportions: fitted values against those of iterative proportional fitting to the margins
// of weighted counts, which shares nothing with the fit. τ₁, τ₂ and their errors follow from these
// by the formulas, the errors with a matrix of full indicators and a small ridge.
func TestFitByProportions(t *testing.T) {
	keys, weight := madeUp(false)
	widths := map[string]int{"a": 3, "b": 4, "c": 6}
	d := Data{Weights: weight}
	for _, name := range []string{"a", "b", "c"} {
		d.Variables = append(d.Variables, variable(name, keys[name], false))
	}
	r, err := Measure(t.Context(), d, Options{Model: asked.PML, Formula: formula(t, "c + a + b + a:c + b:c")})
	if err != nil {
		t.Fatal(err)
	}
	size := widths["a"] * widths["b"] * widths["c"]
	W, W2, n := make([]float64, size), make([]float64, size), make([]float64, size)
	cellOf := func(a, b, c int) int { return (a*4+b)*6 + c }
	for i, w := range weight {
		k := cellOf(int(keys["a"][i]), int(keys["b"][i]), int(keys["c"][i]))
		W[k] += w
		W2[k] += w * w
		n[k]++
	}
	fitted := make([]float64, size)
	for k := range fitted {
		fitted[k] = 1
	}
	// (a, c), (b, c)
	margins := []func(k int) int{func(k int) int { return k/24*6 + k%6 }, func(k int) int { return k % 24 }}
	for range 2000 {
		for _, of := range margins {
			want, has := map[int]float64{}, map[int]float64{}
			for k := range fitted {
				want[of(k)] += W[k]
				has[of(k)] += fitted[k]
			}
			for k := range fitted {
				if fitted[k] *= want[of(k)]; has[of(k)] > 0 {
					fitted[k] /= has[of(k)]
				}
			}
		}
	}
	var tau1, tau2, s1, s2 float64
	columns := 18 + 24
	row := func(k int) []int { return []int{margins[0](k), 18 + margins[1](k)} }
	A, J := newMatrix(columns), newMatrix(columns)
	g1, g2 := make([]float64, columns), make([]float64, columns)
	for k, λ := range fitted {
		for _, i := range row(k) {
			for _, j := range row(k) {
				A[i][j] += λ
				J[i][j] += W2[k]
			}
		}
		if n[k] != 1 {
			continue
		}
		v := λ * (1 - 1/W[k])
		p, q := math.Exp(-v), (1-math.Exp(-v))/v
		tau1, tau2 = tau1+p, tau2+q
		s1 += p * (1 - p)
		square := 0.0
		for j := range 2000 {
			l, _ := math.Lgamma(float64(j + 1))
			square += math.Exp(float64(j)*math.Log(v)-v-l) / float64((j+1)*(j+1))
		}
		s2 += square - q*q
		for _, i := range row(k) {
			g1[i] -= v * p
			g2[i] += p - q
		}
	}
	for i := range A {
		A[i][i] += 1e-7 // the indicators are collinear; g is in the span of the rows, so this matters by 1e-7
	}
	se := func(g []float64, s float64) float64 {
		x := eliminate(A, g)
		for i := range x {
			for j := range x {
				s += x[i] * J[i][j] * x[j]
			}
		}
		return math.Sqrt(s)
	}
	for name, c := range map[string][2]float64{"tau1": {r.Tau1, tau1}, "tau2": {r.Tau2, tau2},
		"tau1_se": {r.Tau1SE, se(g1, s1)}, "tau2_se": {r.Tau2SE, se(g2, s2)}} {
		if !(math.Abs(c[0]-c[1]) <= 1e-5*math.Abs(c[1])) || c[1] == 0 {
			t.Errorf("%s: %.9g, want %.9g", name, c[0], c[1])
		}
	}
	if r.Cells != int64(size) || r.SampleUniques == 0 || r.Records != 600 || r.Missing != 0 {
		t.Errorf("%+v", r)
	}
	// In the other order of the keys and of the records the same comes out.
	slices.Reverse(d.Variables)
	d.Weights = slices.Clone(weight)
	slices.Reverse(d.Weights)
	for i := range d.Variables {
		slices.Reverse(d.Variables[i].Codes)
	}
	again, err := Measure(t.Context(), d, Options{Model: asked.PML, Formula: formula(t, "a*c + b + c:b")})
	if err != nil || math.Abs(again.Tau1-r.Tau1) > 1e-9 || math.Abs(again.Tau2SE-r.Tau2SE) > 1e-9 ||
		again.SampleUniques != r.SampleUniques {
		t.Errorf("in the other order: %+v, %v", again, err)
	}
}

func newMatrix(k int) [][]float64 {
	a := make([][]float64, k)
	for i := range a {
		a[i] = make([]float64, k)
	}
	return a
}

// eliminate solves Ax = b by Gaussian elimination with pivots.
func eliminate(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := newMatrix(n)
	for i := range m {
		m[i] = append(slices.Clone(a[i]), b[i])
	}
	for i := range n {
		p := i
		for r := i; r < n; r++ {
			if math.Abs(m[r][i]) > math.Abs(m[p][i]) {
				p = r
			}
		}
		m[i], m[p] = m[p], m[i]
		for r := range n {
			if f := m[r][i] / m[i][i]; r != i {
				for c := i; c <= n; c++ {
					m[r][c] -= f * m[i][c]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

// TestEnds: a census, weights below 1, one record, one category, and what is refused.
func TestEnds(t *testing.T) {
	codes := []int32{0, 0, 1, 2, 2, 3}
	ones := []float64{1, 1, 1, 1, 1, 1}
	of := func(w []float64, lists ...[]int32) Data {
		d := Data{Weights: w}
		for j, list := range lists {
			d.Variables = append(d.Variables, Variable{Name: string(rune('a' + j)), Codes: list})
		}
		return d
	}
	for model := range asked.Model(len(asked.Models)) {
		for _, w := range [][]float64{ones, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}} {
			r, err := Measure(t.Context(), of(w, codes), Options{Model: model, Formula: formula(t, "a")})
			if model == asked.Weighted && err == nil && math.IsNaN(r.Tau1) {
				t.Errorf("%v: %+v", model, r)
			}
			if model != asked.Weighted &&
				(err != nil || r.Tau1 != 2 || r.Tau2 != 2 || r.Tau1SE != 0 || r.Tau2SE != 0 || r.UniquesMost() != 2) {
				t.Errorf("%v: of a census, %+v, %v", model, r, err)
			}
		}
		if r, err := Measure(t.Context(), of([]float64{9}, []int32{4}),
			Options{Model: model, Formula: formula(t, "a")}); err != nil || r.SampleUniques != 1 ||
			!(r.Tau2 > 0 && r.MatchesMost() <= 1) {
			t.Errorf("%v: of one record, %+v, %v", model, r, err)
		}
	}
	if r, err := Measure(t.Context(), of([]float64{2, 2, 2, 2, 2, 2}, []int32{0, 0, 1, 2, 2, -1}),
		Options{Formula: formula(t, "a")}); err != nil || r.Records != 5 || r.Missing != 1 || r.Size != 10 ||
		r.SampleUniques != 1 {
		t.Errorf("of a missing value: %+v, %v", r, err)
	}
	many := make([]int32, 3000)
	for i := range many {
		many[i] = int32(i)
	}
	heavy := make([]float64, len(many))
	for i := range heavy {
		heavy[i] = 2
	}
	gone := slices.Repeat([]int32{-1}, 6)
	number := of(ones, codes)
	number.Variables[0].Values = []float64{1, 2, 3, math.NaN(), 1, 2}
	for _, c := range []struct {
		d    Data
		f    string
		want string
	}{
		{of([]float64{1, 1, 1, 1, 1, 0}, codes), "a", "1 of 6 records have a sampling weight that is missing or not above 0"},
		{of([]float64{math.NaN(), -1, 1, 1, 1, 1}, codes), "a", "2 of 6 records"},
		{of([]float64{math.Inf(1), 1, 1, 1, 1, 1}, codes), "a", "1 of 6 records"},
		{of(heavy, many, many), "a + b", "more than 5000000 cells, by the number of their categories ([3000 3000])"},
		{of(heavy, many), "a", "more than 1000 parameters, of a;"},
		{of(ones, codes, gone), "a + b", "the key \"b\" has no value"},
		{of(ones, []int32{0, -1, 0, -1, 0, -1}, []int32{-1, 0, -1, 0, -1, 0}), "a + b", "no record has all keys"},
		{number, "a", "the key \"a\" enters as a number, and record 4 has none"},
	} {
		_, err := Measure(t.Context(), c.d, Options{Formula: formula(t, c.f)})
		var refused *Refusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	for _, o := range []Options{{Model: asked.IPF, Formula: formula(t, "a*b")}, {Model: 5, Formula: formula(t, "a + b")}} {
		if _, err := Measure(t.Context(), of(ones, codes, codes), o); err == nil {
			t.Errorf("%+v is not refused", o)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ended, of(heavy[:2000], many[:2000], many[:2000]),
		Options{Formula: formula(t, "a + b")}); !errors.Is(err, context.Canceled) && err == nil {
		t.Errorf("after the end: %v", err)
	}
}
