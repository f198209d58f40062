package account

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
)

// TestRemark: each rule that this release misses by a factor is said at its column, once.
func TestRemark(t *testing.T) {
	limit := 100.0
	p := &config.Pipeline{}
	p.Gate.Rules = []assess.Rule{{Column: "debt", MinRMSE: &limit}, {Column: "wage", MinRMSE: &limit}, {Column: "wage", Target: "max", MinRMSE: &limit}}
	m := &assess.Measures{Columns: []assess.ColumnMeasures{
		{Name: "debt", Risk: []assess.Risk{{Target: "max", Knowledge: "index", RealisedR: 1e-4}}},
		{Name: "wage", Risk: []assess.Risk{{Target: "max", Knowledge: "index", RealisedR: 1}}},
	}}
	r := &Reporter{Config: p}
	r.remark(m)
	if got := m.Columns[0].Remark; got != "" {
		t.Errorf("debt: %q", got)
	}
	if got := m.Columns[1].Remark; strings.Count(got, "max (index)") != 1 {
		t.Errorf("wage: %q", got)
	}
}
