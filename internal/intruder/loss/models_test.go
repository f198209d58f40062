package loss

import (
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// modelColumns are x = 0, 1, …, y = 2x but for a cycle, and categories of different frequencies.
func modelColumns(n int) []ModelColumn {
	x, y := ModelColumn{Name: "x"}, ModelColumn{Name: "y"}
	c := ModelColumn{Name: "c"}
	for side := range 2 {
		for i := range n {
			x.Numbers[side] = append(x.Numbers[side], float64(i))
			y.Numbers[side] = append(y.Numbers[side], 2*float64(i)+float64(i*i%7))
			code := int32(5) // most of them; 9 of 3, 30 of 4, one each of 6 …
			switch {
			case i < 9:
				code = 3
			case i < 39:
				code = 4
			case i < 42:
				code = int32(i)
			}
			c.Codes[side] = append(c.Codes[side], code)
		}
	}
	return []ModelColumn{x, y, c}
}

func fitModel(t *testing.T, text string, columns []ModelColumn) (*Overlap, error) {
	t.Helper()
	m, err := asked.ParseLinearModel(text)
	if err != nil {
		t.Fatal(err)
	}
	return FitModel(t.Context(), m, columns, 0.95, nil)
}

// TestFewRecordsHaveNoCoefficient: rare categories count as one, and nothing that fewer than 10 records have has a
// coefficient, of which the response of a record would follow.
func TestFewRecordsHaveNoCoefficient(t *testing.T) {
	o, err := fitModel(t, "y ~ x + c", modelColumns(200))
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	for _, c := range o.Coefficients {
		terms = append(terms, c.Term)
	}
	if got := strings.Join(terms, ", "); got != "(intercept), x, c #2, c others" || len(o.LeftOut) != 0 ||
		math.Abs(o.Mean-1) > 1e-12 {
		t.Errorf("%s, left out %q, overlap %v", got, o.LeftOut, o.Mean)
	}
	columns := modelColumns(200)
	for side := range 2 {
		for i := 40; i < 42; i++ { // 10 of other categories become 8
			columns[2].Codes[side][i] = 5
		}
		columns[2].Codes[side][39], columns[2].Codes[side][8] = 5, 5
	}
	if o, err = fitModel(t, "y ~ x + c", columns); err != nil || len(o.LeftOut) != 1 || o.LeftOut[0] != "c others" ||
		len(o.Coefficients) != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = fitModel(t, "y ~ x:c", columns); err != nil || len(o.LeftOut) != 1 || o.LeftOut[0] != "x:c others" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestModelsThatCannotBeFitted(t *testing.T) {
	for text, want := range map[string]string{
		"y ~ z":      `there is no column "z"`,
		"c ~ x":      "the response \"c\" must be numeric",
		"y ~ log(c)": "log(c): column \"c\" must be numeric",
		"y ~ I(c^2)": "must be numeric",
	} {
		if _, err := fitModel(t, text, modelColumns(200)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// 2 coefficients and 10 records more.
	if _, err := fitModel(t, "y ~ x", modelColumns(12)); err != nil {
		t.Error(err)
	}
	if _, err := fitModel(t, "y ~ x", modelColumns(11)); err == nil ||
		!strings.Contains(err.Error(), "the original data must have at least 12 records with all values, got 11") {
		t.Error(err)
	}
	// The logarithm of 0 is missing.
	columns := modelColumns(50)
	o, err := fitModel(t, "y ~ log(x)", columns)
	if err != nil || o.Records != [2]int{49, 49} {
		t.Errorf("%+v, %v", o, err)
	}
	// The files may have different numbers of records.
	columns[0].Numbers[1], columns[1].Numbers[1] = columns[0].Numbers[1][:30], columns[1].Numbers[1][:30]
	if o, err = fitModel(t, "y ~ x", columns); err != nil || o.Records != [2]int{50, 30} || o.Mean > 0.99 {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestTenRecordsAreEnough: a category of 10 records has a coefficient, one of 9 has none, and records without a
// category are left out.
func TestTenRecordsAreEnough(t *testing.T) {
	columns := modelColumns(100)
	for side := range 2 {
		codes := columns[2].Codes[side]
		for i := range codes {
			switch {
			case i < 10:
				codes[i] = 1
			case i < 19:
				codes[i] = 2
			case i < 24:
				codes[i] = -1
			default:
				codes[i] = 0
			}
		}
	}
	o, err := fitModel(t, "y ~ x + c", columns)
	if err != nil || len(o.Coefficients) != 3 || o.Coefficients[2].Term != "c #2" || len(o.LeftOut) != 1 ||
		o.LeftOut[0] != "c others" || o.Records != [2]int{95, 95} {
		t.Errorf("%+v, %v", o, err)
	}
}

// Two predictors that each have a coefficient of many records can differ in few: where one is given, the coefficient of
// the other is what these few respond. So can numbers, of which one lies far from the others.
func TestFewRecordsBetweenPredictors(t *testing.T) {
	const n = 1000
	model := func(text string, change func(k int, x, z []float64, c, d []int32)) []string {
		t.Helper()
		columns := []ModelColumn{{Name: "y"}, {Name: "x"}, {Name: "z"}, {Name: "c"}, {Name: "d"}}
		for side := range 2 {
			y, x, z := make([]float64, n), make([]float64, n), make([]float64, n)
			c, d := make([]int32, n), make([]int32, n)
			for i := range n {
				y[i], x[i], z[i] = float64(i*i%101), float64(i%7), float64(i%7)
				change(i, x, z, c, d)
			}
			columns[0].Numbers[side], columns[1].Numbers[side], columns[2].Numbers[side] = y, x, z
			columns[3].Codes[side], columns[4].Codes[side] = c, d
		}
		o, err := fitModel(t, text, columns)
		if err != nil {
			t.Fatal(err)
		}
		return o.LeftOut
	}
	first := func(k, m int, v []int32) { // the first m records have another category, of two
		if k < m {
			v[k] = 1
		}
	}
	for name, c := range map[string]struct {
		text   string
		change func(k int, x, z []float64, c, d []int32)
		want   string
	}{
		"nothing": {"y ~ x + c", func(k int, _, _ []float64, c, _ []int32) { first(k, 500, c) }, ""},
		"one record between two categories": {"y ~ c + d", func(k int, _, _ []float64, c, d []int32) {
			first(k, 40, c)
			first(k, 41, d)
		}, "d #2"},
		"seven": {"y ~ x + c + d", func(k int, _, _ []float64, c, d []int32) {
			first(k, 40, c)
			first(k, 47, d)
		}, "d #2"},
		"nine": {"y ~ x + c + d", func(k int, _, _ []float64, c, d []int32) {
			first(k, 40, c)
			first(k, 49, d)
		}, ""},
		"a product": {"y ~ c + c:d", func(k int, _, _ []float64, c, d []int32) {
			first(k, 40, c)
			first(k, 39, d)
		}, "c #2"},
		"one number": {"y ~ x + z", func(k int, _, z []float64, _, _ []int32) { z[k] = 1; z[n-1] = 2 }, "z"},
		"the first one": {"y ~ x + z", func(k int, x, _ []float64, _, _ []int32) {
			if k > 0 {
				x[k], x[0] = 1, 3
			}
		}, "x"},
		"two numbers": {"y ~ z", func(k int, _, z []float64, _, _ []int32) {
			if z[k] = 5; k < 2 {
				z[k] = 7
			}
		}, "z"},
		"three": {"y ~ z", func(k int, _, z []float64, _, _ []int32) {
			if z[k] = 5; k < 3 {
				z[k] = 7
			}
		}, ""},
		"a copy but for one record": {"y ~ x + z", func(k int, x, z []float64, _, _ []int32) {
			if k == 500 {
				z[k] = x[k] + 1
			}
		}, "z"},
		"beside a missing value": {"y ~ log(x) + z", func(k int, x, z []float64, _, _ []int32) {
			if x[k]++; k == 3 {
				x[k] = 0
			}
			if k == 4 {
				z[k] = 1e9
			}
		}, "z"},
		"behind one that is left out": {"y ~ x + z", func(k int, x, z []float64, _, _ []int32) {
			if x[k] = 1; k == 4 {
				z[k] = 1e9
			}
		}, "x, z"},
		"without the record": {"y ~ log(x) + z", func(k int, x, z []float64, _, _ []int32) {
			if x[k]++; k == 3 {
				x[k], z[k] = 0, 1e9
			}
		}, ""},
	} {
		if got := strings.Join(model(c.text, c.change), ", "); got != c.want {
			t.Errorf("%s: left out %q, want %q", name, got, c.want)
		}
	}
	for side, want := range []int{1, 0} { // the original's
		columns := modelColumns(200)
		columns[0].Numbers[side][7] = 1e9
		if o, err := fitModel(t, "y ~ x", columns); err != nil || len(o.LeftOut) != want {
			t.Errorf("side %d: left out %q, %v", side, o.LeftOut, err)
		}
	}
}
