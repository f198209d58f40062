package referee

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
)

// indicatorNamed finds the names that statsmodels gives indicators.
var indicatorNamed = regexp.MustCompile(`\[T\.c(\d+)\]`)

// TestModelsAgreeWithStatsmodels: coefficients, standard errors and intervals of both files.
func TestModelsAgreeWithStatsmodels(t *testing.T) {
	type side [][4]float64
	var want map[string]map[string]struct {
		Terms              []string
		Original, Released side
	}
	text, err := os.ReadFile(referenceFile("models.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for seed, name := range map[uint64]string{3: "leaky", 4: "noisy"} {
		var columns []loss.ModelColumn
		for _, c := range scenario(name, seed).Columns {
			m := loss.ModelColumn{Name: c.Name}
			for k := range 2 {
				m.Numbers[k], m.Codes[k] = c.Sides[k].Numbers, c.Sides[k].Codes
			}
			if c.Name == "sex" { // the reference sorts equally frequent ones by name: f, m
				for k := range 2 {
					for i, code := range m.Codes[k] {
						m.Codes[k][i] = 1 - code
					}
				}
			}
			columns = append(columns, m)
		}
		compared := 0
		for formula, w := range want[name] {
			model, err := asked.ParseLinearModel(formula)
			if err != nil {
				t.Fatal(err)
			}
			got, err := loss.FitModel(t.Context(), model, columns, 0.95, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, term := range w.Terms {
				term = indicatorNamed.ReplaceAllStringFunc(term, func(s string) string {
					n, _ := strconv.Atoi(indicatorNamed.FindStringSubmatch(s)[1])
					return " #" + strconv.Itoa(n+1)
				})
				term = strings.NewReplacer("np.", "", " ** ", "^", "I((sex == 'c01') * educ)", "sex #2:educ", "Intercept",
					loss.Intercept).Replace(term)
				for _, c := range got.Coefficients {
					if c.Term != term {
						continue
					}
					compared++
					for k, e := range []loss.Estimate{c.Original, c.Released} {
						numbers := []side{w.Original, w.Released}[k][i]
						for j, v := range []float64{e.Value, e.Error, e.Lower, e.Upper} {
							if math.Abs(v-numbers[j]) > 1e-6*math.Max(numbers[1], math.Abs(numbers[j])) {
								t.Errorf("%s, %s, %s: %v, want %v", name, formula, term, e, numbers)
								break
							}
						}
					}
				}
			}
			if len(got.Coefficients) != len(w.Terms) || len(got.LeftOut) > 0 {
				t.Errorf("%s: %d coefficients, want %d", formula, len(got.Coefficients), len(w.Terms))
			}
		}
		if compared != 4+11+5+3 {
			t.Errorf("%s: %d coefficients were compared", name, compared)
		}
	}
}
