package explore

import (
	"reflect"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// limiting returns a rule that limits one measure about respondents and no other.
func limiting(t *testing.T, m *assess.RespondentMeasure) assess.Rule {
	t.Helper()
	for i := range reflect.TypeFor[assess.Rule]().NumField() {
		var r assess.Rule
		field := reflect.ValueOf(&r).Elem().Field(i)
		if field.Kind() != reflect.Pointer {
			continue
		}
		field.Set(reflect.New(field.Type().Elem()))
		if _, limited := m.Limit(r); limited {
			return r
		}
	}
	t.Fatalf("no rule limits %s", m.Name)
	return assess.Rule{}
}

// Every limited measure about respondents is computed for the map's points: the first, the last,
// and all together. Other measures are omitted.
func TestMeasuresOfRespondentsAreOnTheMap(t *testing.T) {
	var id assess.Identity
	var all []assess.Rule
	want := map[string]assess.Float{}
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		*m.ValueIn(&id) = assess.Float(i) + 0.25
		want[m.Name] = assess.Float(i) + 0.25
		all = append(all, limiting(t, m))
	}
	taken := func(rules ...assess.Rule) map[string]assess.Float {
		p := &config.Pipeline{Gate: config.Gate{Rules: rules}}
		g := &grid{whole: p, config: p, plan: &pipeline.Plan{Intruder: pipeline.IntruderColumns{Released: []int{1}}}}
		var point rumap.Point
		g.takeIdentity(&point, &id)
		return point.Respondents
	}
	for i := range assess.RespondentMeasures {
		name := assess.RespondentMeasures[i].Name
		if got := taken(all[i]); len(got) != 1 || got[name] != want[name] {
			t.Errorf("rule on %s alone: taken are %v, want %v", name, got, want[name])
		}
	}
	if got := taken(all...); !reflect.DeepEqual(got, want) {
		t.Errorf("rules on all measures: taken are %v, want %v", got, want)
	}
	if got := taken(); len(got) != 0 {
		t.Errorf("no rule: taken are %v, want none", got)
	}
}
