package assess

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// A rule on what a snooper learns that is computed of each release by itself does not hold once others were released,
// but says releases: alone, or what was released is this release once more. A rule that does not hold anyway keeps its
// advice, and rules on utility are left as they are.
func TestRulesOfOneRelease(t *testing.T) {
	half, two, all := 0.5, 2, 1.0
	identity := Unmeasured()
	identity.ReplicatedUniques, identity.PMSE, identity.MinK = 0.1, 0.1, 5
	column := ColumnMeasures{Name: "wage", Masked: true, Risk: []Risk{
		{Target: TargetTypical, Knowledge: KnowledgePosition, R: 0.1, RMSE: 3},
		{Target: TargetTypical, Knowledge: KnowledgeIndex, R: 0.1, RMSE: 3},
		{Target: TargetTypical, Knowledge: KnowledgeRecord, R: 0.1, RMSE: 3},
		{Target: TargetTypical, Knowledge: KnowledgeAllReleases, R: 0.2, RMSE: 2},
	}}
	for name, c := range map[string]struct {
		rule Rule
		of   bool // whether it is of one release
	}{
		"replicated":           {Rule{MaxReplicatedUniques: &half}, true},
		"position":             {Rule{Column: "wage", Knowledge: KnowledgePosition, MaxRisk: &half}, true},
		"pMSE":                 {Rule{MaxPMSE: &half}, false},
		"index":                {Rule{Column: "wage", Knowledge: KnowledgeIndex, MaxRisk: &half}, false},
		"all":                  {Rule{Column: "wage", Knowledge: KnowledgeAllReleases, MaxRisk: &half}, false},
		"the column by itself": {Rule{Column: "wage", Knowledge: KnowledgeIndex, Record: RecordAlone, MaxRisk: &half}, true},
	} {
		for others, refused := range map[int]bool{0: false, 1: c.of, 7: c.of} {
			m := &Measures{Identity: identity, Columns: []ColumnMeasures{column}, Earlier: &Earlier{Releases: 7, Others: others}}
			v := Judge([]Rule{c.rule}, m)
			if one := v.Rules[0]; one.Passed == refused || refused &&
				(v.Passed || !strings.Contains(one.Advice, "releases: alone")) {
				t.Errorf("%s, %d others: %+v", name, others, one)
			}
			alone := c.rule
			if alone.Releases = ReleasesAlone; alone.Knowledge != KnowledgeAllReleases {
				if one := Judge([]Rule{alone}, m).Rules[0]; !one.Passed || one.Releases != ReleasesAlone {
					t.Errorf("%s alone, %d others: %+v", name, others, one)
				}
			}
		}
		if one := Judge([]Rule{c.rule}, &Measures{Identity: identity, Columns: []ColumnMeasures{column}}).Rules[0]; !one.
			Passed {
			t.Errorf("%s without a ledger: %+v", name, one)
		}
	}
	least := 0.05
	if one := Judge([]Rule{{MaxReplicatedUniques: &least}}, &Measures{Identity: identity, Earlier: &Earlier{Others: 1}}).
		Rules[0]; one.Passed || strings.Contains(one.Advice, "releases") {
		t.Errorf("a rule that does not hold: %+v", one)
	}
	for name, rule := range map[string]Rule{
		"matches": {MaxExpectedPopulation: &half},
		"uniques": {MaxExpectedUniques: &half}, "replicated": {MaxReplicatedUniques: &half},
		"attribute": {MaxAttributeDisclosure: &half},
		"spatial k": {MinSpatialK: &two}, "place": {MinPlaceRMSE: &half},
		"position": {Knowledge: KnowledgePosition, MaxRisk: &half},
	} {
		if !rule.OfOneRelease() {
			t.Errorf("%s is computed of one release, and is taken to be of all", name)
		}
	}
	for name, rule := range map[string]Rule{"k": {MinK: &two}, "ε": {MaxEpsilon: &half},
		"efficiency": {MinEfficiency: &half}, "changed": {MaxChanged: &half}, "all": {MaxUnchanged: &all},
		"unchanged": {MaxUnchanged: &half}, "Bayes": {MaxCorrectLinks: &half}, "mean": {Knowledge: KnowledgeMean, MaxRisk: &half},
		"order": {Knowledge: KnowledgeOrder, MinRMSE: &half}, "linked": {MaxLinked: &half}, "exact": {MaxExact: &ExactLimit{}}, "posterior": {MaxPosterior: &half}} {
		if rule.OfOneRelease() {
			t.Errorf("%s is taken to be of one release", name)
		}
	}
}

