package statfile

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// written writes blocks of one column and returns what is stored, with its type.
func written(t *testing.T, config connectors.SinkConfig, source *SourceConfig, f microdata.Field,
	blocks ...arrow.Array) (readstat.Column, readstat.Type, error) {
	t.Helper()
	layout := &microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}},
		Read: []microdata.Want{{As: microdata.Array}}, Release: []microdata.Output{{Field: f}}}
	sink, err := config.Create(t.Context(), connectors.Plan{Source: connectortest.Elsewhere(), Layout: layout})
	if err != nil {
		return readstat.Column{}, 0, err
	}
	for _, a := range blocks {
		var b microdata.Block
		b.Reset(0, 0, a.Len(), 1)
		b.Columns[0].Array = a
		e, err := sink.Encode(&b)
		if err == nil {
			err = sink.Write(t.Context(), e)
		}
		if err != nil {
			return readstat.Column{}, 0, errors.Join(err, sink.Abort())
		}
	}
	if err := sink.Finish(t.Context()); err != nil {
		return readstat.Column{}, 0, errors.Join(err, sink.Abort())
	}
	if err := sink.Commit(); err != nil {
		t.Fatal(err)
	}
	return stored(t, source)[f.Name], readstat.Type(describedAs(t, source)[f.Name].Stored), nil
}

func integers(typ arrow.DataType, list ...int64) arrow.Array {
	build := array.NewBuilder(memory.DefaultAllocator, typ)
	for _, x := range list {
		switch b := build.(type) {
		case *array.Int8Builder:
			b.Append(int8(x))
		case *array.Uint8Builder:
			b.Append(uint8(x))
		case *array.Int16Builder:
			b.Append(int16(x))
		case *array.Uint16Builder:
			b.Append(uint16(x))
		case *array.Int32Builder:
			b.Append(int32(x))
		case *array.Int64Builder:
			b.Append(x)
		}
	}
	return build.NewArray()
}

