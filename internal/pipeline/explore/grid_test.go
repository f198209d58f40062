package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A map without configuration varies the amount of the first mask that has one: noise before bias
// before swap, in any order of the masks. Without such a mask it is refused, also for a map without
// a preview.
func TestTheAxisByDefault(t *testing.T) {
	const noise, bias, swap, cut = "{noise: {columns: [income], sd: 20%}}", "{bias: {columns: [income], phi: 0.1}}",
		"{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.2, policy: random}}",
		"{truncate: {columns: [income], lower: 0}}"
	for masks, want := range map[string]string{
		noise:                                  "masks.0.noise.sd",
		cut + ", " + noise:                     "masks.1.noise.sd",
		bias + ", " + noise + ", " + noise:     "masks.1.noise.sd",
		swap + ", " + bias:                     "masks.1.bias.phi",
		cut + ", " + swap:                      "masks.1.swap.rate",
		bias + ", " + swap + ", " + cut:        "masks.0.bias.phi",
		noise + ", " + cut + ", " + bias:       "masks.0.noise.sd",
		swap + ", " + cut + ", " + noise:       "masks.2.noise.sd",
		fmt.Sprint(cut, ", ", swap, ", ", cut): "masks.1.swap.rate",
	} {
		p := mapped(t, t.TempDir(), "masks: ["+masks+"]")
		p.Map = nil
		with, err := Mappable(p)
		if err != nil {
			t.Errorf("%s: %v", masks, err)
			continue
		}
		if len(with.Map.Vary) != 1 || with.Map.Vary[0].Path != want || p.Map != nil {
			t.Errorf("%s: the map runs over %+v, want %s", masks, with.Map.Vary, want)
		}
		again, err := Mappable(with)
		if err != nil || again != with {
			t.Errorf("Mappable changes a configuration that has a map (error %v)", err)
		}
	}
	p := mapped(t, t.TempDir(), "masks: ["+noise+"]")
	p.Map, p.Masks = nil, nil
	_, _, err := newGrids(p, keytest.Key(1))
	var wrong config.Errors
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "map: must be given") {
		t.Errorf("nothing varies: error %v, want config.Errors about map", err)
	}
}

// The points of a grid are all combinations of the axes' values, the last axis fastest, strategy by
// strategy. No two points share a slice of values.
func TestPointsOfAGrid(t *testing.T) {
	axes := func(values ...[]float64) (list []config.MapAxis) {
		for i, v := range values {
			list = append(list, config.MapAxis{Path: fmt.Sprint("masks.", i), Values: v})
		}
		return list
	}
	g := &grid{
		strategies: []config.MapStrategy{{Axes: axes([]float64{1, 2}, []float64{3}, []float64{5, 6, 7})}, {},
			{Axes: axes([]float64{8, 9})}}}
	var want []string
	for _, a := range []int{1, 2} {
		for _, c := range []int{5, 6, 7} {
			want = append(want, fmt.Sprint("{0 [", a, " 3 ", c, "]}"))
		}
	}
	want = append(want, "{1 []}", "{2 [8]}", "{2 [9]}")
	var got []string
	points := g.points()
	for _, p := range points {
		got = append(got, fmt.Sprint(p))
	}
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	points[0].values[0] = 99
	if points[1].values[0] == 99 {
		t.Error("two points have the same values")
	}
	if got := firsts(g.strategies[0]); !slices.Equal(got, []float64{1, 3, 5}) {
		t.Errorf("the first values of the axes are %v, want 1, 3 and 5", got)
	}
	if got := g.axes(); len(got) != 3 || got[0].Path != "masks.0" || got[2].Path != "masks.2" {
		t.Errorf("the axes are %+v, want masks.0 to masks.2", got)
	}
}

// A column forms groups from the data already read, or is read for that. A nested column cannot
// form groups; the error gives its place.
func TestColumnsThatFormGroups(t *testing.T) {
	schema := &microdata.Schema{Fields: []microdata.Field{
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)}, {Name: "age", Type: arrow.PrimitiveTypes.Int32},
		{Name: "kind", Type: arrow.BinaryTypes.String}, {Name: "more", Type: arrow.BinaryTypes.String},
	}}
	p := mapped(t, t.TempDir())
	make := func(by ...string) *grid {
		with := *p
		with.Map = &config.Map{By: by}
		g := &grid{config: &with, plan: &pipeline.Plan{}}
		g.plan.Layout = &microdata.Layout{
			Read: []microdata.Want{{Field: 1, As: microdata.Numbers}, {Field: 2, As: microdata.Numbers},
				{Field: 2, As: microdata.Array}}}
		return g
	}
	for _, by := range [][]string{{"tags"}, {"kind", "tags"}} {
		var wrong config.Errors
		if err := make(by...).wantGroups(schema); !errors.As(err, &wrong) ||
			!strings.HasPrefix(err.Error(), "map.by: tags is nested (list<") {
			t.Errorf("groups by %v: error %v, want one about the nested column", by, err)
		}
	}
	g := make("age", "kind", "more")
	if err := g.wantGroups(schema); err != nil || !slices.Equal(g.by, []int{0, 2, 3}) || len(g.labels) != 3 ||
		len(g.plan.Layout.Read) != 4 || g.plan.Layout.Read[3] != (microdata.Want{Field: 3, As: microdata.Array}) {
		t.Errorf("wantGroups returns %v; groups by %v of the columns %v", err, g.by, g.plan.Layout.Read)
	}
}
