package account

import (
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A gate refuses each sensitive column of texts with all values equal to the original, at the first
// or last place. It does not refuse other columns, or columns that may stay unchanged, and without
// a gate the verdict does not change.
func TestUnalteredColumnsAreRefused(t *testing.T) {
	share := func(v float64) *float64 { return &v }
	columns := config.Columns{
		{Name: "place", Role: microdata.Sensitive}, {Name: "key", Role: microdata.Key}, {Name: "job", Role: microdata.Sensitive}, {Name: "plain"},
	}
	rule := []assess.Rule{{Column: "place"}}
	for what, c := range map[string]struct {
		gate      config.Gate
		unaltered []string
		refused   []string
	}{
		"none":                {config.Gate{AllowUnchanged: share(0)}, nil, nil},
		"one":                 {config.Gate{AllowUnchanged: share(0)}, []string{"place"}, []string{"place"}},
		"the last":            {config.Gate{AllowUnchanged: share(0.5)}, []string{"key", "plain", "gone", "job"}, []string{"job"}},
		"both":                {config.Gate{AllowUnchanged: share(0.999)}, []string{"job", "key", "place"}, []string{"job", "place"}},
		"by rules alone":      {config.Gate{Rules: rule}, []string{"place", "job"}, []string{"place", "job"}},
		"all may be":          {config.Gate{AllowUnchanged: share(1)}, []string{"place", "job"}, nil},
		"no gate":             {config.Gate{}, []string{"place", "job"}, nil},
		"not sensitive":       {config.Gate{Rules: rule}, []string{"key", "plain", "gone"}, nil},
		"refused by another":  {config.Gate{Rules: rule}, nil, nil},
		"refused by both too": {config.Gate{Rules: rule}, []string{"place"}, []string{"place"}},
	} {
		before := what != "refused by another" && what != "refused by both too"
		v := assess.Verdict{Passed: before}
		judgeUnaltered(&v, &config.Pipeline{Gate: c.gate, Columns: columns}, c.unaltered)
		var refused []string
		for _, r := range v.Rules {
			refused = append(refused, r.Column)
			limit := 0.0
			if c.gate.AllowUnchanged != nil {
				limit = *c.gate.AllowUnchanged
			}
			if r.Passed || r.Measure != "max_unchanged" || float64(r.Limit) != limit || r.Found != 1 || r.Advice == "" {
				t.Errorf("%s: %+v", what, r)
			}
		}
		if !slices.Equal(refused, c.refused) || v.Passed != (before && len(refused) == 0) {
			t.Errorf("%s: refused are %v, passed %v, want %v", what, refused, v.Passed, c.refused)
		}
	}
}
