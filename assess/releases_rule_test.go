package assess

import (
	"strings"
	"testing"
)

// A rule on what a snooper learns that is computed of each release by itself does not hold once others were released,
// but says releases: alone, or what was released is this release once more. A rule that does not hold anyway keeps its
// advice, and rules on utility are left as they are.
func TestRulesOfOneRelease(t *testing.T) {
	half, two, most, all := 0.5, 2, 0.9, 1.0
	identity := Unmeasured()
	identity.Linked, identity.Posterior, identity.PMSE, identity.MinK = 0.1, 0.6, 0.1, 5
	column := ColumnMeasures{Name: "wage", Masked: true, Risk: []Risk{
		{Target: TargetTypical, Knowledge: KnowledgeMean, R: 0.1, RMSE: 3}, {Target: TargetTypical, Knowledge: KnowledgeIndex, R: 0.1, RMSE: 3},
		{Target: TargetTypical, Knowledge: KnowledgeRecord, R: 0.1, RMSE: 3}, {Target: TargetTypical, Knowledge: KnowledgeAllReleases, R: 0.2, RMSE: 2},
	}}
	for name, c := range map[string]struct {
		rule Rule
		of   bool // whether it is of one release
	}{
		"linked": {Rule{MaxLinked: &half}, true}, "posterior": {Rule{MaxPosterior: &most}, true}, "mean": {Rule{Column: "wage", Knowledge: KnowledgeMean, MaxRisk: &half}, true},
		"pMSE": {Rule{MaxPMSE: &half}, false}, "index": {Rule{Column: "wage", Knowledge: KnowledgeIndex, MaxRisk: &half}, false},
		"all":                  {Rule{Column: "wage", Knowledge: KnowledgeAllReleases, MaxRisk: &half}, false},
		"the column by itself": {Rule{Column: "wage", Knowledge: KnowledgeIndex, Record: RecordAlone, MaxRisk: &half}, true},
	} {
		for others, refused := range map[int]bool{0: false, 1: c.of, 7: c.of} {
			m := &Measures{Identity: identity, Columns: []ColumnMeasures{column}, Earlier: &Earlier{Releases: 7, Others: others}}
			v := Judge([]Rule{c.rule}, m)
			if one := v.Rules[0]; one.Passed == refused || refused && (v.Passed || !strings.Contains(one.Advice, "releases: alone")) {
				t.Errorf("%s, %d others: %+v", name, others, one)
			}
			alone := c.rule
			if alone.Releases = ReleasesAlone; alone.Knowledge != KnowledgeAllReleases {
				if one := Judge([]Rule{alone}, m).Rules[0]; !one.Passed || one.Releases != ReleasesAlone {
					t.Errorf("%s alone, %d others: %+v", name, others, one)
				}
			}
		}
		if one := Judge([]Rule{c.rule}, &Measures{Identity: identity, Columns: []ColumnMeasures{column}}).Rules[0]; !one.Passed {
			t.Errorf("%s without a ledger: %+v", name, one)
		}
	}
	least := 0.05
	if one := Judge([]Rule{{MaxLinked: &least}}, &Measures{Identity: identity, Earlier: &Earlier{Others: 1}}).Rules[0]; one.Passed || strings.Contains(one.Advice, "releases") {
		t.Errorf("a rule that does not hold: %+v", one)
	}
	for name, rule := range map[string]Rule{
		"unchanged": {MaxUnchanged: &half}, "exact": {MaxExact: &ExactLimit{}}, "Bayes": {MaxCorrectLinks: &half}, "matches": {MaxExpectedPopulation: &half},
		"uniques": {MaxExpectedUniques: &half}, "replicated": {MaxReplicatedUniques: &half}, "attribute": {MaxAttributeDisclosure: &half},
		"spatial k": {MinSpatialK: &two}, "place": {MinPlaceRMSE: &half}, "position": {Knowledge: KnowledgePosition, MaxRisk: &half}, "order": {Knowledge: KnowledgeOrder, MinRMSE: &half},
	} {
		if !rule.OfOneRelease() {
			t.Errorf("%s is computed of one release, and is taken to be of all", name)
		}
	}
	for name, rule := range map[string]Rule{"k": {MinK: &two}, "ε": {MaxEpsilon: &half}, "efficiency": {MinEfficiency: &half}, "changed": {MaxChanged: &half}, "all": {MaxUnchanged: &all}} {
		if rule.OfOneRelease() {
			t.Errorf("%s is taken to be of one release", name)
		}
	}
}
