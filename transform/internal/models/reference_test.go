package models

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

// referenceTree is a tree that both R's rpart and scikit-learn compute for columns of the example:
// scripts/reference/trees.py.
type referenceTree struct {
	Response   string
	Categories bool
	Predictors []string
	Leaf       int
	Nodes      []struct {
		N         int
		Predictor *int // nil: a leaf
		Cut, Gain float64
	}
}

// example returns the columns of the example: numbers unchanged, texts as their index in the sorted
// list, and "column=text" as whether the value is that text.
func example(t *testing.T) func(name string) []float64 {
	t.Helper()
	type record struct {
		Wage       float64 `parquet:"wage"`
		Education  int32   `parquet:"education"`
		Experience int32   `parquet:"experience"`
		Ethnicity  string  `parquet:"ethnicity"`
		SMSA       string  `parquet:"smsa"`
		Region     string  `parquet:"region"`
		PartTime   string  `parquet:"parttime"`
	}
	records, err := parquet.ReadFile[record]("../../../examples/cps/cps1988.parquet")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]func(r *record) float64{
		"wage":       func(r *record) float64 { return r.Wage },
		"education":  func(r *record) float64 { return float64(r.Education) },
		"experience": func(r *record) float64 { return float64(r.Experience) },
	}
	texts := map[string]func(r *record) string{
		"ethnicity": func(r *record) string { return r.Ethnicity },
		"smsa":      func(r *record) string { return r.SMSA },
		"region":    func(r *record) string { return r.Region },
		"parttime":  func(r *record) string { return r.PartTime },
	}
	return func(name string) []float64 {
		values := make([]float64, len(records))
		if of := numbers[name]; of != nil {
			for i := range records {
				values[i] = of(&records[i])
			}
			return values
		}
		name, category, is := strings.Cut(name, "=")
		of, list := texts[name], []string(nil)
		if of == nil {
			t.Fatalf("no column %q", name)
		}
		for i := range records {
			list = append(list, of(&records[i]))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		for i := range records {
			switch at, _ := slices.BinarySearch(list, of(&records[i])); {
			case !is:
				values[i] = float64(at)
			case list[at] == category:
				values[i] = 1
			}
		}
		return values
	}
}

// Splits, cuts and gains of the trees equal those of two other programs, rpart and scikit-learn, on
// all records of the example, for numbers and for categories.
func TestTreesOfTheExampleAreThoseOfOtherPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/trees.json")
	if err != nil {
		t.Fatal(err)
	}
	var trees []referenceTree
	if err := json.Unmarshal(text, &trees); err != nil {
		t.Fatal(err)
	}
	if len(trees) != 7 {
		t.Fatalf("%d trees", len(trees))
	}
	column := example(t)
	for _, want := range trees {
		at := want.Response + " by " + strings.Join(want.Predictors, ", ")
		y := column(want.Response)
		rows := rowsUpTo(len(y))
		var x []Predictor
		one := 1.0
		for _, name := range want.Predictors {
			p := Predictor{Values: column(name)}
			if strings.Contains(name, "=") {
				p.Of = &one
			}
			x = append(x, p)
		}
		var of Response = Numbers(y, rows)
		if want.Categories {
			of = Categories(y, CategoriesIn(y, rows), rows)
		}
		got := Grow(x, of, rows, want.Leaf, nil)
		want.compare(t, at, got, y)
	}
}

// compare walks through both trees, each node before its parts.
func (want *referenceTree) compare(t *testing.T, at string, got *Tree, y []float64) {
	t.Helper()
	if len(got.Nodes) != len(want.Nodes) {
		t.Errorf("%s: %d nodes, want %d", at, len(got.Nodes), len(want.Nodes))
		return
	}
	open := []int{0}
	for i, w := range want.Nodes {
		n := got.Nodes[open[len(open)-1]]
		open = open[:len(open)-1]
		if n.To-n.From != w.N || (n.Right == 0) != (w.Predictor == nil) {
			t.Errorf("%s: node %d has %d records, right part %d; want %d records, %v", at, i, n.To-n.From, n.Right, w.N,
				w.Predictor)
			return
		}
		if w.Predictor == nil {
			continue
		}
		spread := func(k int) float64 {
			return masktest.Impurity(y, got.Rows[got.Nodes[k].From:got.Nodes[k].To], want.Categories)
		}
		// A sum of 28,155 squares has a relative error below 28155 · 2^-53 = 3e-12 in either
		// program. The gain is the difference of such sums, and in these trees more than 1e-5 of
		// them: the error is at most 6e-7 of the gain.
		gain := masktest.Impurity(y, got.Rows[n.From:n.To], want.Categories) - spread(n.left) - spread(n.Right)
		// A cut is the midpoint of two numbers, which both programs have as doubles.
		if n.Predictor != *w.Predictor || !(math.Abs(n.cut-w.Cut) <= 1e-12*math.Abs(w.Cut)) ||
			!(math.Abs(gain-w.Gain) <= 1e-6*w.Gain) {
			t.Errorf("%s: node %d is split by predictor %d at %v with gain %v, want %d at %v with %v", at, i, n.Predictor, n.cut,
				gain, *w.Predictor, w.Cut, w.Gain)
			return
		}
		open = append(open, n.Right, n.left)
	}
}
