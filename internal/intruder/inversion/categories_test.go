package inversion

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// letters finds codes of the categories a, b, …
func letters(text string) (int32, bool) { return int32(text[0] - 'a'), true }

func categoriesOf(t *testing.T, masks []transform.Params, columns ...CategoryColumn) []CategoryResult {
	t.Helper()
	var specs []transform.Spec
	for _, p := range masks {
		specs = append(specs, transform.Spec{Params: p})
	}
	list, err := Categories(context.Background(), specs, columns, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The posterior against draws: 400,000 records with skew frequencies are masked directly,
// and the shares of the original categories are counted among the records with the same
// released category. A share over n such records has a standard error of at most √(¼/n); the
// estimated prior frequencies add the same amount times the greatest entry of the inverse,
// here below 2. 6 standard errors are allowed.
func TestPosteriorAgainstDraws(t *testing.T) {
	third := 1.0 / 3
	for name, m := range map[string]map[string]map[string]float64{
		"kept evenly": {"a": {"a": 0.7, "b": 0.1, "c": 0.1, "d": 0.1}, "b": {"a": 0.1, "b": 0.7, "c": 0.1, "d": 0.1},
			"c": {"a": 0.1, "b": 0.1, "c": 0.7, "d": 0.1}, "d": {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.7}},
		"to one side": {"a": {"a": 1}, "b": {"a": 0.4, "b": 0.6}, "c": {"b": 0.5, "c": 0.5}, "d": {"c": 0.2, "d": 0.8}},
		"of no use": {"a": {"a": third, "b": third, "c": third}, "b": {"a": third, "b": third, "c": third},
			"c": {"a": third, "b": third, "c": third}, "d": {"d": 1}},
	} {
		g := rand.New(rand.NewPCG(15, 2))
		const n = 400_000
		x, y := make([]int32, n), make([]int32, n)
		pair, of := map[[2]int32]int{}, map[int32]int{}
		for i := range x {
			x[i] = int32([]int{0, 0, 0, 0, 0, 0, 1, 1, 2, 3}[g.IntN(10)])
			u, row := g.Float64(), m[string(rune('a'+x[i]))]
			for _, to := range []string{"a", "b", "c", "d"} {
				if u -= row[to]; u < 0 {
					y[i] = int32(to[0] - 'a')
					break
				}
			}
			pair[[2]int32{x[i], y[i]}]++
			of[y[i]]++
		}
		greatest := 0.0
		for k, c := range pair {
			greatest = max(greatest, float64(c)/float64(of[k[1]]))
		}
		r := categoriesOf(t, []transform.Params{&transform.PRAM{Columns: []string{"v"}, Matrix: m}},
			CategoryColumn{"v", x, y, letters})[0]
		if name == "of no use" {
			// Three categories are indistinguishable: the release gives no more than a
			// guess among equal ones, but d does not change.
			if *r.Posterior < 1-1e-9 || r.Passed || r.By != Bayes || r.Recovered != of[3] || r.Certain != of[3] {
				t.Errorf("%s: %+v", name, r)
			}
			continue
		}
		if tolerance := 6 * 2 * math.Sqrt(0.25/float64(of[3])); !(math.Abs(*r.Posterior-greatest) <= tolerance) {
			t.Errorf("%s: the posterior is %v, by draws %v (± %v)", name, *r.Posterior, greatest, tolerance)
		}
		if certain := name == "to one side"; r.Passed == certain || (r.Certain == of[3]) != certain {
			t.Errorf("%s: %+v, of d %d are released", name, r, of[3]) // what is released as d was d
		}
	}
}

// Bayes' rule by hand, and a release for which n·P⁻¹ is not a distribution: it has
// fewer records of a category than the matrix produces without any original one.
func TestPosteriorByHand(t *testing.T) {
	p := [][]float64{{0.8, 0.2}, {0.4, 0.6}}
	// π = n·P⁻¹ with n = (0.6, 0.4), P⁻¹ = 2.5·(0.6 −0.2; −0.4 0.8): (0.5, 0.5).
	for i, v := range Prior(p, []float64{60, 40}) {
		if !(math.Abs(v-0.5) <= 1e-12) {
			t.Errorf("the prior of category %d is %v", i, v)
		}
	}
	if prior := Prior(p, []float64{10, 0}); !(math.Abs(prior[0]-1) <= 1e-6) || !(prior[1] >= 0) {
		t.Errorf("the likeliest frequencies are %v", prior)
	}
	if prior := Prior([][]float64{{0.5, 0.5}, {0.5, 0.5}}, []float64{3, 1}); !(math.Abs(prior[0]-0.5) <= 1e-12) {
		t.Errorf("without a way back the prior is %v", prior)
	}
	if Prior(p, []float64{0, 0}) != nil {
		t.Error("of nothing there is a prior")
	}
	x, y := []int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, []int32{0, 0, 0, 0, 1, 0, 0, 1, 1, 1}
	matrix := map[string]map[string]float64{"a": {"a": 0.8, "b": 0.2}, "b": {"a": 0.4, "b": 0.6}}
	r := categoriesOf(t, []transform.Params{&transform.PRAM{Columns: []string{"v"}, Matrix: matrix}},
		CategoryColumn{"v", x, y, letters})[0]
	if !(math.Abs(*r.Posterior-0.75) <= 1e-12) || math.Abs(*r.Rarest-2.0/3) > 1e-12 && math.Abs(*r.Rarest-0.75) > 1e-12 ||
		!r.Passed || r.Certain != 0 || r.Guess != 0.5 {
		t.Errorf("%+v", r)
	}
}

// Nothing is drawn: all values are computed back, independent of the other masks in the list.
func TestKeepOneIsComputedBack(t *testing.T) {
	one, part := 1.0, 0.5
	x := []int32{0, 0, 1, -1, 1, 2}
	for _, keep := range []*float64{&one, &part} {
		m := &transform.PRAM{Columns: []string{"v"}, Keep: keep, Categories: []string{"a", "b", "c"}}
		other := &transform.PRAM{Columns: []string{"w"}, Keep: &part, Categories: []string{"a", "b", "c"}}
		for _, masks := range [][]transform.Params{{m, other}, {other, m}} {
			list := categoriesOf(t, masks, CategoryColumn{"v", x, x, letters}, CategoryColumn{"w", x, x, letters})
			if r := list[0]; r.Passed != (keep == &part) || keep == &one && (r.Recovered != 5 || *r.Posterior != 1) {
				t.Errorf("keep %v: %+v", *keep, r)
			}
			if !list[1].Passed {
				t.Errorf("beside keep %v: %+v", *keep, list[1])
			}
		}
	}
}

// A recoding that joins no categories is inverted; for one that joins categories the
// posterior is the share of its most frequent category.
func TestRecodingsComputedBack(t *testing.T) {
	m := &transform.Recode{Columns: []string{"v"}, Map: map[string]string{"a": "x"}}
	x := []int32{0, 0, 0, 1, 2, 2, 2, 2}
	for _, c := range []struct {
		y         []int32
		passed    bool
		posterior float64
		certain   int
	}{
		{[]int32{5, 5, 5, 6, 7, 7, 7, 7}, false, 1, 8},
		{[]int32{5, 5, 5, 5, 7, 7, 7, 7}, true, 1, 4},
		{[]int32{5, 5, 5, 5, 5, 5, 5, 5}, true, 0.5, 0},
		{[]int32{5, 5, 5, -1, 5, 5, 5, 5}, true, 4.0 / 7, 0},
	} {
		r := categoriesOf(t, []transform.Params{m}, CategoryColumn{"v", x, c.y, letters})[0]
		if r.Passed != c.passed || !(math.Abs(*r.Posterior-c.posterior) <= 1e-12) || r.Certain != c.certain ||
			r.Rarest != nil {
			t.Errorf("released as %v: %+v", c.y, r)
		}
	}
	if r := categoriesOf(t, []transform.Params{m}, CategoryColumn{"v", x[:2], []int32{-1, -1}, letters})[0]; r.Posterior !=
		nil || !r.Passed {
		t.Errorf("nothing is released: %+v", r)
	}
}

// The remaining values of hidden cells, against a brute-force trial of every value for
// every record; and by hand.
func TestMinimalityAgainstBruteForce(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 15))
	found := 0
	for trial := range 300 {
		n, k := 3+g.IntN(30), 2+g.IntN(3)
		columns := make([]CategoryColumn, 3)
		for j := range columns {
			c := CategoryColumn{Name: strconv.Itoa(j)}
			for range n {
				c.Original = append(c.Original, int32(g.IntN(2+j)))
			}
			c.Released = slices.Clone(c.Original)
			for i := range n {
				if g.IntN(4) == 0 {
					c.Released[i] = -1
				}
			}
			columns[j] = c
		}
		list := categoriesOf(t, []transform.Params{&transform.Suppress{Keys: []string{"2", "0", "1"}, K: &k}}, columns...)
		for j, r := range list {
			hidden, claims := 0, 0
			for i := range n {
				if columns[j].Released[i] >= 0 {
					continue
				}
				hidden++
				if left := leftFor(columns, k, i); len(left[j]) == 1 {
					claims++
				}
			}
			found += claims
			if r.Hidden != hidden || r.Claims != claims {
				t.Fatalf("trial %d, key %d: %d cells and %d claims, want %d and %d", trial, j, r.Hidden, r.Claims, hidden, claims)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d cells could be told", found)
	}
}

// leftFor returns, for each column, the values that a record's cell may have had.
func leftFor(columns []CategoryColumn, k, record int) (left [3]map[int32]bool) {
	for j := range left {
		left[j] = map[int32]bool{}
	}
	for a := range int32(2) {
		for b := range int32(3) {
			for c := range int32(4) {
				try, fits := [3]int32{a, b, c}, true
				for j := range try {
					fits = fits && (columns[j].Released[record] < 0 || columns[j].Released[record] == try[j]) &&
						slices.Contains(columns[j].Original, try[j])
				}
				same := 1
				for i := range columns[0].Released {
					if columns[0].Released[i] == a && columns[1].Released[i] == b && columns[2].Released[i] == c {
						same++
					}
				}
				if fits && same < k {
					left[0][a], left[1][b], left[2][c] = true, true, true
				}
			}
		}
	}
	return left
}

func TestMinimalityByHand(t *testing.T) {
	// Two sexes in a region: the three women are published, so the hidden cell is a
	// man's.
	sex := CategoryColumn{"sex", []int32{0, 0, 0, 1, 1, 1, 1}, []int32{0, 0, 0, -1, 1, 1, 1}, letters}
	region := CategoryColumn{"region", []int32{0, 0, 0, 0, 1, 1, 1}, []int32{0, 0, 0, 0, 1, 1, 1}, letters}
	k := 3
	m := &transform.Suppress{Keys: []string{"region", "sex"}, K: &k}
	list := categoriesOf(t, []transform.Params{m}, sex, region)
	if r := list[0]; r.Passed || r.By != Minimality || r.Hidden != 1 || r.Claims != 1 || r.Recovered != 1 ||
		r.Posterior != nil {
		t.Errorf("the sex of the fourth record: %+v", r)
	}
	if r := list[1]; !r.Passed || r.Hidden != 0 {
		t.Errorf("no region is hidden: %+v", r)
	}
	// The other key is unknown, or the records are a sample: no value follows.
	if r := categoriesOf(t, []transform.Params{m}, sex)[0]; !r.Passed || r.Claims != 0 {
		t.Errorf("without the region: %+v", r)
	}
	part, err := Categories(context.Background(), []transform.Spec{{Params: m}}, []CategoryColumn{sex, region}, nil, false)
	if err != nil || !part[0].Passed || part[0].Claims != 0 {
		t.Errorf("of a sample: %+v, %v", part, err)
	}
}

// If frequencies were counted in strata, the posterior is the greatest one of all strata. It
// is compared with draws of the two-stage procedure by its definition: a first draw by the
// matrix, and then for each record a second draw among the records of the stratum with the
// same first draw. A share of n records has a standard error of at most √(¼/n); 6 of them are
// allowed.
func TestPosteriorInStrata(t *testing.T) {
	g := rand.New(rand.NewPCG(15, 4))
	const n, keep = 400_000, 0.6
	x, y, s := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range x {
		s[i] = int32(g.IntN(2))
		x[i] = int32([][]int{{0, 0, 0, 0, 0, 1, 1, 1, 2, 2}, {0, 1, 1, 2, 2, 2, 2, 2, 2, 2}}[s[i]][g.IntN(10)])
	}
	first, origins := make([]int32, n), map[[2]int32][]int32{}
	for i := range x {
		if first[i] = x[i]; g.Float64() >= keep {
			first[i] = (x[i] + 1 + int32(g.IntN(2))) % 3
		}
		at := [2]int32{s[i], first[i]}
		origins[at] = append(origins[at], x[i])
	}
	of, pair := map[[2]int32]int{}, map[[3]int32]int{}
	for i := range x {
		among := origins[[2]int32{s[i], first[i]}]
		y[i] = among[g.IntN(len(among))]
		of[[2]int32{s[i], y[i]}]++
		pair[[3]int32{s[i], x[i], y[i]}]++
	}
	greatest, least := 0.0, n
	for k, c := range pair {
		all := of[[2]int32{k[0], k[2]}]
		greatest, least = max(greatest, float64(c)/float64(all)), min(least, all)
	}
	m := &transform.PRAM{Columns: []string{"v"}, Keep: ptrTo(keep), Categories: []string{"a", "b", "c"}, Invariant: true,
		By: []string{"s"}}
	column := CategoryColumn{"v", x, y, letters}
	masks := []transform.Spec{{Params: m}}
	list, err := Categories(context.Background(), masks, []CategoryColumn{column}, map[string][]int32{"s": s}, true)
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; !r.Passed || r.Certain != 0 ||
		!(math.Abs(*r.Posterior-greatest) <= 6*math.Sqrt(0.25/float64(least))) || !(*r.Rarest < *r.Posterior) {
		t.Errorf("posterior %v, drawn %v; %+v", *r.Posterior, greatest, r)
	}
	if _, err := Categories(context.Background(), masks, []CategoryColumn{column}, map[string][]int32{"t": s},
		true); err == nil || !strings.Contains(err.Error(), `strata of "s", which is no categorical key`) {
		t.Errorf("without the stratum: %v", err)
	}
	// A stratum with one category is released unchanged.
	alone := CategoryColumn{"v", []int32{0, 0, 1, 2, 1}, []int32{0, 0, 2, 1, 1}, letters}
	for _, other := range []*string{nil, ptrTo("b")} {
		m.Other = other
		list, err = Categories(context.Background(), masks, []CategoryColumn{alone}, map[string][]int32{"s": {0, 0, 1, 1, 1}},
			true)
		if err != nil {
			t.Fatal(err)
		}
		if r := list[0]; r.Passed || r.Certain != 2 || r.Recovered != 2 || r.By != Bayes || *r.Posterior != 1 {
			t.Errorf("%+v", r)
		}
	}
	// Categories that are not listed count as the other category: then the first stratum has
	// two.
	unlisted := CategoryColumn{"v", []int32{0, 3}, []int32{0, 1}, letters}
	list, err = Categories(context.Background(), masks, []CategoryColumn{unlisted}, map[string][]int32{"s": {0, 0}}, true)
	if err != nil || !list[0].Passed || !(*list[0].Posterior < 0.9) {
		t.Errorf("%+v, %v", list, err)
	}
}

func ptrTo[T any](v T) *T { return &v }
