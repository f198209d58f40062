package population

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// madeUp makes the data of scripts/reference/population.R.
func madeUp(holes bool) (keys map[string][]float64, weight []float64) {
	const n = 600
	state := 20080101.0
	uniform := func() float64 {
		state = math.Mod(state*16807, 2147483647)
		return state / 2147483647
	}
	skewed := func(levels float64) float64 { u := uniform(); return math.Floor(levels * u * u) }
	keys = map[string][]float64{}
	for i := 1; i <= n; i++ {
		a, b, c, d := skewed(3), skewed(4), skewed(6), skewed(7)
		if a == 2 {
			d++
		}
		if holes && i%29 == 0 {
			b = math.NaN()
		}
		if holes && i%41 == 5 {
			d = math.NaN()
		}
		for name, x := range map[string]float64{"a": a, "b": b, "c": c, "d": d} {
			keys[name] = append(keys[name], x)
		}
		weight = append(weight, 2+math.Floor(80*uniform()))
	}
	return keys, weight
}

// variable makes a key of small whole numbers.
func variable(name string, x []float64, number bool) Variable {
	v := Variable{Name: name, Codes: make([]int32, len(x))}
	for i, x := range x {
		v.Codes[i] = -1
		if x == x {
			v.Codes[i] = int32(x)
		}
	}
	if number {
		v.Values = x
	}
	return v
}

// TestFiguresOfModRisk: the figures of sdcMicro's own modRisk, by all its methods, of categories and
// of numbers, with equal and unequal weights, with and without missing values, with interactions of
// two and three keys and one of three without those of two.
func TestFiguresOfModRisk(t *testing.T) {
	file, err := os.Open("testdata/modrisk.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	formulas := map[string]string{"main": "a + b + c + d", "two": "~ a + b + c + d + a:d + b:c", "three": "a*b*d",
		"lone": "a + b + c + d + b:c:d"}
	models := map[string]asked.Model{"default": asked.Default, "CE": asked.CE, "PML": asked.PML,
		"weightedLLM": asked.Weighted, "IPF": asked.IPF}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		f, err := asked.ParseFormula(formulas[row[2]])
		if err != nil {
			t.Fatal(err)
		}
		keys, weight := madeUp(row[0] == "holes")
		d := Data{Weights: weight}
		if row[3] == "equal" {
			d.Weights = make([]float64, len(weight))
			for i := range d.Weights {
				d.Weights[i] = 40
			}
		}
		for _, name := range f.Variables() {
			d.Variables = append(d.Variables, variable(name, keys[name], row[1] == "numbers"))
		}
		r, err := Measure(t.Context(), d, Options{Model: models[row[4]], Formula: f})
		if err != nil {
			t.Errorf("%v: %v", row, err)
			continue
		}
		for i, got := range []float64{r.ModRisk.GR1, r.ModRisk.GR2} {
			want, err := strconv.ParseFloat(row[5+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got-want) <= 1e-6*want) { // the saturated model is as exact as the two ends of its iterations
				t.Errorf("%v: gr%d %.12g, %.3g off", row[:5], i+1, got, got-want)
			}
		}
		for _, field := range row[:5] {
			seen[field] = true
		}
	}
	for _, field := range []string{"whole", "holes", "categories", "numbers", "main", "two", "three", "lone", "equal",
		"weight", "default", "CE", "PML", "weightedLLM", "IPF"} {
		if !seen[field] {
			t.Errorf("no row has %s", field)
		}
	}
}
