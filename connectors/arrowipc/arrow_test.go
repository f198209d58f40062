package arrowipc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func jsonArray(t testing.TB, dt arrow.DataType, s string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	if err := b.UnmarshalJSON([]byte(s)); err != nil {
		t.Fatalf("%s: %v", dt, err)
	}
	return b.NewArray()
}

func dictionary(t testing.TB, index arrow.DataType, indexes, values string) arrow.Array {
	t.Helper()
	dt := &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
	return array.NewDictionaryArray(dt, jsonArray(t, index, indexes), jsonArray(t, arrow.BinaryTypes.String, values))
}

// batchOf makes a record batch with columns a, b, c ….
func batchOf(columns ...arrow.Array) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: string(rune('a' + i)), Type: c.DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
}

// store writes batches with the library's own writers.
func store(t testing.TB, path string, batches []arrow.RecordBatch, options ...ipc.Option) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, ipc.WithSchema(batches[0].Schema()))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	if filepath.Ext(path) == ".arrows" {
		w = ipc.NewWriter(f, options...)
	} else if w, err = ipc.NewFileWriter(f, options...); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// load reads a file with the library's own readers.
func load(t testing.TB, path string) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	if filepath.Ext(path) != ".arrows" {
		r, err := ipc.NewFileReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.NumRecords() {
			b, err := r.RecordBatchAt(i)
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
		}
		return r.Schema(), batches
	}
	r, err := ipc.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := r.Read()
		if err == io.EOF {
			return r.Schema(), batches
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Retain()
		batches = append(batches, b)
	}
}

// release is one run from a source to a sink.
type release struct {
	from   *SourceConfig
	to     *SinkConfig
	drop   []string // not released
	decode bool     // carry nothing
	cut    connectors.Cut
	reject func(i int64) bool
}

func (r release) run(ctx context.Context) error {
	src, err := r.from.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range layout.Schema.Fields {
		if slices.Contains(r.drop, f.Name) {
			continue
		}
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		if r.decode {
			o.Column = len(layout.Read)
			layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		}
		layout.Release = append(layout.Release, o)
	}
	sink, err := r.to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		return err
	}
	defer sink.Abort()
	pass, err := src.Read(ctx, layout, r.cut)
	if err != nil {
		return err
	}
	defer pass.Close()
	var b microdata.Block
	for {
		raw, err := pass.Next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = raw.Decode(&b)
		}
		if err != nil {
			return err
		}
		for i := range b.N {
			if r.reject != nil && r.reject(b.First+int64(i)) {
				b.Reject(i, "", "is rejected by the test")
			}
		}
		e, err := sink.Encode(&b)
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, e); err != nil {
			return err
		}
	}
	return errors.Join(sink.Finish(ctx), sink.Commit())
}

// valuesOf returns the values of a column over all batches.
func valuesOf(batches []arrow.RecordBatch, name string) (values []string) {
	for _, b := range batches {
		i := b.Schema().FieldIndices(name)[0]
		for row := range int(b.NumRows()) {
			values = append(values, b.Column(i).ValueStr(row))
		}
	}
	return values
}

