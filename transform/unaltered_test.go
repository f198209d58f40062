package transform

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A column of texts counts as unaltered if every released value equals the original, by chance or
// because a mask changes nothing, in all blocks. One altered value in any block and place is enough
// for the opposite. Values that are null, rejected or stored as numbers do not count.
func TestUnaltered(t *testing.T) {
	text := arrow.BinaryTypes.String
	identical := &PRAM{Columns: []string{"a"}, Matrix: map[string]map[string]float64{"x": {"x": 1}, "y": {"y": 1}, "z": {"z": 1}}}
	last := &PRAM{Columns: []string{"a"}, Matrix: map[string]map[string]float64{"x": {"x": 1}, "y": {"y": 1}, "z": {"x": 1}}}
	renamed := &Recode{Columns: []string{"a"}, Map: map[string]string{"x": "X", "y": "y", "z": "z"}}
	for name, c := range map[string]struct {
		p      Params
		blocks []string
		typ    arrow.DataType
		want   bool
	}{
		"kept by its matrix":           {identical, []string{`["x", "y", null]`, `["z", "x", "y"]`}, text, true},
		"of a dictionary":              {identical, []string{`["x", "y", null]`}, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}, true},
		"the last value is another":    {last, []string{`["x", "y", null]`, `["x", "x", "z"]`}, text, false},
		"the first value is another":   {last, []string{`["z", "y"]`, `["x", "x"]`}, text, false},
		"a dictionary's value too":     {last, []string{`["x", "z"]`}, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}, false},
		"nothing that could become it": {last, []string{`["x", "y"]`, `["y", "y"]`}, text, true},
		"all missing":                  {identical, []string{`[null, null]`}, text, false},
		"rejected are not released":    {identical, []string{`["w", "v"]`}, text, false},
		"another name":                 {renamed, []string{`["y", "x"]`}, text, false},
		"no name of those":             {renamed, []string{`["y", "z"]`}, text, true},
		"no record":                    {identical, []string{`[]`}, text, false},
	} {
		setup := Setup{Key: testKey(t, 1), Window: 1, Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: c.typ, Nullable: true}, Decimals: -1}}}
		made := chain(t, setup, mask(c.p))
		for _, values := range c.blocks {
			b := new(microdata.Block)
			a := fromJSON(t, c.typ, values)
			b.Reset(0, 0, a.Len(), 1)
			b.Columns[0].Array = a
			apply(t, made, b)
		}
		if got := made.Unaltered(); slices.Contains(got, "a") != c.want || len(got) > 1 {
			t.Errorf("%s: unaltered are %q, want %v", name, got, c.want)
		}
	}
	// Numbers are measured instead.
	columns := []testColumn{floats(0, 1, 2, 3)}
	c := chain(t, testSetup(t, columns...), mask(&Truncate{Columns: []string{"a"}, Upper: ptr(9.0)}))
	apply(t, c, block(0, 3, columns...))
	if got := c.Unaltered(); len(got) > 0 {
		t.Errorf("numbers: %q", got)
	}
}
