package account

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// TestRemark: each rule that this release misses by a factor is mentioned once, at its column.
func TestRemark(t *testing.T) {
	limit := 100.0
	p := &config.Pipeline{}
	p.Gate.Rules = []assess.Rule{{Column: "debt", MinRMSE: &limit}, {Column: "wage", MinRMSE: &limit},
		{Column: "wage", Target: "max", MinRMSE: &limit}}
	m := &assess.Measures{Columns: []assess.ColumnMeasures{
		{Name: "debt", Risk: []assess.Risk{{Target: "max", Knowledge: "index", RealisedR: 1e-4}}},
		{Name: "wage", Risk: []assess.Risk{{Target: "max", Knowledge: "index", RealisedR: 1}}},
	}}
	r := &Reporter{Config: p}
	r.remark(m)
	if got := m.Columns[0].Remark; got != "" {
		t.Errorf("the remark of debt is %q, want none", got)
	}
	if got := m.Columns[1].Remark; strings.Count(got, "max (index)") != 1 {
		t.Errorf("the remark of wage is %q, want \"max (index)\" in it once", got)
	}
}

// TestClipRemark compares the stated probability with that of normal noise, for bounds on either
// side, and only if the bound is the last mask.
func TestClipRemark(t *testing.T) {
	const sd, low, high = 10.0, 100.0, 900.0
	normal := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	bound := func(v float64) *float64 { return &v }
	noise := transform.Spec{Params: &transform.Noise{Columns: []string{"x"}, SD: &transform.Amount{Value: sd}}}
	for name, c := range map[string]struct {
		lower, upper *float64
		mode         string
		after        []transform.Spec
		want         []string
	}{
		"far":        {bound(0), bound(1000), "clip", nil, nil},
		"at the max": {nil, bound(high), "clip", nil, []string{"probability 0.5 the greatest"}},
		"near the max": {nil, bound(high + 5), "clip", nil,
			[]string{fmt.Sprintf("probability %.2g the greatest", 1-normal(0.5))}},
		"below the max": {nil, bound(high - 5), "clip", nil,
			[]string{fmt.Sprintf("probability %.2g the greatest", normal(0.5))}},
		"far below": {nil, bound(high - 50), "clip", nil, nil},
		"near the min": {bound(low - 5), bound(2000), "clip", nil,
			[]string{fmt.Sprintf("probability %.2g the least", normal(-0.5))}},
		"both":         {bound(low), bound(high), "clip", nil, []string{"the least", "the greatest"}},
		"redraw":       {bound(low), bound(high), "redraw", nil, nil},
		"not the last": {bound(low), bound(high), "clip", []transform.Spec{noise}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			masks := append(
				[]transform.Spec{
					noise, {Params: &transform.Truncate{Columns: []string{"x"}, Lower: c.lower, Upper: c.upper, Mode: c.mode}}},
				c.after...)
			chain, err := transform.NewChain(masks, transform.Setup{Key: keytest.Key(1), Columns: []transform.ColumnInfo{{
				Name: "x", Field: microdata.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, Decimals: -1, SD: 100, Mean: 500,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			p := &config.Pipeline{}
			p.Masks = masks
			m := &assess.Measures{Columns: []assess.ColumnMeasures{{
				Name: "x", Masked: true, Original: assess.Moments{N: 9, Min: low, Max: high},
				Risk: []assess.Risk{{Target: "min", Knowledge: assess.KnowledgeIndex, RMSE: sd},
					{Target: "max", Knowledge: assess.KnowledgeIndex, RMSE: sd}},
			}}}
			(&Reporter{Config: p, Chain: chain}).remark(m)
			got := m.Columns[0].Remark
			// The total of a stream has the same remark, a snapshot has none.
			m.Columns[0].Remark = ""
			if (&Reporter{Config: p, Chain: chain, Interim: true}).remark(m); m.Columns[0].Remark != "" {
				t.Errorf("the remark of a snapshot is %q, want none", m.Columns[0].Remark)
			}
			if (&Reporter{Config: p, Chain: chain, Interim: true, Total: true}).remark(m); m.Columns[0].Remark != got {
				t.Errorf("the remark of a stream's total is %q, want %q", m.Columns[0].Remark, got)
			}
			// If an extreme is already known better than by the bound, the remark is omitted for
			// that extreme only.
			m.Columns[0].Remark, m.Columns[0].Risk[0].RMSE = "", 0
			(&Reporter{Config: p, Chain: chain}).remark(m)
			if without := m.Columns[0].Remark; strings.Contains(without, "least") ||
				strings.Contains(without, "greatest") != strings.Contains(got, "greatest") {
				t.Errorf("the remark is %q, want none about the least value", without)
			}
			if len(c.want) == 0 && got != "" {
				t.Errorf("the remark is %q, want none", got)
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("the remark is %q, want %q in it", got, w)
				}
			}
		})
	}
}