// Dictionaries of every kind contain the released values and no others, in files and in streams.
func TestDictionaries(t *testing.T) {
	i8, i32 := arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32
	replaced := []arrow.RecordBatch{
		batchOf(dictionary(t, i8, `[0, 1, null, 1]`, `["north", "canary1", "canary2"]`)),
		batchOf(dictionary(t, i8, `[1, 0, 0]`, `["south", "north"]`)),
	}
	grown := []arrow.RecordBatch{
		batchOf(dictionary(t, i8, `[0, 1, null, 1]`, `["north", "canary1"]`)),
		batchOf(dictionary(t, i8, `[3, 0, 0]`, `["north", "canary1", "canary2", "south"]`)),
	}
	same := []arrow.RecordBatch{
		batchOf(dictionary(t, i32, `[0, 1, null, 1]`, `["north", "canary1", null, "south", "canary2"]`)),
		batchOf(dictionary(t, i32, `[3, 2, 0]`, `["north", "canary1", null, "south", "canary2"]`)),
	}
	for _, c := range []struct {
		name    string
		path    string
		batches []arrow.RecordBatch
		options []ipc.Option
		want    string
	}{
		{"replaced in a stream", "in.arrows", replaced, nil, "[north (null) north south south]"},
		{"grown in a stream", "in.arrows", grown, []ipc.Option{ipc.WithDictionaryDeltas(true)},
			"[north (null) south north north]"},
		{"one in a file", "in.arrow", same, nil, "[north (null) south (null) north]"},
		{"one in a stream", "in.arrows", same, []ipc.Option{ipc.WithZstd()}, "[north (null) south (null) north]"},
	} {
		in := filepath.Join(t.TempDir(), c.path)
		store(t, in, c.batches, c.options...)
		for _, out := range []string{"out.arrow", "out.arrows"} {
			for _, decode := range []bool{false, true} {
				for _, cut := range []connectors.Cut{{}, {Records: 2}, {Records: 100, Exact: true}, {Records: 5, Exact: true}} {
					out := filepath.Join(t.TempDir(), out)
					r := release{from: &SourceConfig{Path: in}, to: &SinkConfig{Path: out, Compression: "none"}, decode: decode,
						cut:    cut,
						reject: func(i int64) bool { return i == 1 || i == 3 }} // the records with canary1
					if err := r.run(t.Context()); err != nil {
						t.Fatalf("%s, %v: %v", c.name, cut, err)
					}
					schema, batches := load(t, out)
					if got := fmt.Sprint(valuesOf(batches, "a")); got != c.want {
						t.Errorf("%s to %s, %v: %s, want %s", c.name, filepath.Base(out), cut, got, c.want)
					}
					if isDict := schema.Field(0).Type.ID() == arrow.DICTIONARY; isDict == decode {
						t.Errorf("%s: released as %s, decoded %v", c.name, schema.Field(0).Type, decode)
					}
					expectNo(t, out, "canary")
				}
			}
		}
	}
}

func expectNo(t testing.TB, path, canary string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(raw, []byte(canary)); i >= 0 {
		t.Errorf("%s contains %q", path, raw[i:min(len(raw), i+40)])
	}
}

// under returns the array with some rows made null; their values remain in the buffers.
func under(a arrow.Array, rows ...int) arrow.Array {
	bitmap := bytes.Repeat([]byte{0xff}, (a.Len()+7)/8)
	for _, i := range rows {
		bitmap[i>>3] &^= 1 << (i & 7)
	}
	d := a.Data()
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bitmap)}, d.Buffers()[1:]...)
	out := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), len(rows), d.Offset())
	if a.DataType().ID() == arrow.DICTIONARY {
		out.SetDictionary(d.Dictionary())
	}
	return array.MakeFromData(out)
}

