package inversion

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// drawnFrom returns n categories with probabilities that depend on a stratum.
func drawnFrom(g *rand.Rand, strata []int32, p [][]float64) []int32 {
	codes := make([]int32, len(strata))
	for i, s := range strata {
		codes[i] = pick(g, p[s])
	}
	return codes
}

func pick(g *rand.Rand, p []float64) int32 {
	u := g.Float64()
	for k, q := range p {
		if u -= q; u < 0 {
			return int32(k)
		}
	}
	return int32(len(p) - 1)
}

func keepMatrix(k int, keep float64) [][]float64 {
	m := rows(k, k)
	for i := range m {
		for j := range m[i] {
			m[i][j] = (1 - keep) / float64(k-1)
		}
		m[i][i] = keep
	}
	return m
}

func times(a, b [][]float64) [][]float64 {
	m := rows(len(a), len(b[0]))
	for i := range a {
		for k := range b {
			for j := range b[k] {
				m[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return m
}

// bayesOf returns the greatest posterior over all strata and released categories, by Bayes' rule
// with counted frequencies.
func bayesOf(x, strata []int32, p [][]float64) (greatest float64) {
	of := map[int32][]float64{}
	for i, s := range strata {
		if of[s] == nil {
			of[s] = make([]float64, len(p))
		}
		of[s][x[i]]++
	}
	for _, n := range of {
		for l := range p[0] {
			total, most := 0.0, 0.0
			for k := range n {
				total += n[k] * p[k][l]
				most = max(most, n[k]*p[k][l])
			}
			if total > 0 {
				greatest = max(greatest, most/total)
			}
		}
	}
	return greatest
}

func toldOf(t *testing.T, masks []transform.Params, c CategoryColumn, keys map[string][]int32, whole bool,
	beside ...Key) CategoryResult {
	t.Helper()
	var specs []transform.Spec
	for _, p := range masks {
		specs = append(specs, transform.Spec{Params: p})
	}
	list, err := Categories(context.Background(), specs, []CategoryColumn{c}, keys, whole)
	if err == nil {
		err = Told(context.Background(), specs, []CategoryColumn{c}, keys, beside, whole, list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

func pramOf(keep float64) *transform.PRAM {
	return &transform.PRAM{Columns: []string{"v"}, Keep: &keep, Categories: []string{"a", "b", "c", "d"}}
}

// The posterior is that of Bayes' rule given the other released columns, exactly: alone, in strata,
// of several matrices in a row, with a recoding in front, behind and between, and whatever the
// order of the columns beside it and a column of chance among them.
func TestPosteriorGivenOtherColumns(t *testing.T) {
	g := rand.New(rand.NewPCG(36, 6))
	const n = 20_000
	s := make([]int32, n)
	chance, city := make([]int32, n), make([]int32, n)
	for i := range s {
		s[i], chance[i] = pick(g, []float64{0.6, 0.3, 0.1}), int32(g.IntN(70))
	}
	x := drawnFrom(g, s, [][]float64{{0.9, 0.05, 0.03, 0.02}, {0.1, 0.5, 0.3, 0.1}, {0.25, 0.25, 0.25, 0.25}})
	for i := range city {
		city[i] = 3*x[i] + int32(g.IntN(3))
	}
	nobody := make([]int32, n)
	p, q := keepMatrix(4, 0.6), keepMatrix(4, 0.8)
	merge := &transform.Recode{Columns: []string{"v"}, Map: map[string]string{"a": "a", "b": "a", "c": "d", "d": "d"}}
	two := &transform.PRAM{Columns: []string{"v"}, Keep: ptrTo(0.7), Categories: []string{"a", "d"}}
	join := [][]float64{{1, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}}
	ends := [][]float64{{0.7, 0, 0, 0.3}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0.3, 0, 0, 0.7}}
	for name, c := range map[string]struct {
		masks []transform.Params
		law   [][]float64
	}{
		"one":          {[]transform.Params{pramOf(0.6)}, p},
		"two in a row": {[]transform.Params{pramOf(0.6), pramOf(0.8)}, times(p, q)},
		"three":        {[]transform.Params{pramOf(0.8), pramOf(0.6), pramOf(0.8)}, times(q, times(p, q))},
		"joined first": {[]transform.Params{merge, two}, times(join, ends)},
		"joined last":  {[]transform.Params{pramOf(0.8), merge}, times(q, join)},
		"in between":   {[]transform.Params{pramOf(0.8), merge, two}, times(q, times(join, ends))},
		"joined alone": {[]transform.Params{merge}, join},
	} {
		y := drawnFrom(g, x, c.law)
		column := CategoryColumn{"v", x, y, letters}
		for _, beside := range []struct {
			strata []int32
			keys   []Key
			tells  string
		}{
			{nobody, nil, ""},
			{nobody, []Key{{"chance", chance}}, ""},
			{s, []Key{{"s", s}}, "s"},
			{s, []Key{{"chance", chance}, {"s", s}}, "s"},
			{s, []Key{{"s", s}, {"chance", chance}}, "s"},
			{city, []Key{{"s", s}, {"city", city}, {"chance", chance}}, "city"},
			{city, []Key{{"city", city}, {"v", y}, {"s", s}}, "city"},
		} {
			r := toldOf(t, c.masks, column, nil, true, beside.keys...)
			if want := bayesOf(x, beside.strata, c.law); !(math.Abs(*r.Posterior-want) <= 1e-9) ||
				strings.Join(r.Tells, " ") != beside.tells {
				t.Errorf("%s, %v: %v told by %q, want %v", name, beside.tells, *r.Posterior, r.Tells, want)
			}
			if determined := beside.tells == "city"; determined != (r.By == Determined) || determined != !r.Passed ||
				determined && r.Recovered < n/4 {
				t.Errorf("%s, %v: %+v", name, beside.tells, r)
			}
		}
		// On a sample, a share that is not certain has an error.
		r, exact := toldOf(t, c.masks, column, nil, false, Key{"s", s}), bayesOf(x, s, c.law)
		if exact < 1 && !(*r.Posterior > exact && *r.Posterior < exact+0.05) {
			t.Errorf("%s, of a sample: %v, of all %v", name, *r.Posterior, exact)
		}
	}
}

// Strata of few records: where a column determines the category they tell it, with two records each;
// where they hold chance they tell nothing, though each record is nearly alone in its own. Columns
// may tell only together, and in a few strata only.
func TestPosteriorInSmallStrata(t *testing.T) {
	g := rand.New(rand.NewPCG(36, 7))
	const n = 6000
	x, place, alone := make([]int32, n), make([]int32, n), make([]int32, n)
	left, right, age := make([]int32, n), make([]int32, n), make([]int32, n)
	of := map[int32]int32{}
	for i := range x {
		place[i], alone[i] = int32(i/3), int32(g.IntN(2*n))
		if _, known := of[place[i]]; !known {
			of[place[i]] = pick(g, []float64{0.7, 0.1, 0.1, 0.1})
		}
		x[i] = of[place[i]]
		left[i] = int32(g.IntN(4))
		right[i], age[i] = (x[i]-left[i]+4)%4, int32(1+g.IntN(60))
		if x[i] == 3 && g.IntN(2) == 0 {
			age[i] = 0
		}
	}
	y := drawnFrom(g, x, keepMatrix(4, 0.6))
	masks, column := []transform.Params{pramOf(0.6)}, CategoryColumn{"v", x, y, letters}
	by := bayesOf(x, make([]int32, n), keepMatrix(4, 0.6))
	for what, c := range map[string]struct {
		beside     []Key
		determined bool
		least      float64
		most       float64
	}{
		"determined by threes":        {[]Key{{"place", place}}, true, 0.99, 1},
		"beside chance":               {[]Key{{"alone", alone}, {"place", place}}, true, 0.99, 1},
		"chance alone":                {[]Key{{"alone", alone}}, false, by, by},
		"one of two":                  {[]Key{{"left", left}}, false, by, by + 0.05},
		"both together":               {[]Key{{"left", left}, {"alone", alone}, {"right", right}}, true, 0.99, 1},
		"a few strata determine some": {[]Key{{"age", age}}, false, 0.99, 1},
	} {
		r := toldOf(t, masks, column, nil, true, c.beside...)
		if (r.By == Determined) != c.determined || !(*r.Posterior >= c.least-1e-9 && *r.Posterior <= c.most+1e-9) {
			t.Errorf("%s: posterior %v, determined %v, told by %q", what, *r.Posterior, r.By == Determined, r.Tells)
		}
	}
}

// With frequencies counted in strata, each record has the matrix of its own stratum.
func TestPosteriorOfCountedStrata(t *testing.T) {
	g := rand.New(rand.NewPCG(36, 8))
	const n = 9000
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i % 2)
	}
	x := drawnFrom(g, s, [][]float64{{0.7, 0.1, 0.1, 0.1}, {0.1, 0.1, 0.4, 0.4}})
	m := pramOf(0.6)
	m.Invariant, m.By = true, []string{"s"}
	want, y := 0.0, make([]int32, n)
	for stratum := range int32(2) {
		var own []int32
		counts := make([]float64, 4)
		for i := range x {
			if s[i] == stratum {
				own = append(own, x[i])
				counts[x[i]]++
			}
		}
		law := transform.InvariantMatrix(keepMatrix(4, 0.6), counts)
		want = max(want, bayesOf(own, make([]int32, len(own)), law))
		for i := range x {
			if s[i] == stratum {
				y[i] = pick(g, law[x[i]])
			}
		}
	}
	r := toldOf(t, []transform.Params{m}, CategoryColumn{"v", x, y, letters}, map[string][]int32{"s": s}, true,
		Key{"s", s})
	if !(math.Abs(*r.Posterior-want) <= 1e-9) || !slices.Equal(r.Tells, []string{"s"}) || !r.Passed {
		t.Errorf("%+v, want %v", r, want)
	}
}
