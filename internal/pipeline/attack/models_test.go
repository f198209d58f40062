package attack

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// leastSquares returns the coefficients of y on a constant and columns, by a QR decomposition.
func leastSquares(t *testing.T, y []float64, columns ...[]float64) []float64 {
	t.Helper()
	x := mat.NewDense(len(y), 1+len(columns), nil)
	for i := range y {
		x.Set(i, 0, 1)
		for j, c := range columns {
			x.Set(i, 1+j, c[i])
		}
	}
	var b mat.VecDense
	if err := b.SolveVec(x, mat.NewVecDense(len(y), y)); err != nil {
		t.Fatal(err)
	}
	return b.RawVector().Data
}

// TestModelsOfCategories: a model has the coefficients of the records that have all values, before and after the masks.
// The categories of a recoded column are those of the release in both.
func TestModelsOfCategories(t *testing.T) {
	p := survey(t, 300,
		"{bias: {columns: [wage], phi: 0.1}}, {recode: {columns: [region], map: {n: n, s: coast, w: coast}}}", `assess:
  keys: [age]
  intruder: {utility: {regressions: [{response: wage, predictors: [debt]}], models: ["wage ~ age", "log(wage) ~ debt + I(debt^2) + region"]}}`)
	result, d, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := result.Utility.Regressions
	if len(list) != 3 || list[0].Formula != "" || list[1].Formula != "wage ~ age" ||
		list[2].Formula != "log(wage) ~ debt + I(debt^2) + region" {
		t.Fatalf("%+v", list)
	}
	wages := map[bool][]float64{}
	for _, c := range d.Numeric {
		if c.Name == "wage" {
			wages[false], wages[true] = c.Original, c.Released
		}
	}
	debts, regions := column(t, p, "debt"), column(t, p, "region")
	for released, wage := range wages {
		var y, debt, square, north []float64
		for i, text := range debts {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				continue
			}
			y, debt, square, north = append(y, math.Log(wage[i])), append(debt, v), append(square, v*v), append(north, 0)
			if regions[i] == "n" { // a third of the records: the coast is the reference
				north[len(north)-1] = 1
			}
		}
		want := leastSquares(t, y, debt, square, north)
		for k, c := range list[2].Coefficients {
			got := c.Original.Value
			if released {
				got = c.Released.Value
			}
			// Sums of 300 products, with condition numbers below 1e5.
			if math.Abs(got-want[k]) > 1e-9*(math.Abs(want[k])+1e-3) {
				t.Errorf("%s (released: %v) is %v, want %v", c.Term, released, got, want[k])
			}
		}
		if len(want) != len(list[2].Coefficients) || list[2].Coefficients[3].Term != "region #2" {
			t.Errorf("%+v", list[2].Coefficients)
		}
	}
	if worst := float64(result.Identity().Overlap); worst != min(list[0].Mean, list[1].Mean, list[2].Mean) {
		t.Errorf("the least overlap is %v", worst)
	}
}

// TestModelsThatAreRefused: columns that no model can have are told before the data are masked.
func TestModelsThatAreRefused(t *testing.T) {
	for model, want := range map[string]string{
		"region ~ wage":      `assess.intruder.utility.models[1]: must have a response of numbers, and "region" has categories`,
		"wage ~ log(region)": `assess.intruder.utility.models[1]: must have functions and powers of numbers, and "region" has categories`,
	} {
		p := survey(t, 300, "bias: {columns: [wage], phi: 0.1}",
			"assess: {keys: [age], intruder: {utility: {models: [wage ~ age, "+strconv.Quote(model)+"]}}}")
		if _, _, err := Run(context.Background(), p, pipeline.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", model, err, want)
		}
	}
}