// The output contains no bytes of values under nulls, of rejected records, of neighbouring records
// in a batch, of withheld columns or of metadata.
func TestCanaries(t *testing.T) {
	text :=
		`["canary-0000000000000000", "kept-1-long-enough-to-be-out-of-line", "canary-2222222222222222", "kept-3", "canary-4444444444444444", "kept-5"]`
	words := jsonArray(t, arrow.BinaryTypes.String, text)
	fixed := jsonArray(t, &arrow.FixedSizeBinaryType{ByteWidth: 6},
		`["Y2FuYXJ5", "a2VwdDEx", "Y2FuYXJ5", "a2VwdDMz", "Y2FuYXJ5", "a2VwdDU1"]`)
	list := array.MakeFromData(array.NewData(arrow.ListOf(arrow.BinaryTypes.String), 6,
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 2, 3, 4, 5, 6}))},
		[]arrow.ArrayData{words.Data()}, 0, 0))
	structs := array.MakeFromData(
		array.NewData(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.String},
			arrow.Field{Name: "y", Type: fixed.DataType()}), 6,
			[]*memory.Buffer{nil}, []arrow.ArrayData{words.Data(), fixed.Data()}, 0, 0))
	sized := array.MakeFromData(array.NewData(arrow.FixedSizeListOf(1, arrow.BinaryTypes.String), 6, []*memory.Buffer{nil},
		[]arrow.ArrayData{words.Data()}, 0, 0))
	columns := []arrow.Array{words, fixed, list, structs, sized,
		jsonArray(t, arrow.BinaryTypes.LargeString, text), jsonArray(t, arrow.BinaryTypes.StringView, text),
		dictionary(t, arrow.PrimitiveTypes.Int8, `[0, 1, 2, 3, 4, 5]`, text)}
	bad := []int{0, 2, 4}
	isBad := func(i int64) bool { return slices.Contains(bad, int(i)) }
	for i, a := range columns {
		for _, c := range []struct {
			what   string
			a      arrow.Array
			reject func(int64) bool
		}{
			{"under nulls", under(a, bad...), nil},
			{"rejected", a, isBad},
			{"both", under(a, 0, 2), func(i int64) bool { return i == 4 }},
		} {
			meta := arrow.MetadataFrom(
				map[string]string{"pandas": "canary", "note": "canary", "ARROW:extension:name": "canary.type",
					"ARROW:extension:metadata": "canary"})
			withheld := jsonArray(t, arrow.BinaryTypes.String, text)
			schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: c.a.DataType(), Nullable: true, Metadata: meta},
				{Name: "secret", Type: arrow.BinaryTypes.String}}, &meta)
			in := filepath.Join(t.TempDir(), "in.arrow")
			store(t, in, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{c.a, withheld}, 6)})
			for _, out := range []string{"out.arrow", "out.arrows"} {
				for _, cut := range []connectors.Cut{{}, {Records: 1}, {Records: 4, Exact: true}} {
					out := filepath.Join(t.TempDir(), out)
					r := release{from: &SourceConfig{Path: in}, to: &SinkConfig{Path: out, Compression: "none"}, cut: cut,
						reject: c.reject, drop: []string{"secret"}}
					if err := r.run(t.Context()); err != nil {
						t.Fatalf("column %d, %s: %v", i, c.what, err)
					}
					expectNo(t, out, "canary")
					got, batches := load(t, out)
					if n := strings.Count(fmt.Sprint(valuesOf(batches, "a")), "kept"); n < 3 && i != 1 && i != 3 {
						t.Errorf("column %d, %s: %d records kept their value, want 3: %v", i, c.what, n, valuesOf(batches, "a"))
					}
					if k := got.Field(0).Metadata.Keys(); len(k) > 0 || got.Metadata().Len() > 0 {
						t.Errorf("metadata %v, %v", k, got.Metadata())
					}
				}
			}
		}
	}
}

// Values are the same for every compression, in the input and in the output.
func TestCompression(t *testing.T) {
	n := 5000
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	s := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		b.Append(float64(i) / 4)
		s.Append(fmt.Sprint("word ", i%50))
	}
	rec := batchOf(b.NewArray(), s.NewArray())
	want := valuesOf([]arrow.RecordBatch{rec}, "b")
	for _, option := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
		for _, compression := range []string{"", "none", "zstd", "lz4"} {
			for _, names := range [][2]string{{"in.arrow", "out.arrows"}, {"in.arrows", "out.arrow"}} {
				dir := t.TempDir()
				in, out := filepath.Join(dir, names[0]), filepath.Join(dir, names[1])
				store(t, in, []arrow.RecordBatch{rec, rec}, option...)
				r := release{from: &SourceConfig{Path: in}, to: &SinkConfig{Path: out, Compression: compression},
					cut: connectors.Cut{Records: 3000, Exact: true}}
				if err := r.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, batches := load(t, out)
				if got := valuesOf(batches, "b"); !slices.Equal(got, slices.Concat(want, want)) {
					t.Errorf("%v to %s: values differ", names, compression)
				}
			}
		}
	}
}