// A rule on links or on values that are stated exactly is judged by this release, and then by all of them: at its
// bound, on either side of it, and where it is not known, whatever other distances and columns have. With releases:
// alone it is not.
func TestRulesOfTheUnion(t *testing.T) {
	limit, whole, two := 0.5, 1.0, 2
	measures := func(alone, all float64, not string) *Measures {
		m := &Measures{Identity: Unmeasured(), Linked: Unmeasured(), Earlier: &Earlier{Releases: 1, Others: 1}}
		m.Columns = []ColumnMeasures{{Name: "other"}, {Name: "wage", Masked: true, Original: Moments{N: 10}}}
		m.Identity.Linked, m.Linked.Linked, m.Linked.Unlinked = Float(alone), Float(all), not
		m.Identity.Posterior, m.Linked.Posterior, m.Linked.Untold = Float(alone), Float(all), not
		m.Identity.Exact = []ExactShare{{Column: "wage", Within: 2, Found: 1}, {Column: "wage", Within: 5, Found: alone}}
		m.Linked.Exact = []ExactShare{{Column: "other", Within: 5}, {Column: "wage", Within: 2},
			{Column: "wage", Within: 5, Found: all, Not: not}}
		return m
	}
	none := Unmeasured().Linked
	for name, c := range map[string]struct {
		m      *Measures
		passed bool
		advice string
	}{
		"below":       {measures(0.4, 0.45, ""), true, ""},
		"at":          {measures(0.5, 0.5, ""), true, ""},
		"above":       {measures(0.4, 0.501, ""), false, ""},
		"alone above": {measures(0.501, 0.4, ""), false, ""},
		"not known": {measures(0.4, float64(none), "the law is lost"), false,
			"not known: the law is lost; say releases: alone"},
		"lost": {
			&Measures{Identity: measures(0.4, 0, "").Identity, Columns: measures(0, 0, "").Columns,
				Earlier: &Earlier{Others: 1}}, false, "not measured"},
		"no ledger": {&Measures{Identity: measures(0.4, 0, "").Identity, Columns: measures(0, 0, "").Columns}, true, ""},
	} {
		for kind, rule := range map[string]Rule{"linked": {MaxLinked: &limit}, "posterior": {MaxPosterior: &limit},
			"exact": {Column: "wage", MaxExact: &ExactLimit{Share: limit, Within: 5}}} {
			one := Judge([]Rule{rule}, c.m).Rules[0]
			if one.Passed != c.passed || !strings.Contains(one.Advice, c.advice) {
				t.Errorf("%s, %s: %+v", kind, name, one)
			}
			if together := c.m.Earlier != nil && name != "alone above"; strings.Contains(one.Rule, "all releases") != together {
				t.Errorf("%s, %s: is said to be %q", kind, name, one.Rule)
			}
			rule.Releases = ReleasesAlone
			if one := Judge([]Rule{rule}, c.m).Rules[0]; one.Passed == (name == "alone above") {
				t.Errorf("%s, %s, alone: %+v", kind, name, one)
			}
			if problems := rule.Check(); len(problems) > 0 {
				t.Errorf("%s: releases: alone is refused: %v", kind, problems)
			}
		}
	}
	for name, rule := range map[string]Rule{"all linked": {MaxLinked: &whole}, "all told": {MaxPosterior: &whole},
		"k alone": {MinK: &two, Releases: ReleasesAlone}, "efficiency": {MinEfficiency: &limit}} {
		if rule.OfUnion() {
			t.Errorf("%s is judged by all releases", name)
		}
	}
	if (Rule{MaxLinked: &whole}).LimitsLinks() || (Rule{MaxPosterior: &whole}).LimitsPosterior() ||
		!(Rule{MinK: &two}).OfUnion() {
		t.Error("a share of all is taken to be limited, or k not to be of the union")
	}
}

