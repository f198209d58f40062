package explore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// readGrid returns the grid of a map after its source has been read.
func readGrid(t *testing.T, p *config.Pipeline) (*grid, func(int) error) {
	t.Helper()
	key, err := p.Key.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	_, grids, err := newGrids(p, key)
	if err != nil || len(grids) != 1 {
		t.Fatal(len(grids), err)
	}
	g := grids[0]
	g.progress = new(pipeline.Progress)
	src, err := pipeline.OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	if err := g.read(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	by := &filejob.Rehearsals{Source: src}
	rehearse := func(point int) (assess.Verdict, error) { return g.rehearse(t.Context(), by, point) }
	return g, func(point int) error {
		_, err := rehearse(point)
		return err
	}
}

// Invalid parameter values are refused by everything that tries, judges or rehearses a point, with
// the mask's field, for every kind of map. Valid points are accepted.
func TestPlacesWhereNoMaskCanBe(t *testing.T) {
	racetest.Further(t)
	for name, p := range endings(t) {
		if name == "a search" {
			continue // as a grid
		}
		p.Gate.Rules = nil
		g, rehearse := readGrid(t, p)
		good, bad := place{0, firsts(g.strategies[0])}, place{0, []float64{-7}}
		field := strings.Split(p.Map.Vary[0].Path, ".")[3]
		tries := map[string]func(at place) error{
			"points":    func(at place) error { _, err := g.explore(t.Context(), []place{at}, 1, 2); return err },
			"a map":     func(at place) error { return g.try(t.Context(), &rumap.Map{Replicates: 2}, []place{at}) },
			"a chain":   func(at place) error { _, err := g.chain(at, false); return err },
			"exchanges": func(at place) error { _, err := g.exchanges([]place{at}); return err },
			"pairs": func(at place) error {
				if g.pairs == nil {
					g.pairs = g.data
				}
				return g.judgePairs(t.Context(), at, new(rumap.Point), 1)
			},
			"first places": func(at place) error {
				axis := &g.strategies[0].Axes[0]
				before := axis.Values
				defer func() { axis.Values = before }()
				axis.Values = at.values
				_, err := g.firstChains()
				return err
			},
			"a rehearsal": func(at place) error {
				g.places = []place{at}
				return rehearse(0)
			},
		}
		if !g.mixes {
			delete(tries, "exchanges")
		}
		if g.ofCategories() {
			delete(tries, "pairs") // they are the data
		}
		for what, try := range tries {
			var wrong config.Errors
			if err := try(bad); !errors.As(err, &wrong) || !strings.Contains(err.Error(), field) {
				t.Errorf("%s, %s: error %v, want config.Errors about %s", name, what, err, field)
			}
			if what == "a rehearsal" {
				continue // a run writes a report, and the report needs the digest of the configuration
			}
			if err := try(good); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// A stream without an end has no map, and neither has a pipeline without a variable parameter.
func TestPipelinesWithoutAMap(t *testing.T) {
	p := mapped(t, t.TempDir())
	p.Map, p.Masks = nil, nil
	m, err := Map(context.Background(), p, pipeline.Options{})
	var wrong config.Errors
	if m != nil || !errors.As(err, &wrong) || !strings.Contains(err.Error(), "map: must be given") {
		t.Errorf("nothing varies: error %v, want config.Errors about map", err)
	}
	p, err = config.Parse("s.yaml", []byte(`version: 1
key: {file: k}
source: {kafka: {brokers: ["localhost:9"], topics: [in], group: g}}
columns: {wage: {role: sensitive, decimals: 2}}
masks: [{noise: {columns: [wage], sd: 3}}]
sink: {kafka: {brokers: ["localhost:9"], topic: out}}
`), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Map(context.Background(), p, pipeline.Options{}); m != nil || !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "source: is a stream without end, and a map needs data that end") {
		t.Errorf("a stream as source: error %v", err)
	}
}

// Groups are named by the texts of their column, with or without a dictionary, each once. A missing
// value has no name, and numbers need none.
func TestLabelsOfGroups(t *testing.T) {
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	texts.AppendValues([]string{"a", "b", "", "a"}, []bool{true, true, false, true})
	words := array.NewStringBuilder(memory.DefaultAllocator)
	words.AppendValues([]string{"b", "a"}, nil)
	indices := array.NewInt8Builder(memory.DefaultAllocator)
	indices.AppendValues([]int8{1, 0, 0, 1}, []bool{true, true, false, true})
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := &microdata.Block{
		N: 4,
		Columns: []microdata.Column{{Array: texts.NewArray()},
			{Array: array.NewDictionaryArray(typ, indices.NewArray(), words.NewArray())}, {}}}
	g := &grid{by: []int{0, 1, 2}, labels: []map[float64]string{{}, {}, {}}}
	g.label(b)
	g.label(b) // the second call changes nothing
	for k := range 2 {
		got := g.labels[k]
		if len(got) != 2 || got[assess.Code(&b.Columns[k], 0)] != "a" || got[assess.Code(&b.Columns[k], 1)] != "b" {
			t.Errorf("labels of column %d are %v, want a and b", k, got)
		}
	}
	if len(g.labels[2]) != 0 {
		t.Errorf("labels of a numeric column are %v, want none", g.labels[2])
	}
}
