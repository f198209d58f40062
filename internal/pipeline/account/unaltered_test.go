package account

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
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
		"none":                    {config.Gate{AllowUnchanged: share(0)}, nil, nil},
		"one":                     {config.Gate{AllowUnchanged: share(0)}, []string{"place"}, []string{"place"}},
		"the last":                {config.Gate{AllowUnchanged: share(0.5)}, []string{"key", "plain", "gone", "job"}, []string{"job"}},
		"both":                    {config.Gate{AllowUnchanged: share(0.999)}, []string{"job", "key", "place"}, []string{"job", "place"}},
		"judged because of rules": {config.Gate{Rules: rule}, []string{"place", "job"}, []string{"place", "job"}},
		"all may be":              {config.Gate{AllowUnchanged: share(1)}, []string{"place", "job"}, nil},
		"no gate":                 {config.Gate{}, []string{"place", "job"}, nil},
		"not sensitive":           {config.Gate{Rules: rule}, []string{"key", "plain", "gone"}, nil},
		"refused by another":      {config.Gate{Rules: rule}, nil, nil},
		"refused by both too":     {config.Gate{Rules: rule}, []string{"place"}, []string{"place"}},
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
				t.Errorf("%s: the verdict has the rule %+v, want a failed max_unchanged with advice", what, r)
			}
		}
		if !slices.Equal(refused, c.refused) || v.Passed != (before && len(refused) == 0) {
			t.Errorf("%s: the refused columns are %v (gate passed: %v), want %v", what, refused, v.Passed, c.refused)
		}
	}
}

// Masked columns of texts of which every value has left as it was are warned of by name; those that
// suppression spares are not, nor is anything of a release that is not whole.
func TestUnalteredColumnsAreWarnedOf(t *testing.T) {
	k := 2
	masks := []transform.Spec{
		{Params: &transform.Recode{Columns: []string{"job"}, Map: map[string]string{"a": "a", "b": "b"}}},
		{Params: &transform.Recode{Columns: []string{"place"}, Map: map[string]string{"a": "a", "b": "a"}}},
		{Params: &transform.Suppress{Keys: []string{"kind"}, K: &k}},
	}
	setup := transform.Setup{Key: keytest.Key(1)}
	b := new(microdata.Block)
	b.Reset(0, 0, 4, 3)
	for i, name := range []string{"job", "place", "kind"} {
		setup.Columns = append(setup.Columns, transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.BinaryTypes.String}})
		texts := array.NewStringBuilder(memory.DefaultAllocator)
		texts.AppendValues([]string{"a", "b", "a", "b"}, nil)
		b.Columns[i].Array = texts.NewArray()
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{func() error { return chain.Survey(b) }, chain.EndSurvey, func() error { return chain.Apply(b) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	p := &config.Pipeline{Masks: masks}
	r := &Reporter{Config: p, Chain: chain, Plan: &pipeline.Plan{Config: p}}
	if got := r.unaltered(); !slices.Equal(got, []string{"job"}) {
		t.Errorf("the unaltered columns are %q, want job alone", got)
	}
	warned := func() (n int) {
		for _, w := range r.warnings(&assess.Measures{Records: 4}, r.effect()) {
			if w == "job: all of its released values are the original: its masks have left each as it is" {
				n++
			} else if strings.Contains(w, "all of its released values") {
				t.Errorf("unexpected warning: %s", w)
			}
		}
		return n
	}
	if n := warned(); n != 1 {
		t.Errorf("the warning appears %d times, want 1", n)
	}
	if r.Interim = true; warned() != 0 || r.unaltered() != nil {
		t.Error("a snapshot warns of unaltered columns, want no warning")
	}
}
