package transform

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The law explains the values that a mask of all records leaves unchanged, but not those of a
// column that it ignores next to others, nor those of a column with some exchanged neighbours.
func TestKeepingOfColumnsThatStay(t *testing.T) {
	n := 2000
	r := rand.New(rand.NewPCG(5, 5))
	columns := []testColumn{floats(2, incomes(n, 3)...), floats(2, make([]float64, n)...),
		floats(2, make([]float64, n)...), floats(4, make([]float64, n)...), floats(0, make([]float64, n)...),
		floats(2, make([]float64, n)...)}
	for i, x := range columns[0].Values {
		columns[1].Values[i] = math.Round(100*(50+9*r.NormFloat64())) / 100
		columns[2].Values[i] = 2*x + 1                                                      // c: determined by a
		columns[3].Values[i] = math.Round(1e4*x*(1+1e-7*r.NormFloat64())) / 1e4             // d: almost determined by a
		columns[4].Values[i] = float64(r.IntN(2))                                           // e: two values
		columns[5].Values[i] = math.Round(100*(columns[1].Values[i]+r.NormFloat64())) / 100 // f: follows b
	}
	for name, tt := range map[string]struct {
		masks   []Spec
		column  string
		explain bool
	}{
		"goes by itself":        {[]Spec{shuffledOn("a", "c")}, "a", false},
		"beside one that moves": {[]Spec{shuffledOn("ab", "c")}, "a", false},
		"before one that moves": {[]Spec{shuffledOn("ba", "c")}, "a", false},
		"the one that moves":    {[]Spec{shuffledOn("ab", "c")}, "b", true},
		"nearly by itself":      {[]Spec{shuffledOn("ab", "d")}, "a", false},
		"by a predictor":        {[]Spec{shuffledOn("b", "f")}, "b", true},
		"few values":            {[]Spec{shuffledOn("e", "f")}, "e", true},
		"then bounded": {
			[]Spec{shuffledOn("ab", "c"), mask(&Truncate{Columns: []string{"a"}, Upper: ptr(columns[0].Values[0])})}, "a", false},
		"bounded before": {
			[]Spec{mask(&Truncate{Columns: []string{"b"}, Upper: ptr(50.0)}), mask(micro(2, "a", "b"))}, "b", true},
		"groups of equal values": {
			[]Spec{mask(&Microaggregate{Columns: []string{"e", "a"}, K: ptr(5), Method: "univariate"})}, "e", true},
		"median": {[]Spec{mask(&Microaggregate{Columns: []string{"a"}, K: ptr(3), Aggregate: "median"})}, "a",
			true},
		"ranks": {[]Spec{mask(ranked(0.01, "a"))}, "a", true},
	} {
		c := chain(t, testSetup(t, columns...), tt.masks...)
		whole(t, c, 500, columns...)
		law := c.Keeping(tt.column, 500, true)
		if got := law.Share(0) > 0; got != tt.explain {
			t.Errorf("%s: the law explains what stays: %v, want %v", name, got, tt.explain)
		}
	}
	// Bounds that reach some values of one column and none of another: the assessment sees which
	// column changes. Of suppressed keys one may stay.
	for kind, m := range map[string]Spec{
		"truncate": mask(&Truncate{Columns: []string{"a", "b"}, Upper: ptr(1e9)}),
		"suppress": mask(&Suppress{Keys: []string{"e", "b"}, K: ptr(3)}),
	} {
		c := chain(t, testSetup(t, columns...), m)
		c.TouchedBy[0].Store(1)
		if got := c.Keeping("b", 50, true).Changes; got != (kind == "truncate") {
			t.Errorf("%s: must change every column: %v", kind, got)
		}
		if c.Keeping("b", 50, false).Changes {
			t.Errorf("%s: Changes must be false before all records have been masked", kind)
		}
	}
}

func shuffledOn(columns string, on ...string) Spec {
	return mask(&Shuffle{Columns: strings.Split(columns, ""), On: on})
}