// A rule on unchanged values, or on those who know the mean or the order, is judged by this release, and then by all of
// them: at its bound, above it, and where it is not known. With releases: alone, or where the others are this release once
// more, it is not.
func TestRulesOfColumnsTogether(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		unchanged, risk float64
		passed          bool
	}{{0.5, 0.5, true}, {0.501, 0.501, false}, {nan, nan, false}} {
		for name, rule := range map[string]Rule{
			"unchanged": {Column: "wage", MaxUnchanged: ptr(0.5)},
			"mean":      {Column: "wage", Knowledge: KnowledgeMean, MaxRisk: ptr(0.5)},
			"mean, ±":   {Column: "wage", Knowledge: KnowledgeMean, Target: TargetTypical, MinRMSE: ptr(math.Sqrt(2) - 1e-9)},
			"order":     {Column: "wage", Knowledge: KnowledgeOrder, MaxRisk: ptr(0.5)},
		} {
			count := int64(1)
			column := ColumnMeasures{Name: "wage", Masked: true, Original: Moments{N: 10, SD: 10}, Released: Moments{N: 10},
				Unchanged: &count, Order: &Order{},
				Risk: []Risk{{Target: TargetTypical, Knowledge: KnowledgeMean, R: 0.01, RMSE: 10}},
				Together: &Together{Unchanged: Float(c.unchanged), Order: Float(c.risk), OrderNot: "it told",
					Mean: []Risk{{Target: "p50", R: 0.001}, {Target: TargetTypical, R: Float(c.risk)}, {Target: "p90", R: 0.1}}}}
			m := &Measures{Columns: []ColumnMeasures{column}, Earlier: &Earlier{Releases: 1, Others: 1}}
			one := Judge([]Rule{rule}, m).Rules[0]
			if one.Passed != c.passed || !strings.Contains(one.Rule, "by all releases in the ledger") ||
				!c.passed && one.Advice == "" {
				t.Errorf("%s, %v: %+v", name, c.risk, one)
			}
			m.Earlier.Others = 0
			if one := Judge([]Rule{rule}, m).Rules[0]; !one.Passed || strings.Contains(one.Rule, "all releases") {
				t.Errorf("%s, %v, repeated: %+v", name, c.risk, one)
			}
			m.Earlier.Others, m.Columns[0].Together, m.Earlier.Not = 1, nil, "the unit is another"
			if one := Judge([]Rule{rule}, m).Rules[0]; one.Passed || !strings.Contains(one.Advice, "the unit is another") {
				t.Errorf("%s, not known: %+v", name, one)
			}
			rule.Releases = ReleasesAlone
			if one := Judge([]Rule{rule}, m).Rules[0]; !one.Passed {
				t.Errorf("%s, alone: %+v", name, one)
			}
		}
	}
}

// The share of originals that some release has: of a part of the records and of all, with none and with all of them.
func TestUnchangedInReleases(t *testing.T) {
	nan := math.NaN()
	x := []float64{1, 2, 3, 4, nan}
	a, b := []float64{1, 0, 0, nan, 5}, []float64{0, 2, 0, nan, 5}
	for _, c := range []struct {
		shown [][]float64
		want  float64
	}{
		{nil, 0}, {[][]float64{{0, 0, 0, 0, 0}}, 0}, {[][]float64{x}, 1},
		{[][]float64{a}, 1. / 3}, {[][]float64{a, b}, 2. / 3},
	} {
		n := 3.0
		want := min(1, c.want+2*math.Sqrt(c.want*(1-c.want)/n))
		if got := unchangedIn(x, c.shown, true); !(math.Abs(got-want) < 1e-12) {
			t.Errorf("%v: %v, want %v", c.shown, got, want)
		}
		// Of a part, the end of Wilson's interval is above the share.
		if got := unchangedIn(x, c.shown, false); c.shown == nil && got == got || c.shown != nil && !(got > c.want || got == 1) {
			t.Errorf("of a part, %v: %v", c.shown, got)
		}
	}
	if got := unchangedIn(make([]float64, 96), [][]float64{slices.Repeat([]float64{1}, 96)}, false); math.Abs(got-0.04) > 1e-12 {
		t.Errorf("none of 96: %v, want 4/100", got)
	}
}
