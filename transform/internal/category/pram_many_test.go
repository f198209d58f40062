package category

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// The invariant matrix of many categories that keep makes is the product of two matrices, and keeps the frequencies;
// other matrices of many categories are multiplied.
func TestInvariantMatrixOfManyCategories(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := manyCategories + 3
	names, frequencies := make([]string, n), make([]float64, n)
	for i := range n {
		names[i], frequencies[i] = fmt.Sprintf("c%03d", i), float64(r.IntN(50))
	}
	frequencies[0], frequencies[n-1] = 0, 70
	for _, keep := range []float64{0, 0.3, 0.8, 1} {
		_, p := (&PRAM{Categories: names, Keep: &keep}).Transition()
		odd := make([][]float64, n)
		for i, row := range p {
			odd[i] = slices.Clone(row)
		}
		odd[n-1][0], odd[n-1][n-1] = odd[n-1][0]+0.1*keep, odd[n-1][n-1]-0.1*keep
		for which, p := range map[string][][]float64{"even": p, "odd": odd} {
			got := InvariantMatrix(p, frequencies)
			totals := make([]float64, n)
			for m, row := range p {
				for l, v := range row {
					totals[l] += frequencies[m] * v
				}
			}
			for i := range n {
				for j := range n {
					want := 0.0
					for l := range n {
						if totals[l] > 0 {
							want += p[i][l] * frequencies[j] * p[j][l] / totals[l]
						}
					}
					if math.Abs(got[i][j]-want) > 1e-13 {
						t.Fatalf("keep %v, %s: cell %d, %d is %v, want %v", keep, which, i, j, got[i][j], want)
					}
				}
			}
		}
	}
}

// Of more than 100 categories keep stands for the matrix: the report does not list it, the note knows it, and the names
// of draws are those of the matrix.
func TestKeepStandsForTheMatrixOfManyCategories(t *testing.T) {
	for _, n := range []int{manyCategories, manyCategories + 1} {
		m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7)}
		for i := range n {
			m.Categories = append(m.Categories, fmt.Sprint(i))
		}
		listed := false
		has := map[string]any{}
		for _, p := range m.Parameters() {
			listed = listed || p.Name == "matrix"
			has[p.Name] = p.Value
		}
		if listed != (n == manyCategories) {
			t.Errorf("%d categories: the matrix is listed: %v", n, listed)
		}
		categories, p := m.Transition()
		a, ok := m.PublishedAction(published(m, 1, "matrix", "keep", "categories"), "a").(core.Randomising)
		if !ok || !slices.Equal(a.Categories, categories) || fmt.Sprint(a.Matrix) != fmt.Sprint(p) {
			t.Errorf("%d categories: the published matrix is another", n)
		}
		if a := m.PublishedAction(published(m, 1, "keep"), "a").(core.Randomising); a.Matrix != nil {
			t.Errorf("%d categories: the matrix follows from keep alone", n)
		}
		named := func(names ...string) func(string) bool {
			return func(name string) bool { return slices.Contains(names, name) }
		}
		exists := func(name string) bool { return has[name] != nil }
		if m.EfficiencyFollows(exists, named("keep")) || !m.EfficiencyFollows(exists, named("keep", "categories", "matrix")) {
			t.Errorf("%d categories: what the efficiency follows from", n)
		}
		col := &pramColumn{}
		want := core.DigestOfTexts("pram", categories...)
		for _, row := range p {
			want += core.Part("row", row...)
		}
		if got := col.Description(categories, p, 3); got != want+core.Part("other", 3) {
			t.Errorf("%d categories: draws have other names, %d bytes and not %d", n, len(got), len(want))
		}
	}
	if got, want := strings.TrimSuffix(core.Part("", 1, 1, 2, 2, math.Copysign(0, -1), 0), ";"), (func() string {
		var b strings.Builder
		writeNumbers(&b, []float64{1, 1, 2, 2, math.Copysign(0, -1), 0})
		return b.String()
	})(); got != want {
		t.Errorf("numbers are %q, want %q", got, want)
	}
}

// Cells that are counted once have the ends and probabilities of cells by themselves: the law is the same to the bit.
func TestCountedCellsAreTheSame(t *testing.T) {
	c := floats(1, 100, 112.5, 250)
	l,
		ok := chain(t, testSetup(t, c), mask(&record.Noise{Columns: []string{"a"}, SD: amount(20)}),
		mask(&record.Round{Columns: []string{"a"}, Base: ptr(5.0)}),
		mask(&record.Truncate{Columns: []string{"a"}, Lower: ptr(90.0)}),
		core.Spec{Name: "second", Params: &record.Noise{Columns: []string{"a"}, SD: amount(10), Distribution: "laplace"}}).Law("a")
	if !ok {
		t.Fatal("no law")
	}
	x := []float64{60, 88, 100, 101.3, 112.5}
	each, p := l.BelowEach(x), make([]float64, len(x))
	between := 0
	for at := 0.0; at < 200; at += 1.7 {
		each(at, p)
		for i, v := range x {
			if want := l.Below(v, at); p[i] != want {
				t.Fatalf("P(y ≤ %v | %v) is %v, want %v", at, v, p[i], want)
			}
			if p[i] > 0.01 && p[i] < 0.99 {
				between++
			}
		}
	}
	if between < 50 {
		t.Errorf("only %d probabilities lie between 0 and 1", between)
	}
}
