package explore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// Missing requirements of a map are an error, with their place, before any point is tried.
func TestWhatAMapNeeds(t *testing.T) {
	const few = "assess: {replicates: 2, targets: [p10, max]}"
	for _, c := range []struct {
		name  string
		lines []string
		text  string // of the source, if it differs
		spoil func(dir string) error
		want  string
	}{
		{name: "replicates", lines: []string{"assess: {replicates: 0, targets: [p10, max]}", "gate: {rules: []}"},
			want: "assess.replicates: must be at least 2 for a map, got 0"},
		{name: "a key", lines: []string{few}, spoil: func(dir string) error {
			return os.Remove(filepath.Join(dir, "k"))
		}, want: "key"},
		{name: "a source", lines: []string{few}, spoil: func(dir string) error {
			return os.Remove(filepath.Join(dir, "in.csv"))
		}, want: "source: "},
		{
			name: "records",
			lines: []string{few, "columns: {income: {role: sensitive, decimals: 1}}",
				"masks: [{noise: {columns: [income], sd: 20}}]"}, text: "id,income,region,kind\n",
			want: "the source has no records to map"},
		{name: "its columns", lines: []string{few}, text: "id,wealth,region,kind\n1,2,a,0\n",
			want: "income: the file has no such column"},
	} {
		dir := t.TempDir()
		p, err := tryMapped(t, dir, c.lines...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.text != "" {
			if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.spoil != nil {
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Map(context.Background(), p, pipeline.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || m != nil {
			t.Errorf("%s: error %v, want %q and no map", c.name, err, c.want)
		}
	}
}

// The mapped column is the configured one, if a mask changes it, or else the only masked one.
func TestTheColumnOfAMap(t *testing.T) {
	p := mapped(t, t.TempDir())
	for _, c := range []struct {
		column, want, problem string
		masked                []string
	}{
		{masked: []string{"a"}, want: "a"}, {column: "a", masked: []string{"a"}, want: "a"},
		{column: "b", masked: []string{"a", "b"}, want: "b"},
		{masked: []string{"a", "b"}, problem: "map.column: must say which of the masked columns is mapped: [a b]"},
		{masked: nil, problem: "map: must be given, with the masked keys that are mapped as categories"},
		{column: "x", masked: []string{"a"}, problem: `map.column: must be a numeric column that is masked, got "x"`},
		{column: "plain", masked: []string{"a"}, problem: `map.column: must be a numeric column that is masked, got "plain"`},
	} {
		g := &grid{config: p, plan: &pipeline.Plan{}, column: c.column}
		g.plan.Assessed = append(g.plan.Assessed, columnOf("plain", false))
		for _, name := range c.masked {
			g.plan.Assessed = append(g.plan.Assessed, columnOf(name, true))
		}
		err := g.chooseColumn()
		var wrong config.Errors
		if c.problem == "" && (err != nil || g.column != c.want) || c.problem != "" &&
			(!errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.problem)) {
			t.Errorf("configured column %q, masked %v: chosen is %q, error %v", c.column, c.masked, g.column, err)
		}
	}
}

// A search begins with the ends of each line, and continues between neighbours of which exactly one
// is admissible, in either order.
func TestLinesOfASearch(t *testing.T) {
	axis := func(values ...float64) config.MapAxis {
		return config.MapAxis{Path: "masks.0.noise.sd", Values: values}
	}
	g := &grid{strategies: []config.MapStrategy{{Axes: []config.MapAxis{axis(1, 2, 3), axis(7, 8)}}, {}}}
	first, lines := g.lines()
	if len(lines) != 2 || len(first) != 7 || first[6].strategy != 1 || len(first[6].values) != 0 {
		t.Fatalf("the first places are %v and the lines %v, want 7 places and 2 lines", first, lines)
	}
	for k, rest := range []float64{7, 8} {
		for i, p := range lines[k] {
			if p.strategy != 0 || !slices.Equal(p.values, []float64{float64(i + 1), rest}) {
				t.Errorf("line %d has the wrong place %v at %d", k, p, i)
			}
		}
	}
	m := &rumap.Map{}
	g.places = first
	for i := range first {
		m.Points = append(m.Points, rumap.Point{Admissible: []bool{false, true, true, true, true, false, true}[i]})
	}
	open := g.brackets(m, lines)
	if len(open) != 2 || open[0].admissible != 2 || open[0].inadmissible != 1 ||
		!slices.Equal(open[0].rest, []float64{7}) || open[1].admissible != 2 || open[1].inadmissible != 3 ||
		!slices.Equal(open[1].rest, []float64{8}) {
		t.Errorf("the brackets are %+v", open)
	}
	// The order of a grid: by strategy, by the other axes, by the varied value.
	g.places = []place{{1, nil}, {0, []float64{3, 7}}, {0, []float64{1, 8}}, {0, []float64{1, 7}}, {0, []float64{2, 7}}}
	m.Points = make([]rumap.Point, len(g.places))
	for i := range m.Points {
		m.Points[i].Strategy = string(rune('a' + i))
	}
	g.sort(m)
	order := ""
	for _, p := range m.Points {
		order += p.Strategy
	}
	if order != "debca" || g.places[0].values[0] != 1 || g.places[4].strategy != 1 {
		t.Errorf("the sorted points are %s (want debca), their places %v", order, g.places)
	}
	// Axes of integers have integers between the ends; other axes have round numbers; there are
	// none if the ends are close enough.
	g.strategies[0].Axes[0].Whole = true
	for b, want := range map[[2]float64]float64{{4, 9}: 7, {9, 4}: 7, {4, 5}: -1, {4, 6}: 5} {
		v, further := g.middle(bracket{admissible: b[0], inadmissible: b[1]})
		if further != (want > 0) || further && v != want {
			t.Errorf("the middle of %v is %v (further: %v), want %v", b, v, further, want)
		}
	}
	g.strategies[0].Axes[0].Whole = false
	for b, want := range map[[2]float64]float64{{1, 2}: 1.5, {2, 1}: 1.5, {100, 101}: -1, {100, 101.2}: 100.6,
		{1, 1.33333}: 1.167} {
		v, further := g.middle(bracket{admissible: b[0], inadmissible: b[1]})
		if further != (want > 0) || further && v != want {
			t.Errorf("the middle of %v is %v (further: %v), want %v", b, v, further, want)
		}
	}
}

func columnOf(name string, masked bool) assess.Column {
	return assess.Column{Name: name, Masked: masked}
}

// With many values a search begins with a few evenly spaced ones, including both ends; with few
// values it begins with all.
func TestThinnedValues(t *testing.T) {
	var values []float64
	for i := range 40 {
		values = append(values, float64(i))
	}
	for _, c := range []struct {
		n    int
		want []float64
	}{{2, []float64{0, 39}}, {3, []float64{0, 19, 39}}, {4, []float64{0, 13, 26, 39}},
		{9, []float64{0, 4, 9, 14, 19, 24, 29, 34, 39}}} {
		if got := thinned(values, c.n); !slices.Equal(got, c.want) {
			t.Errorf("thinned to %d of 40: %v, want %v", c.n, got, c.want)
		}
	}
	if got := thinned(values[:9], 9); !slices.Equal(got, values[:9]) {
		t.Errorf("thinned to 9 of 9: %v, want all", got)
	}
	if got := thinned(values[:10], 9); len(got) != 9 || got[0] != 0 || got[8] != 9 {
		t.Errorf("thinned to 9 of 10: %v, want 9 values from 0 to 9", got)
	}
}
