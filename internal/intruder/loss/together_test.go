package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Two regressions of which one lacks a record of the other tell the response of that record: with the predictor known,
// XᵀXβ is Xᵀy, and the difference of the two has it. log(z) drops the record with z = 0, and is a constant in the others,
// which is left out again. Together both have the same records, and the difference tells nothing; where 10 or more
// records differ, which is a sum of 10, nothing is left out.
func TestRegressionsTogetherDoNotDiffer(t *testing.T) {
	for zeros, closed := range map[int]bool{1: true, 9: true, 10: false} {
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 200
		x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
		told := 0.0
		for i := range n {
			x[i], z[i] = rng.NormFloat64(), 1
			y[i] = 3 + x[i] + rng.NormFloat64()
			if i < zeros {
				z[i] = 0
				told += y[i]
			}
		}
		var columns []ModelColumn
		for name, v := range map[string][]float64{"x": x, "y": y, "z": z} {
			columns = append(columns, ModelColumn{Name: name, Numbers: [2][]float64{v, v}})
		}
		pair := Pair{[]string{"x", "y", "z"}, [][]float64{x, y, z}, [][]float64{x, y, z}}
		regression := Regression{Response: "y", Predictors: []string{"x"}}
		model, err := asked.ParseLinearModel("y ~ x + log(z)")
		if err != nil {
			t.Fatal(err)
		}
		attack := func(a, b *Overlap) float64 { // Σy of the first less that of the second
			sum := func(o *Overlap, from int) (s float64) {
				for i := from; i < n; i++ {
					s += o.Coefficients[0].Original.Value + o.Coefficients[1].Original.Value*x[i]
				}
				return s
			}
			return sum(a, 0) - sum(b, zeros)
		}
		fit := func(without [][]bool) (a, b *Overlap) {
			regression.Without = without[0]
			a, err := OverlapOf(t.Context(), pair, regression)
			if err != nil {
				t.Fatal(err)
			}
			b, err = FitModel(t.Context(), model, columns, 0.95, without[1])
			if err != nil {
				t.Fatal(err)
			}
			return a, b
		}
		a, b := fit([][]bool{nil, nil})
		if got := attack(a, b); math.Abs(got-told) > 1e-6 || a.Records[0]-b.Records[0] != zeros {
			t.Fatalf("the attack does not work: %v, want %v", got, told)
		}
		a, b = fit(Together(pair, []Regression{regression}, []*asked.LinearModel{model}, columns))
		if same := a.Records[0] == b.Records[0]; same != closed || (a.Dropped == zeros) != closed || b.Dropped != 0 ||
			a.Records[1] != n {
			t.Errorf("%d differ: %d and %d records, %d and %d dropped", zeros, a.Records[0], b.Records[0], a.Dropped, b.Dropped)
		}
		if closed && math.Abs(a.Coefficients[1].Original.Value-b.Coefficients[1].Original.Value) > 1e-9 {
			t.Errorf("%d differ: the coefficients do too: %v and %v", zeros, a.Coefficients, b.Coefficients)
		}
	}
}

// Sets that are near to each other become one; those that are then far from all stay, and one that is not
// known is left alone.
func TestMeet(t *testing.T) {
	of := func(lacks ...int) []bool {
		set := make([]bool, 40)
		for i := range set {
			set[i] = true
		}
		for _, i := range lacks {
			set[i] = false
		}
		return set
	}
	count := func(set []bool) (n int) {
		for _, there := range set {
			if there {
				n++
			}
		}
		return n
	}
	far := of(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39)
	got := meet([][]bool{of(1, 2, 3, 4, 5, 6), nil, of(7, 8, 9), far, of(10, 11, 12, 13, 14)})
	for k, want := range []int{31, 0, 31, 20, 35} {
		if count(got[k]) != want {
			t.Errorf("set %d has %d records, want %d", k, count(got[k]), want)
		}
	}
}
