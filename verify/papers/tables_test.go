package papers

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Duncan, Fienberg, Krishnan, Padman and Roehrig (2001), sections 4 and 5: the square [1 14; 17
// 83], with the first cell published as 3.

var square = Perturbation{Row: 15, Column: 18, Total: 115}

// table4 is the prior of table 4, for ω = 0, 1, …
var table4 = []float64{0, .3, .3, .15, .1, .05, .04, .03, .02, .01, 0, 0, 0, 0, 0, 0}

// The likelihoods of table 3; the paper prints some of them with a misplaced decimal point (.001,
// .515, .380, 008, .002).
func TestLikelihoodOfTable3(t *testing.T) {
	if lower, upper := square.Bounds(); lower != 0 || upper != 15 {
		t.Fatalf("bounds %d to %d, want 0 to 15", lower, upper)
	}
	for theta, want := range map[float64][]float64{
		0.05: {0, .0007, .0683, .7746, .1482, .0178, .0017, .0001},
		0.1:  {0, .0026, .1151, .6193, .2235, .0515, .0096, .0016, .0002},
		0.2:  {0, .0088, .1655, .4382, .2708, .1121, .0380, .0114, .0032, .0008, .0002},
	} {
		p := square
		p.Theta = theta
		l, err := p.Likelihood(3)
		if err != nil || len(l) != 16 {
			t.Fatalf("θ = %v: %d likelihoods, %v", theta, len(l), err)
		}
		for omega, v := range l {
			if omega >= len(want) && v > 0.0001 || omega < len(want) && math.Abs(v-want[omega]) > 0.00005 {
				t.Errorf("θ = %v: L(%d) = %.5f", theta, omega, v)
			}
		}
	}
}

// For every true count the published ones form a probability distribution.
func TestLikelihoodsSumToOne(t *testing.T) {
	for _, p := range []Perturbation{{15, 18, 115, 0.2}, {15, 18, 115, 0}, {18, 15, 115, 0.1}, {60, 70, 100, 0.3},
		{5, 5, 5, 0.5}, {0, 4, 9, 0.5}} {
		lower, upper := p.Bounds()
		sums := make([]float64, upper+1)
		for m := lower; m <= upper; m++ {
			l, err := p.Likelihood(m)
			if err != nil {
				t.Fatal(err)
			}
			for omega, v := range l {
				sums[omega] += v
			}
		}
		for omega, s := range sums {
			admissible := omega >= lower && (p.Theta == 0 || p.Theta*float64(omega) <= float64(p.Column-omega)+1e-9)
			if admissible && math.Abs(s-1) > 1e-9 || !admissible && s != 0 {
				t.Errorf("%+v: likelihoods of ω = %d sum to %v (admissible: %v)", p, omega, s, admissible)
			}
		}
	}
	l, err := square.Likelihood(3) // θ = 0: the table is unchanged
	if err != nil || l[3] != 1 || l[2] != 0 || l[4] != 0 {
		t.Errorf("without perturbation: %v, %v", l, err)
	}
}

// The table of section 5. U agrees with the paper to its last digit or two. R is the result of its
// formula, 1/entropy with natural logarithms, which differs from the printed value.
func TestUtilityAndRiskOfSection5(t *testing.T) {
	rounded, err := RoundedLikelihood(3, 3)
	if err != nil || len(rounded) != 6 || rounded[0] != 0 || rounded[1] != 1 {
		t.Fatalf("rounding: %v, %v; want counts 1 to 5", rounded, err)
	}
	likelihood := func(theta float64) []float64 {
		p := square
		p.Theta = theta
		l, err := p.Likelihood(3)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, c := range []struct {
		release     string
		likelihood  []float64
		u, printedU float64
		r, printedR float64
	}{
		{"θ = 0.05", likelihood(0.05), .2405, .240, 1.339, 1.263},
		{"θ = 0.1", likelihood(0.1), .2327, .232, .967, .969},
		{"θ = 0.2", likelihood(0.2), .2181, .216, .775, .713},
		{"suppression", SuppressedLikelihood(square.Bounds()), .1587, .159, .573, .255},
		{"rounding", rounded, .3462, .346, .697, .919},
	} {
		post, err := CellPosterior(table4, c.likelihood)
		if err != nil {
			t.Fatal(err)
		}
		u, r := CellUtility(post, 1), CellRisk(post)
		if !(math.Abs(u-c.u) <= 0.00005) || math.Abs(u-c.printedU) > 0.0025 {
			t.Errorf("%s: U = %.4f, want %v (the paper prints %v)", c.release, u, c.u, c.printedU)
		}
		if !(math.Abs(r-c.r) <= 0.0005) {
			t.Errorf("%s: R = %.4f, want %v (the paper prints %v)", c.release, r, c.r, c.printedR)
		}
	}
}

// Table 5 does not follow from tables 3 and 4: its entries for ω = 2 are too large by the factor 1
// + 2θ, the rest follows by normalising. Its U and R would differ from those printed in section 5,
// whose U follows from the posteriors of tables 3 and 4.
func TestPosteriorOfTable5(t *testing.T) {
	for theta, want := range map[float64][]float64{
		0.05: {0, .001, .146, .751, .096, .006},
		0.1:  {0, .005, .259, .579, .139, .016, .002},
		0.2:  {0, .015, .403, .381, .157, .032, .009, .002},
	} {
		p := square
		p.Theta = theta
		l, err := p.Likelihood(3)
		if err != nil {
			t.Fatal(err)
		}
		post, err := CellPosterior(table4, l)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(post[2]-want[2]) < 0.01 {
			t.Errorf("θ = %v: P(2) = %.4f, table 5's %v after all", theta, post[2], want[2])
		}
		l[2] *= 1 + 2*theta
		if post, err = CellPosterior(table4, l); err != nil {
			t.Fatal(err)
		}
		for omega, w := range want {
			if !(math.Abs(post[omega]-w) <= 0.0021) {
				t.Errorf("θ = %v: P(%d) = %.4f with ω = 2 inflated, table 5 has %v", theta, omega, post[omega], w)
			}
		}
	}
}

func TestCertainty(t *testing.T) {
	post, err := CellPosterior([]float64{.2, .8, 0}, []float64{0, .3, 1})
	if err != nil {
		t.Fatal(err)
	}
	if u, r := CellUtility(post, 1), CellRisk(post); !math.IsInf(u, 1) || !math.IsInf(r, 1) {
		t.Errorf("the count is certain: U = %v, R = %v; want +Inf", u, r)
	}
	if _, err := CellPosterior([]float64{1, 0}, []float64{0, 1}); !errors.Is(err, ErrImpossible) {
		t.Errorf("got %v, want ErrImpossible", err)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := CellPosterior([]float64{1, bad}, []float64{1, 1}); err == nil || errors.Is(err, ErrImpossible) {
			t.Errorf("weight %v: %v", bad, err)
		}
	}
}

func TestTableDomains(t *testing.T) {
	for _, p := range []Perturbation{{-1, 5, 10, 0}, {5, 5, 4, 0}, {0, 0, 0, 0}, {5, 5, 10, 1.1}, {5, 5, 10, math.NaN()}} {
		if _, err := p.Likelihood(0); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	for _, published := range []int{-1, 16} {
		if _, err := square.Likelihood(published); err == nil {
			t.Errorf("published %d: no error", published)
		}
	}
	for _, c := range [][2]int{{3, 0}, {4, 3}, {-3, 3}} {
		if _, err := RoundedLikelihood(c[0], c[1]); err == nil {
			t.Errorf("published %d, base %d: no error", c[0], c[1])
		}
	}
}

var (
	tableIJ = [][]int{{3, 87, 68, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	tableJK = [][]int{{5, 2, 68}, {10, 10, 85}, {69, 81, 61}, {7, 132, 51}}
	tableIK = [][]int{{74, 75, 81}, {3, 85, 9}, {8, 61, 52}, {6, 4, 123}}
)

// The bounds of I+K as printed in the paper. Its text counts three disclosures, (1,1), (2,2) and
// (3,3); by its own two tables the third is (4,3), with a bound of 133 below the desired 148, while
// (3,3) has 65 and needs 63.
func TestBoundsOfMargin(t *testing.T) {
	b, err := BoundMargin(tableIJ, tableJK)
	if err != nil {
		t.Fatal(err)
	}
	printed := [][]int{{88, 152, 200}, {86, 94, 78}, {21, 120, 65}, {74, 71, 133}}
	for i := range printed {
		if !slices.Equal(b.Upper[i], printed[i]) {
			t.Errorf("row %d: upper bounds %v, the paper prints %v", i+1, b.Upper[i], printed[i])
		}
		for k, n := range tableIK[i] {
			if b.Lower[i][k] > n || b.Upper[i][k] < n {
				t.Errorf("(%d,%d): %d is not within %d to %d", i+1, k+1, n, b.Lower[i][k], b.Upper[i][k])
			}
		}
	}
	cells, err := b.Disclosures(tableIK, 0.2)
	if err != nil || !slices.Equal(cells, [][2]int{{0, 0}, {1, 1}, {3, 2}}) {
		t.Errorf("disclosures at %v, %v; want (1,1), (2,2), (4,3)", cells, err)
	}
}

// Linear programming on all three two-way margins gives cell (1,3,3) 13.5, which
// no table of counts attains.
func TestLinearUpperBound(t *testing.T) {
	got, err := LinearUpperBound(tableIJ, tableIK, tableJK, [3]int{0, 2, 2})
	if err != nil || !(math.Abs(got-13.5) <= 1e-6) {
		t.Errorf("cell (1,3,3): %v, %v; want 13.5", got, err)
	}
	// A 2×2×1 table equals its own margin.
	got, err = LinearUpperBound([][]int{{1, 2}, {3, 4}}, [][]int{{3}, {7}}, [][]int{{4}, {6}}, [3]int{1, 0, 0})
	if err != nil || !(math.Abs(got-3) <= 1e-9) {
		t.Errorf("cell (2,1,1) of a table that is given: %v, %v; want 3", got, err)
	}
	// Both 2×2×2 tables with all margins 1 have cell (1,1,1) at 0 or 1.
	ones := [][]int{{1, 1}, {1, 1}}
	got, err = LinearUpperBound(ones, ones, ones, [3]int{0, 0, 0})
	if err != nil || !(math.Abs(got-1) <= 1e-9) {
		t.Errorf("margins of ones: %v, %v; want 1", got, err)
	}
}

func TestMarginDomains(t *testing.T) {
	short := tableIJ[:3]
	ragged := [][]int{{3, 87, 68, 72}, {5, 8, 80}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	negative := [][]int{{-3, 87, 74, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {70, 6, 50, 7}}
	for name, ij := range map[string][][]int{"none": nil, "short": short, "ragged": ragged, "negative": negative,
		"empty row": {{}, {}}} {
		if _, err := BoundMargin(ij, tableJK); err == nil {
			t.Errorf("%s: no error of BoundMargin", name)
		}
		if _, err := LinearUpperBound(ij, tableIK, tableJK, [3]int{}); err == nil {
			t.Errorf("%s: no error of LinearUpperBound", name)
		}
	}
	if _, err := BoundMargin(tableIJ, tableIJ); err == nil {
		t.Error("margins that do not fit: no error")
	}
	if _, err := LinearUpperBound(tableIJ, tableIK, tableJK, [3]int{0, 0, 3}); err == nil {
		t.Error("a cell outside: no error")
	}
	if _, err := LinearUpperBound(tableIJ, tableJK, tableJK, [3]int{}); err == nil {
		t.Error("margins that do not fit: no error")
	}
	b, err := BoundMargin(tableIJ, tableJK)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Disclosures(tableIJ, 0.2); err == nil {
		t.Error("counts of another shape: no error")
	}
	if _, err := b.Disclosures(tableIK, math.NaN()); err == nil {
		t.Error("protection NaN: no error")
	}
}
