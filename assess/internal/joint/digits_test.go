package joint

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// Digits of a whole number that tell of a value are seen wherever they are in it: a year behind a day and a month, a
// month and a year within a number of a person, an amount behind the number of a department, on either side of what is
// sought and beside columns that tell nothing.
func TestDigitsOfNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 1))
	const n = 1500
	x, y := make([]float64, n), make([]float64, n)
	numbers := map[string][]float64{}
	for i := range n {
		day := time.Date(1940, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r.IntN(60*365))
		x[i] = 2000 - float64(day.Year())
		y[i] = x[i] + 6*r.NormFloat64()
		yy, mm, dd := float64(day.Year()), float64(day.Month()), float64(day.Day())
		for name, v := range map[string]float64{
			"day, month, year": dd*1e6 + mm*1e4 + yy, "month, day, year": mm*1e6 + dd*1e4 + yy,
			"short":            dd*1e4 + mm*100 + math.Mod(yy, 100),
			"person":           (dd*1e4+mm*100+math.Mod(yy, 100))*1e4 + float64(r.IntN(1e4)),
			"department":       float64(r.IntN(900)+100)*1e3 + x[i],
			"year, month, day": yy*1e4 + mm*100 + dd, // tells by its size
			"other":            dd*1e6 + mm*1e4 + float64(r.IntN(60)), "few": dd*10 + mm, "decimals": dd*1e6 + mm*1e4 + yy + 0.5,
		} {
			numbers[name] = append(numbers[name], v)
		}
	}
	more := make([]float64, n)
	for i := range more {
		more[i] = float64(r.IntN(1e6))
	}
	for name, tells := range map[string]bool{
		"day, month, year": true, "month, day, year": true, "short": true, "person": true, "department": true,
		"year, month, day": true,
		"other":            false, "few": false, "decimals": false,
	} {
		for _, first := range []bool{true, false} {
			columns := []Column{{Name: "x", Values: y}, {Name: "number", Values: numbers[name]}, {Name: "more", Values: more}}
			if !first {
				columns[1], columns[2] = columns[2], columns[1]
			}
			all := WithDigits(columns, n, [][]float64{more, x})
			for _, c := range all[len(columns):] {
				if c.Name != "number" || !tells || name == "year, month, day" {
					t.Fatalf("%s: digits of %s are added", name, c.Name)
				}
			}
			result := New(all, n, true).Estimate(x, y, 0, nil)
			// Noise of 6 with an SD of 17.3 leaves 5.7; a year is known but for the century.
			if rmse := math.Sqrt(result.Square); tells && rmse > 0.5 || !tells && (rmse < 5.2 || rmse > 6.2) {
				t.Errorf("%s: known to ± %.3g, by %v", name, rmse, result.Tells)
			}
		}
	}
}

// Numbers whose digits tell nothing are left as they are, and so are columns of other kinds.
func TestDigitsThatTellNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 2))
	added := 0
	for range 200 {
		const n = 120
		x := [][]float64{make([]float64, n), make([]float64, n)}
		columns := make([]Column, 5)
		for c := range columns {
			columns[c] = Column{Name: "c", Values: make([]float64, n)}
		}
		for i := range n {
			x[0][i], x[1][i] = math.Exp(r.NormFloat64()), float64(r.IntN(2))
			columns[0].Values[i] = float64(r.IntN(1e8))
			columns[1].Values[i] = math.Round(2e4*math.Exp(0.1*r.NormFloat64())) + 1e3*x[0][i] // an amount that depends on it
			columns[2].Values[i] = math.NaN()
			columns[3].Values[i] = cell.Category(float64(r.IntN(9)))
			columns[4].Values[i] = -1e5 * x[0][i]
		}
		added += len(WithDigits(columns, n, x)) - len(columns)
	}
	// The means over 20 bins explain 19/119 ± 0.05 of a variance by chance, of which 4·20/120 is taken off.
	if added > 0 {
		t.Errorf("%d columns are added by chance", added)
	}
}
