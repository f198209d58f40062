package explore

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// A column is limited by rules about its own R, error or efficiency, and not by rules about another
// column, about respondents or about unchanged values.
func TestWhichColumnsAreLimited(t *testing.T) {
	one := 1.0
	efficiency := func(column string) assess.Rule { return assess.Rule{Column: column, MinEfficiency: &one} }
	stays := assess.Rule{Column: "a", MaxUnchanged: &one}
	respondents := assess.Rule{MaxIndividualRisk: &one}
	for name, c := range map[string]struct {
		rules           []assess.Rule
		limited, others bool // a; all except b
	}{
		"none":           {},
		"another column": {[]assess.Rule{efficiency("b"), efficiency("c")}, false, false},
		"respondents":    {[]assess.Rule{respondents}, false, false},
		"values":         {[]assess.Rule{stays}, false, false},
		"its own, last":  {[]assess.Rule{respondents, stays, efficiency("b"), efficiency("a")}, true, true},
		"not masked":     {[]assess.Rule{efficiency("c")}, false, false},
	} {
		g := &grid{column: "b", config: &config.Pipeline{Gate: config.Gate{Rules: c.rules}},
			plan: &pipeline.Plan{Assessed: []assess.Column{columnOf("b", true), columnOf("a", true), columnOf("c", false)}}}
		if got := g.limited("a"); got != c.limited {
			t.Errorf("%s: limited(a) = %v", name, got)
		}
		if got := g.limitsOthers(); got != c.others {
			t.Errorf("%s: limitsOthers = %v", name, got)
		}
	}
}

// A map of categories needs categorical keys for which the sample contains the released values.
func TestTheColumnsOfAMapOfCategories(t *testing.T) {
	at := pipeline.IntruderColumns{Counted: []string{"a", "b", "c"}, Released: []int{5, 7, 9},
		Index: map[string]int{"a": 5, "b": 6, "c": 7, "n": 9}}
	for columns, want := range map[string]string{
		"a": "", "a c": "", "c a": "",
		"b": `element 0, "b", is not one`, "a b": `element 1, "b", is not one`, // counted, but not masked
		"n": `element 0, "n", is not one`, "c n": `element 1, "n", is not one`, // masked, but not counted
	} {
		g := &grid{config: &config.Pipeline{Map: &config.Map{Categories: strings.Fields(columns)}},
			plan: &pipeline.Plan{Intruder: at}}
		err := g.chooseCategories()
		var wrong config.Errors
		if want == "" && (err != nil || g.column != strings.ReplaceAll(columns, " ", ", ")) || want != "" &&
			(!errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || g.column != "") {
			t.Errorf("%s: chosen is %q, error %v, want %s", columns, g.column, err, want)
		}
	}
}

// A group is named by its text, or by its number if it has no text.
func TestNamesOfGroups(t *testing.T) {
	g := &grid{whole: &config.Pipeline{}, column: "x", strategies: []config.MapStrategy{{Name: "s"}},
		labels: []map[float64]string{{3: "three"}, {}}}
	found := explored{columns: []assess.Explored{
		{Column: "beside"},
		{Column: "x",
			Groups: []assess.ExploredGroup{{Codes: []float64{3, 0.1}, Records: 4}, {Codes: []float64{4, 1e21}, Records: 5}}},
	}}
	p, err := g.point(t.Context(), place{}, found, 1)
	if err != nil || len(p.Groups) != 2 || len(p.Beside) != 1 || p.Beside["beside"] == nil {
		t.Fatalf("the point is %+v (error %v), want 2 groups and one column beside", p, err)
	}
	for i, want := range []string{"three 0.1", "4 1e+21"} {
		if got := strings.Join(p.Groups[i].Values, " "); got != want || p.Groups[i].Records != 4+i {
			t.Errorf("group %d is %s with %d records, want %s", i, got, p.Groups[i].Records, want)
		}
	}
}

// A map says that it used a sample if there are more records than in the sample, and only then.
func TestMapsOfWholeSamples(t *testing.T) {
	for sample, want := range map[string]int{"1998": 1998, "1999": 0, "5000": 0} {
		p := mapped(t, t.TempDir(), "assess: {replicates: 2, targets: [p50], sample: "+sample+"}",
			"masks: [{noise: {columns: [income], sd: 22%}}]",
			"map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}", "gate: {}")
		if m := mapOf(t, p); m.Sampled != want || m.Records != 1999 {
			t.Errorf("sample %s: the map says %d of %d records", sample, m.Sampled, m.Records)
		}
	}
}

// A second try uses other draws than the map: the mean of both halves is that of all draws
// together.
func TestTriedAgainOnOtherDraws(t *testing.T) {
	p, err := coded(t, t.TempDir(), "[{pram: {columns: [job], categories: [j0, j1, j2, j3, j4], keep: 0.8}}]",
		"{max_individual_risk: 1}",
		"{categories: [job], vary: {masks.0.pram.keep: {from: 0.5, to: 0.9, steps: 2}}}")
	if err != nil {
		t.Fatal(err)
	}
	g, _ := readGrid(t, p)
	const n = 3
	points := func(replicates int) []rumap.Point {
		t.Helper()
		m := &rumap.Map{Replicates: replicates}
		g.places = nil
		if err := g.try(t.Context(), m, g.points()); err != nil {
			t.Fatal(err)
		}
		return m.Points
	}
	first, all := points(n), points(2*n)
	for i := range all {
		again, err := g.again(t.Context(), i, n)
		if err != nil {
			t.Fatal(err)
		}
		// Sums of six numbers of size about one, in another order.
		if mean := float64(first[i].U+again.U) / 2; !(math.Abs(mean-float64(all[i].U)) <= 1e-12) || again.U == first[i].U {
			t.Errorf("point %d: U %v, on other replicates %v, on all replicates %v (want the mean of the two)", i, first[i].U,
				again.U, all[i].U)
		}
		if again.Parameters["masks.0.pram.keep"] != first[i].Parameters["masks.0.pram.keep"] {
			t.Errorf("point %d is tried again with other parameters: %v", i, again.Parameters)
		}
	}
}