// Stata has no room for the greatest numbers of its types, which are its missing values: a column has the least type
// that holds all of its values, in whichever block they are.
func TestTypesHoldTheirValues(t *testing.T) {
	p := arrow.PrimitiveTypes
	for _, c := range []struct {
		typ    arrow.DataType
		lo, hi int64
		want   readstat.Type
	}{
		{p.Int8, -127, 100, readstat.Int8}, {p.Int8, -128, 100, readstat.Int16}, {p.Int8, -127, 101, readstat.Int16},
		{p.Uint8, 0, 255, readstat.Int16},
		{p.Int16, -32767, 32740, readstat.Int16}, {p.Int16, -32768, 0, readstat.Int32}, {p.Int16, 0, 32741, readstat.Int32},
		{p.Uint16, 0, 65535, readstat.Int32},
		{p.Int32, -2147483647, 2147483620, readstat.Int32}, {p.Int32, -2147483648, 0, readstat.Double},
		{p.Int32, 0, 2147483621, readstat.Double},
		{p.Int64, -2147483647, 2147483620, readstat.Int32}, {p.Int64, 0, 1 << 53, readstat.Double},
	} {
		for _, list := range [][]int64{{c.lo, c.hi}, {c.hi, c.lo}} {
			path := filepath.Join(t.TempDir(), "o.dta")
			source := &SourceConfig{Path: path, program: stata}
			got, typ, err := written(t, &StataSink{Path: path}, source, microdata.Field{Name: "x", Type: c.typ},
				integers(c.typ, list[0]), integers(c.typ, list[1]))
			if err != nil || typ != c.want || !slices.Equal(got.Numbers, []float64{float64(list[0]), float64(list[1])}) ||
				!bytes.Equal(got.States, []byte{0, 0}) {
				t.Errorf("%s %v: type %d, want %d, %v, %v", c.typ, list, typ, c.want, got.Numbers, err)
			}
		}
	}
	floats := array.NewFloat32Builder(memory.DefaultAllocator)
	const most = float32(1.7014117331926443e+38)
	for x, want := range map[float32]readstat.Type{most: readstat.Float, -most: readstat.Float,
		math.Nextafter32(most, math.MaxFloat32): readstat.Double, -math.MaxFloat32: readstat.Double, 0: readstat.Float} {
		path := filepath.Join(t.TempDir(), "o.dta")
		source := &SourceConfig{Path: path, program: stata}
		floats.Append(x)
		got, typ,
			err := written(t, &StataSink{Path: path}, source, microdata.Field{Name: "x", Type: p.Float32}, floats.NewArray())
		if err != nil || typ != want || got.Numbers[0] != float64(x) || got.States[0] != 0 {
			t.Errorf("%v: type %d, want %d, %v, %v", x, typ, want, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "o.sav")
	if _, typ, err := written(t, &SPSSSink{Path: path}, &SourceConfig{Path: path, program: spss},
		microdata.Field{Name: "x", Type: p.Int8}, integers(p.Int8, 1)); err != nil || typ != readstat.Double {
		t.Errorf("SPSS: type %d, %v", typ, err)
	}
	for _, x := range []int64{1<<53 + 1, -1<<53 - 1} {
		path := filepath.Join(t.TempDir(), "o.sav")
		if _, _, err := written(t, &SPSSSink{Path: path}, nil, microdata.Field{Name: "x", Type: p.Int64},
			integers(p.Int64, 1, x)); err == nil || !strings.Contains(err.Error(), "column x: record 2") ||
			strings.Contains(err.Error(), "9007") {
			t.Errorf("%d: %v", x, err)
		}
	}
	for _, bad := range []string{"\x00", "a\x00", "\x00a"} {
		build := array.NewStringBuilder(memory.DefaultAllocator)
		build.Append(bad)
		path := filepath.Join(t.TempDir(), "o.sav")
		if _, _, err := written(t, &SPSSSink{Path: path}, nil, microdata.Field{Name: "x", Type: build.Type()},
			build.NewArray()); err == nil || !strings.Contains(err.Error(), "column x") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// What is asked of a sink that it cannot give is said before anything is read, and the programs' own formats are used.
func TestTargets(t *testing.T) {
	for version, ok := range map[int]bool{0: true, 116: false, 117: true, 119: true, 120: false, -1: false} {
		if ps := (&StataSink{Path: "a.dta", Version: version}).Check(); (len(ps) == 0) != ok || !ok &&
			ps[0].Path != "version" {
			t.Errorf("version %d: %v", version, ps)
		}
	}
	if ps := (&SPSSSink{Path: "a.sav", Compression: "gzip"}).Check(); len(ps) != 1 || ps[0].Path != "compression" {
		t.Error(ps)
	}
	if ps := (&SPSSSink{Path: "-"}).Check(); len(ps) != 1 || ps[0].Path != "path" {
		t.Error(ps)
	}
	list := microdata.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)}
	if _, _, err := written(t, &SPSSSink{Path: filepath.Join(t.TempDir(), "o.sav")}, nil, list); err == nil ||
		!strings.Contains(err.Error(), "column l") {
		t.Error(err)
	}
	for _, c := range []struct {
		typ         arrow.DataType
		spss, stata string
	}{
		{arrow.FixedWidthTypes.Boolean, "F1.0", ""}, {arrow.FixedWidthTypes.Date32, "DATE11", "%td"},
		{&arrow.TimestampType{Unit: arrow.Second}, "DATETIME23.2", "%tc"},
		{arrow.PrimitiveTypes.Float64, "F12.2", ""}, {&arrow.Decimal128Type{Precision: 12, Scale: 3}, "F12.3", ""},
		{&arrow.Decimal128Type{Precision: 12, Scale: 10}, "F12.8", ""},
	} {
		f := microdata.Field{Name: "x", Type: c.typ}
		if a, b := (&sink{target: target{program: spss}}).format(f), (&sink{target: target{program: stata}}).format(f); a !=
			c.spss || b != c.stata {
			t.Errorf("%s: %q, %q", c.typ, a, b)
		}
	}
	integer := func(x float64) microdata.Code { return microdata.Code{Number: x} }
	for _, c := range []struct {
		code          microdata.Code
		text          bool
		inSPSS, inDTA bool
	}{
		{integer(1), false, true, true}, {integer(1), true, false, false}, {integer(1.5), false, true, false},
		{integer(2147483620), false, true, true}, {integer(2147483621), false, true, false},
		{integer(-2147483647), false, true, true}, {integer(-2147483648), false, true, false},
		{microdata.Code{Tag: 'a'}, false, false, true},
		{microdata.Code{Text: "a", IsText: true}, true, true, false},
		{microdata.Code{Text: "a", IsText: true}, false, false, false},
	} {
		if a, b := (&sink{target: target{program: spss}}).holds(c.text)(c.code), (&sink{target: target{program: stata}}).holds(c.text)(c.code); a != c.inSPSS || b != c.inDTA {
			t.Errorf("%+v: %v, %v", c, a, b)
		}
	}
}

// Columns that share one list of labels do not multiply it beyond the bound.
func TestSharedLabels(t *testing.T) {
	f := &format{config: &SourceConfig{program: stata}}
	file := func(columns, labels int) *readstat.File {
		said := &readstat.File{Weight: -1, Labels: map[string][]readstat.Label{}}
		for i := range labels {
			said.Labels["s"] = append(said.Labels["s"], readstat.Label{Set: "s", Number: float64(i), Label: "l"})
		}
		for i := range columns {
			said.Variables = append(said.Variables,
				readstat.Variable{Index: i, Name: strings.Repeat("v", i+1), Type: readstat.Int32, Set: "s"})
		}
		return said
	}
	for columns, ok := range map[int]bool{15: true, 16: true, 17: false} {
		if found, err := f.columnsOf(file(columns, maxLabels/16)); (err == nil) != ok || ok &&
			len(found[columns-1].field.Described.Values) != maxLabels/16 {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
	twice := file(2, 1)
	twice.Variables[1].Name = "v"
	if _, err := f.columnsOf(twice); err == nil || !strings.Contains(err.Error(), "columns 1 and 2") {
		t.Error(err)
	}
	if _, err := f.columnsOf(file(0, 0)); err == nil {
		t.Error("a file without columns is read")
	}
}

// The letters of missing values stay with their records, those of SAS in lower case; a plain missing value and SAS's ._
// have none.
func TestLettersOfMissingValues(t *testing.T) {
	parts := []stretch{{readstat.Column{States: []byte{0, 'A', 1}}, 3},
		{readstat.Column{States: []byte{'z', '_', 'b', 'c'}}, 4}}
	var b microdata.Block
	b.Reset(0, 0, 7, 0)
	b.Reject(5, "", "dropped")                             // b
	c := readstat.Column{States: []byte{0, 1, 1, 1, 1, 0}} // the last one has a value
	tag(&c, parts, &b)
	if want := []byte{0, 'a', 1, 'z', 1, 0}; !bytes.Equal(c.States, want) {
		t.Errorf("%q, want %q", c.States, want)
	}
	// From a column that is decoded, of a source of another program.
	c, kept := readstat.Column{},
		&carried{program: sas,
			columns: [][]stretch{{{readstat.Column{Numbers: []float64{1, 0, 0}, States: []byte{0, 'B', 1}}, 3}}}}
	f := microdata.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}
	path := filepath.Join(t.TempDir(), "o.dta")
	for _, masked := range []bool{false, true} {
		layout := &microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}},
			Read: []microdata.Want{{As: microdata.Array}}, Release: []microdata.Output{{Field: f, Masked: masked}}}
		sink,
			err := (&StataSink{Path: path}).Create(t.Context(),
			connectors.Plan{Source: connectortest.Elsewhere(), Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		build := array.NewFloat64Builder(memory.DefaultAllocator)
		build.AppendValues([]float64{1, 0, 0}, []bool{true, false, false})
		b.Reset(0, 0, 3, 1)
		b.Columns[0].Array, b.Carried = build.NewArray(), kept
		if masked {
			b.Carried = &carried{program: sas, columns: make([][]stretch, 1)}
		}
		e, err := sink.Encode(&b)
		if err == nil {
			err = errors.Join(sink.Write(t.Context(), e), sink.Finish(t.Context()), sink.Commit())
		}
		if err != nil {
			t.Fatal(err)
		}
		c = stored(t, &SourceConfig{Path: path, program: stata})["x"]
		if want := map[bool][]byte{false: {0, 'b', 1}, true: {0, 1, 1}}[masked]; !bytes.Equal(c.States, want) {
			t.Errorf("masked %v: %q, want %q", masked, c.States, want)
		}
	}
}

func TestLabelsOfASet(t *testing.T) {
	all := []readstat.Label{
		{Number: 2, Label: "two"}, {Number: 1, Label: "one"}, {Number: 1, Label: "one again"},
		{Number: math.NaN(), Label: "nothing"}, {Tag: 1, Number: math.NaN(), Label: "missing"},
		{Tag: 'a', Number: math.NaN(), Label: "refused"}, {IsText: true, Text: "x", Number: math.NaN(), Label: "ex"},
	}
	var got []string
	for _, v := range labelsOf(all, false) {
		got = append(got, v.Label)
	}
	if strings.Join(got, ",") != "one,two,refused" {
		t.Errorf("of numbers: %q", got)
	}
	if of := labelsOf(all, true); len(of) != 1 || of[0].Value != (microdata.Code{Text: "x", IsText: true}) {
		t.Errorf("of texts: %v", of)
	}
}
