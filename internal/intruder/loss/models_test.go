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
	return FitModel(t.Context(), m, columns, 0.95)
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
