package synthesis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

func rowsUpTo(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// The draws have the shares of the data, overall and given the predictors, within five standard
// errors of a difference of two shares, √(2p(1−p)/n). The same holds for means by category. Given
// the stratum, a record's draw does not depend on its category.
func TestSynthesisedCategoriesHaveTheLaw(t *testing.T) {
	n := thin(60_000)
	columns := codedData(n, 2)
	for _, m := range []Synthesise{
		{Columns: []string{"b", "c", "d"}, Categories: []string{"b", "d"}, On: []string{"a"}, By: []string{"e"}},
		{Columns: []string{"a", "b", "c", "d"}, Categories: []string{"d", "b"}, By: []string{"e"}},
		{Columns: []string{"b", "d", "c"}, Categories: []string{"b", "d"}, By: []string{"e"}},
	} {
		out := whole(t, chain(t, testSetup(t, columns...), synthesise(m)), 5000, columns...)
		in := make([][]float64, 5)
		for k := range columns {
			in[k] = columns[k].Values
		}
		share := func(of [][]float64, k int, v float64, where func(i int) bool) (p, count float64) {
			for i := range n {
				if where(i) {
					count++
					if of[k][i] == v {
						p++
					}
				}
			}
			return p / count, count
		}
		compare := func(what string, k int, v float64, where func(of [][]float64) func(i int) bool) {
			p, before := share(in, k, v, where(in))
			got, after := share(out, k, v, where(out))
			if tolerance := 5 * math.Sqrt(p*(1-p)*(1/before+1/after)); !(math.Abs(got-p) <= tolerance) {
				t.Errorf("%v: column %d is %v in %.4f of %s, want %.4f ± %.4f", m.Columns, k, v, got, what, p, tolerance)
			}
		}
		for _, s := range []float64{0, 1} {
			for _, v := range []float64{0, 1, 2} {
				compare("a stratum", 1, v+1, func(of [][]float64) func(int) bool {
					return func(i int) bool { return of[4][i] == s }
				})
				// d was drawn given b: the share of d by b is that of the data.
				compare("those of a category", 3, 1, func(of [][]float64) func(int) bool {
					return func(i int) bool { return of[4][i] == s && of[1][i] == v+1 }
				})
			}
			if m.Columns[1] == "d" {
				continue // b has no predictors there
			}
			for _, high := range []bool{false, true} {
				compare("those of high a or low", 1, 2, func(of [][]float64) func(int) bool {
					return func(i int) bool { return of[4][i] == s && (of[0][i] > 0.5) == high }
				})
			}
		}
		if m.Columns[0] == "a" || len(m.On) == 0 {
			for _, k := range []int{1, 3} {
				for s := range 2 {
					var u, v []float64
					for i := s; i < n; i += 2 {
						u, v = append(u, in[k][i]), append(v, out[k][i])
					}
					if r := correlation(u, v); !(math.Abs(r) <= 5*math.Sqrt(2/float64(n))) {
						t.Errorf("%v: column %d: correlation %v with the original", m.Columns, k, r)
					}
				}
			}
		}
		// The mean of c by category of b: residuals have an SD of 1.12.
		for _, v := range []float64{0, 1, 2} {
			mean := func(of [][]float64) (sum, count float64) {
				for i := range n {
					if of[1][i] == v+1 && of[4][i] == 0 {
						sum, count = sum+of[2][i], count+1
					}
				}
				return sum / count, count
			}
			want, before := mean(in)
			got, after := mean(out)
			if tolerance := 5 * 1.3 * math.Sqrt(1/before+1/after); !(math.Abs(got-want) <= tolerance) {
				t.Errorf("%v: the mean of c is %v in category %v, want %v ± %v", m.Columns, got, v+1, want, tolerance)
			}
		}
	}
}

// Replicates reuse models that were fitted already, and give the same release as with their own
// models. For other data, models are fitted again.
func TestModelsOfCategoriesAreFittedOnce(t *testing.T) {
	columns, other := codedData(400, 3), codedData(400, 4)
	m := synthesise(Synthesise{Columns: []string{"b", "d"}, Categories: []string{"b", "d"}, By: []string{"e"}})
	c := chain(t, testSetup(t, columns...), m)
	whole(t, c, 400, columns...)
	models := func() (n int) {
		for key := range gathered.OutcomesOf(c, 0).Fits.Models {
			if key.What == fitCategories {
				n++
			}
		}
		return n
	}
	if got := models(); got != 4 {
		t.Errorf("%d models of two columns in two strata", got)
	}
	again := whole(t, c.Replicate(3), 400, columns...)
	if got := models(); got != 4 {
		t.Errorf("a replicate fitted %d models again", got-4)
	}
	fresh := whole(t, chain(t, testSetup(t, columns...), m).Replicate(3), 400, columns...)
	for k := range fresh {
		if !slices.Equal(fresh[k], again[k]) {
			t.Errorf("column %d: with existing models the release differs", k)
		}
	}
	elsewhere := whole(t, c.Replicate(3), 400, other...)
	want := whole(t, chain(t, testSetup(t, columns...), m).Replicate(3), 400, other...)
	if !slices.Equal(elsewhere[1], want[1]) || !slices.Equal(elsewhere[3], want[3]) {
		t.Error("a chain on different data got the models of these data")
	}
}

// A missing category stays missing. A record with a missing predictor is drawn. Released categories
// occur in the stratum.
func TestSynthesisedCategoriesOfFewAndMissing(t *testing.T) {
	columns := codedData(600, 5)
	columns[0].Null = []int{2, 599}
	columns[1].Null = []int{0, 2, 77}
	for i := range columns[1].Values {
		columns[1].Values[i] += 10 * float64(i%2) // strata with other categories
	}
	out := whole(t,
		chain(t, testSetup(t, columns...),
			synthesise(Synthesise{Columns: []string{"b", "c"}, Categories: []string{"b", "d"}, On: []string{"d", "a"},
				By: []string{"e"}})), 100, columns...)
	for i, v := range out[1] {
		if missing := slices.Contains(columns[1].Null, i); (v != v) != missing {
			t.Fatalf("record %d: %v", i, v)
		} else if !missing && !slices.Contains([]float64{1, 2, 3}, v-10*float64(i%2)) {
			t.Errorf("record %d: category %v is of another stratum", i, v)
		}
		if out[2][i] != out[2][i] {
			t.Errorf("record %d: no c", i)
		}
	}
}

func TestSynthesisOfCategoriesIsRefused(t *testing.T) {
	for want, m := range map[string]*Synthesise{
		`categories[1]: must be one of columns or on, got "aa" (did you mean "a"?)`: {Columns: []string{"b"},
			Categories: []string{"b", "aa"}, On: []string{"a"}},
		`categories[1]: must not repeat a column, got "b" again`: {Columns: []string{"b"},
			Categories: []string{"b", "b"}},
	} {
		if ps := m.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	n := 600
	columns := codedData(n, 6)
	for i := range n {
		columns[2].Values[i] = float64(i % 60)            // many categories
		columns[3].Values[i] = 3 - 2*columns[4].Values[i] // determined by e
	}
	for want, m := range map[string]Synthesise{
		"columns[0]: must have at most 50 categories": {Columns: []string{"c"},
			Categories: []string{"c"}},
		"columns[0]: must have at most 50 categories in": {Columns: []string{"c", "b"},
			Categories: []string{"b", "c"}},
		"on[0]: must have at most 50 categories": {Columns: []string{"b"},
			Categories: []string{"b", "c"}, On: []string{"c"}},
		"columns[0]: must not be determined by on": {Columns: []string{"d"},
			Categories: []string{"d"}, On: []string{"a", "e"}},
		"columns[1]: must not be determined by on": {Columns: []string{"b", "d"},
			Categories: []string{"d", "e"}, On: []string{"e"}},
		"columns[0]: must not be determined by on, nor be one value": {Columns: []string{"d", "b"},
			Categories: []string{"d"}, By: []string{"b", "d2"}},
		"columns[0]: must have at least 11 records, in each stratum": {Columns: []string{"b"},
			Categories: []string{"b"}, By: []string{"c"}},
		"columns[0]: must have at least 12 records, in each stratum, with ": {Columns: []string{"b"},
			Categories: []string{"b"}, On: []string{"a"}, By: []string{"c"}},
	} {
		columns := slices.Clone(columns)
		if len(m.By) == 2 { // strata in which d has only one value
			m.By = []string{"e"}
			columns[4].Values = columns[3].Values
		}
		c := chain(t, testSetup(t, columns...), synthesise(m))
		if err := c.Survey(block(0, n, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err == nil || !strings.HasPrefix(err.Error(), "masks[0].synthesise."+want) {
			t.Errorf("%+v: got %v, want %s", m, err, want)
		}
	}
	text := testColumn{Values: make([]float64, 3), Type: arrow.BinaryTypes.String}
	setup := testSetup(t, text)
	if _, err := core.NewChain([]core.Spec{synthesise(Synthesise{Columns: []string{"a"}})}, setup); err == nil ||
		!strings.Contains(err.Error(), "must be numeric") {
		t.Errorf("text that is no category: %v", err)
	}
	if _, err := core.NewChain([]core.Spec{synthesise(Synthesise{Columns: []string{"b"}, On: []string{"a"}})},
		testSetup(t, text, floats(0, 1, 2, 3))); err == nil || !strings.Contains(err.Error(),
		"on[0]: column \"a\" must be numeric") {
		t.Errorf("text that is no category, in on: %v", err)
	}
	setup = testSetup(t, testColumn{Values: make([]float64, 3), Type: arrow.FixedWidthTypes.Boolean})
	if _, err := core.NewChain([]core.Spec{synthesise(Synthesise{Columns: []string{"a"}, Categories: []string{"a"}})}, setup); err ==
		nil || !strings.Contains(err.Error(), "must hold numbers or text") {
		t.Errorf("neither: %v", err)
	}
}

// A modelled column of texts has no decimals, whatever is declared for it; a column of numbers
// keeps its own.
func TestColumnsOfASynthesis(t *testing.T) {
	setup := core.Setup{Key: testKey(t, 1), Window: 1 << 20, Columns: []core.ColumnInfo{
		{Name: "a", Index: 0, Field: microdata.Field{Name: "a", Type: arrow.BinaryTypes.String}, Decimals: 2},
		{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: arrow.PrimitiveTypes.Float64}, Decimals: 2},
	}}
	c := chain(t, setup, synthesise(Synthesise{Columns: []string{"a", "b"}, Categories: []string{"a"}}))
	step := c.Steps[0].(*gathered.Step)
	for k, want := range []int{-1, 2} {
		if col, texts := step.Columns[k], step.Texts[k] != nil; col.Digits != want || texts != (want < 0) {
			t.Errorf("%s: %d decimals, want %d; texts %v", col.Name, col.Digits, want, texts)
		}
	}
}
