package account

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// remaining is the reporter of a run with a recoding by patterns, pseudonyms and rounded dates.
func remaining(t *testing.T) *Reporter {
	t.Helper()
	rest := "rest"
	masks := []transform.Spec{
		{Params: &transform.Recode{Columns: []string{"code"}, Map: map[string]string{"01*": "x", "02": "y"}, Other: &rest}},
		{Params: &transform.Pseudonym{Columns: []string{"person"}, Scope: "s"}},
		{Params: &transform.Date{Columns: []string{"born"}, Round: "month"}},
	}
	p := &config.Pipeline{Masks: masks}
	setup := transform.Setup{Key: keytest.Key(1)}
	var source fields
	for i, name := range []string{"code", "person", "born"} {
		f := microdata.Field{Name: name, Type: arrow.BinaryTypes.String}
		if name == "born" {
			f.Type = arrow.FixedWidthTypes.Date32
		}
		source = append(source, f)
		setup.Columns = append(setup.Columns, transform.ColumnInfo{Name: name, Index: i, Field: f, Days: name == "born"})
		p.Columns = append(p.Columns, config.Column{Name: name, Role: microdata.Sensitive})
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	return &Reporter{Config: p, Chain: chain, Plan: &pipeline.Plan{Config: p, Source: source}}
}

// What the masks leave is said of a release and of all that a stream has released, and not of a snapshot; it is that of
// the measures and of the effect, whatever the chain has masked.
func TestWhatRemainsIsSaid(t *testing.T) {
	m := &assess.Measures{
		Records: 9, Unaltered: []assess.Unaltered{{Column: "code"}},
		Renamed:    []assess.Renamed{{Column: "other", Identifiers: 1}, {Column: "person", Identifiers: 7, Repeated: 2}},
		Determined: []assess.Determined{{Column: "born", Records: 9, Of: 9}},
	}
	seen := Effect{Changed: []int64{9, 9, 9}, Listed: microdata.Bitmap{1 | 1<<2}} // some value, and the second category
	want := []string{"code: all of its released values are the original",
		`masks[0].recode: "01*" matches no value of column code`, "born: 9 of 9 released dates", "2 of 7 identifiers"}
	for _, c := range []struct{ interim, total, says bool }{{false, false, true}, {true, true, true},
		{true, false, false}} {
		r := remaining(t)
		r.Interim, r.Total = c.interim, c.total
		got := strings.Join(r.warnings(m, seen), "\n")
		for _, w := range want {
			if strings.Count(got, w) != map[bool]int{true: 1}[c.says] {
				t.Errorf("%+v: warnings are %s\nwant %s: %v", c, got, w, c.says)
			}
		}
		if strings.Contains(got, `"02"`) {
			t.Errorf("%+v: a category that occurs is said to be in vain: %s", c, got)
		}
	}
	r := remaining(t)
	if got := fmt.Sprint(r.warnings(&assess.Measures{Records: 9}, Effect{Changed: []int64{9, 9, 9}})); !strings.Contains(
		got, "person: pseudonymised, not anonymised") || strings.Contains(got, "identifiers name") ||
		strings.Contains(got, "matches no value") {
		t.Errorf("of nothing counted: %s", got)
	}
}

// A pattern that has matched nothing is an error with its place, in what was masked here or elsewhere; a run over a
// part of the records cannot know, and of a column without values nothing is said.
func TestPatternsInVain(t *testing.T) {
	part, whole := true, false
	for _, c := range []struct {
		listed microdata.Bitmap
		shard  *bool
		want   string
	}{
		{nil, nil, ""}, {microdata.Bitmap{1}, nil, "01*"}, {microdata.Bitmap{1}, &whole, "01*"},
		{microdata.Bitmap{1}, &part, ""},
		// a category that does not occur is a warning alone
		{microdata.Bitmap{1 | 1<<1}, nil, ""}, {microdata.Bitmap{1 | 1<<2}, nil, "01*"},
	} {
		r := remaining(t)
		r.Config.Shard = c.shard
		r.Effect = &Effect{Listed: c.listed}
		err := r.CheckPatterns()
		if (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), "masks[0].recode.map: the pattern "+`"01*" matches no value of column code`) {
			t.Errorf("%v: error %v, want %q", c.listed, err, c.want)
		}
		if said := r.Vain(); c.shard == nil && (len(said) == 1) != (c.want != "") || len(said) == 1 &&
			!strings.HasPrefix(said[0], "masks[0].recode: the pattern ") {
			t.Errorf("%v: says %q", c.listed, said)
		}
		r.Effect = nil
		r.Chain.Resume(nil, 0, c.listed)
		if again := r.CheckPatterns(); (again == nil) != (err == nil) {
			t.Errorf("%v: by the chain itself %v", c.listed, again)
		}
	}
	if r := (&Reporter{Config: &config.Pipeline{}}); r.CheckPatterns() != nil {
		t.Error("without masks there are patterns")
	}
}

// A run over a part of the records must not give those without identity the draws of its own first records, by whatever
// carrier.
func TestPartsNeedIdentities(t *testing.T) {
	part, whole := true, false
	for _, c := range []struct {
		shard *bool
		place *config.Place
		n     int64
		wrong bool
	}{{&part, nil, 0, false}, {&part, nil, 1, true}, {&whole, nil, 1, false}, {nil, nil, 1, false},
		{&part, &config.Place{}, 1, false}} {
		r := remaining(t)
		r.Config.Shard, r.Config.Place, r.Effect = c.shard, c.place, &Effect{Unidentified: c.n}
		if err := r.Check(); (err != nil) != c.wrong || err != nil &&
			!strings.Contains(err.Error(), "shard: must not be true") {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// Effects add up, and the sum changes neither.
func TestEffectsAddUp(t *testing.T) {
	a := Effect{[]int64{1}, 2, microdata.Bitmap{1}}
	b := Effect{[]int64{0, 3}, 0, microdata.Bitmap{4, 1}}
	want := Effect{[]int64{1, 3}, 2, microdata.Bitmap{5, 1}}
	if got := a.Plus(b); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(b.Plus(a), want) {
		t.Errorf("%+v and %+v, want %+v", got, b.Plus(a), want)
	}
	if a.Listed[0] != 1 || b.Listed[0] != 4 || a.Changed[0] != 1 {
		t.Error("the sum changes its parts")
	}
	for _, e := range []Effect{{Changed: []int64{0, 1}}, {Unidentified: 1}, {Listed: microdata.Bitmap{0, 1}}} {
		if e.None() || !reflect.DeepEqual(Effect{}.Plus(e).None(), false) {
			t.Errorf("%+v is none", e)
		}
	}
	if !(Effect{Changed: []int64{0}, Listed: microdata.Bitmap{0}}).None() {
		t.Error("nothing is something")
	}
}
