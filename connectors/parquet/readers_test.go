package parquet

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Blocks divide a row group into nearly equal parts of at most the given length, or have exactly
// the given length.
func TestLengthsOfBlocks(t *testing.T) {
	layout := &microdata.Layout{}
	for _, groups := range [][]int64{{10}, {1}, {7, 0, 13}, {0, 5}, {100, 3}, {3, 3, 3}, {200_000}} {
		total := int64(0)
		st := &stream{footer: &footer{}}
		for _, n := range groups {
			st.RowGroups = append(st.RowGroups, rowGroup{NumRows: n})
			total += n
		}
		st.NumRows = total
		for _, records := range []int{0, 1, 2, 3, 4, 5, 7, 10, 64, 100} {
			if total > 1000 && records > 0 {
				continue
			}
			for _, exact := range []bool{false, true} {
				if exact && records == 0 {
					continue
				}
				r := &reader{source: &source{streams: []*stream{st}}, layout: layout,
					cut: connectors.Cut{Records: records, Exact: exact}, until: -1}
				most := int64(records)
				if records == 0 {
					most = 64 << 10
				}
				var lengths []int64
				for r.row < total {
					if r.inGroup == st.RowGroups[r.group].NumRows && exact {
						r.group, r.inGroup = r.group+1, 0
						continue
					}
					n := r.length(st)
					if n < 1 || n > most {
						t.Fatalf("%v by %d, exact %v: a block of %d records at %d", groups, records, exact, n, r.row)
					}
					lengths = append(lengths, n)
					r.row += n
					for left := n; left > 0; {
						k := min(left, st.RowGroups[r.group].NumRows-r.inGroup)
						r.inGroup += k
						if left -= k; left > 0 {
							r.group, r.inGroup = r.group+1, 0
						}
					}
				}
				var want []int64
				if exact {
					for left := total; left > 0; left -= most {
						want = append(want, min(most, left))
					}
				} else {
					for _, n := range groups { // the k-th of p parts ends at ⌊k n/p⌋
						parts := (n + most - 1) / most
						for k := range parts {
							want = append(want, (k+1)*n/parts-k*n/parts)
						}
					}
				}
				if !slices.Equal(lengths, want) {
					t.Errorf("%v by %d, exact %v: %v, want %v", groups, records, exact, lengths, want)
				}
			}
		}
	}
	// A part of a stream ends at its given end.
	st := &stream{footer: &footer{}}
	st.NumRows, st.RowGroups = 20, []rowGroup{{NumRows: 20}}
	r := &reader{source: &source{streams: []*stream{st}}, layout: layout, cut: connectors.Cut{Records: 8, Exact: true},
		until: 13, row: 8}
	if n := r.length(st); n != 5 || r.end(st) != 13 {
		t.Errorf("%d records to %d", n, r.end(st))
	}
	r.row = 3 // not at the start of an exact block: the block ends at the next start
	if n := r.length(st); n != 5 {
		t.Errorf("%d records from 3", n)
	}
}

// Long texts make shorter blocks, according to their average length.
func TestBlocksOfLongTexts(t *testing.T) {
	text, number := &leaf{index: 0, path: []string{"t"}, phys: format.ByteArray},
		&leaf{index: 1, width: 8, path: []string{"n"}}
	st := &stream{
		footer: &footer{roots: []*node{{leaves: []*leaf{text}}, {leaves: []*leaf{number}}}, leaves: []*leaf{text, number}}}
	rg := func(size int64) *rowGroup {
		return &rowGroup{
			NumRows: 1000,
			Columns: []columnChunk{{MetaData: some(columnMetaData{TotalUncompressedSize: size})},
				{MetaData: some(columnMetaData{TotalUncompressedSize: 1 << 40})}}}
	}
	for _, c := range []struct {
		read []int
		size int64
		want int64
	}{
		{[]int{0}, (64 << 20), 500}, {[]int{0}, (64 << 20) + 1, 500}, {[]int{0}, 2 * (64 << 20), 500},
		{[]int{0}, 4 * (64 << 20), 250}, {[]int{0}, 10_000 * (64 << 20), 1}, {[]int{1}, 4 * (64 << 20), 500},
		{[]int{1, 0, 2}, 4 * (64 << 20), 250}, {[]int{2}, 4 * (64 << 20), 500}, {nil, 4 * (64 << 20), 500},
	} {
		layout := &microdata.Layout{}
		for _, f := range c.read {
			layout.Read = append(layout.Read, microdata.Want{Field: f})
		}
		r := &reader{source: &source{streams: []*stream{st}}, layout: layout}
		if got := r.fitting(st, rg(c.size), 500); got != c.want {
			t.Errorf("%v of %d bytes: %d, want %d", c.read, c.size, got, c.want)
		}
	}
}

// Unreadable input is an error before the first block. A file that changes during the read is
// detected.
func TestReadingThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	writePeople(t, path, 10)
	src, err := (&SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if src.Records() != 10 || !src.(*source).Rewindable() || !slices.Equal(src.Streams(), []string{path}) {
		t.Errorf("%d records of %v", src.Records(), src.Streams())
	}
	numbers := func(field int) *microdata.Layout {
		return &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: field, As: microdata.Numbers}}}
	}
	if _, err := src.Read(t.Context(), numbers(0), connectors.Cut{}); err == nil ||
		!strings.Contains(err.Error(), "column respondent_name is string, and arithmetic needs a number") {
		t.Errorf("%v", err)
	}
	if _, err := src.Read(t.Context(), numbers(1), connectors.Cut{Exact: true}); err == nil ||
		!strings.Contains(err.Error(), "exact blocks need a number of records") {
		t.Errorf("%v", err)
	}
	if _, err := src.Read(t.Context(), numbers(1), connectors.Cut{Exact: true, Records: 1}); err != nil {
		t.Errorf("%v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := src.Read(cancelled, numbers(1), connectors.Cut{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r, err := src.Read(t.Context(), numbers(1), connectors.Cut{Records: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var sizes []int64
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, raw.Bytes())
	}
	m := src.(*source).streams[0].RowGroups[0].Columns[1].MetaData.V
	// one page, counted once
	if len(sizes) != 3 || sizes[0] <= 0 || sizes[0] > m.TotalCompressedSize || sizes[1] != 0 || sizes[2] != 0 {
		t.Errorf("blocks of %v bytes", sizes)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(t.Context()); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	// Two columns with the same name.
	twice := twoColumns()
	twice.Schema[2].Name = "a"
	twice.RowGroups[0].Columns[1].MetaData.V.PathInSchema,
		twice.RowGroups[1].Columns[1].MetaData.V.PathInSchema = []string{"a"}, []string{"a"}
	double := filepath.Join(t.TempDir(), "double.parquet")
	if err := os.WriteFile(double, fileOf(t, twice), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&SourceConfig{Path: double}).Open(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `double.parquet: columns 1 and 2 have the same name`) {
		t.Errorf("%v", err)
	}
	if _, err := (&SourceConfig{Path: path}).Open(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// The file is replaced.
	if r, err = src.Read(t.Context(), numbers(1), connectors.Cut{}); err != nil {
		t.Fatal(err)
	}
	writePeople(t, path, 11)
	if _, err := r.Next(t.Context()); !errors.Is(err, files.ErrChanged) {
		t.Errorf("a file that changed: %v", err)
	}
}

// The pages of a chunk are read one after another, however long their headers are. A truncated or
// damaged chunk is an error with its place.
func TestPagesOfAChunk(t *testing.T) {
	l := &leaf{phys: format.Int32, width: 4, path: []string{"x"}, typ: arrow.PrimitiveTypes.Int32}
	var chunk []byte
	var ends []int
	for _, long := range []int{0, 3 << 10, 5 << 10, 100 << 10} {
		h := pageHeader{Type: format.DataPage, UncompressedSize: 8, CompressedSize: 8,
			DataPage: some(dataPageHeader{NumValues: 2})}
		var buf bytes.Buffer
		if err := marshal(&buf, &h); err != nil {
			t.Fatal(err)
		}
		b := buf.Bytes()
		if long > 0 { // an unknown field before the end of the structure
			b = append(b[:len(b)-1], 0x0a<<4|8) // ten field numbers later, a string
			b = append(b, byte(long)|0x80, byte(long>>7)|0x80, byte(long>>14))
			b = append(append(b, make([]byte, long)...), 0)
		}
		chunk = append(chunk, b...)
		chunk = append(chunk, 1, 0, 0, 0, byte(long>>10), 0, 0, 0)
		ends = append(ends, len(chunk))
	}
	open := func(r io.ReaderAt, size, values int64) *pages {
		return newPages(r, "f", 1, l, &columnMetaData{NumValues: values, DataPageOffset: 5, TotalCompressedSize: size})
	}
	file := append([]byte("12345"), chunk...)
	p := open(bytes.NewReader(append(slices.Clone(file), "behind"...)), int64(len(chunk)), 8)
	for i, want := range []byte{0, 3, 5, 100} {
		pg, err := p.next()
		if err != nil || len(pg.body) != 8 || pg.body[4] != want || p.at != int64(5+ends[i]) {
			t.Fatalf("page %d: %+v, at %d, %v", i, pg, p.at, err)
		}
	}
	if _, err := p.next(); err != io.EOF {
		t.Errorf("after the last page: %v", err)
	}
	for _, c := range []struct {
		name   string
		r      io.ReaderAt
		size   int64
		values int64
		pages  int
		want   string
	}{
		{"a chunk of more values", bytes.NewReader(file), int64(len(chunk)), 9, 4, "the column's data end too early"},
		{"a chunk of fewer values", bytes.NewReader(file), int64(len(chunk)), 7, 3,
			"the pages hold more values than the column"},
		{"a chunk of no values", bytes.NewReader(file), int64(len(chunk)), 0, 0, "EOF"},
		{"a chunk that ends in a page", bytes.NewReader(file), int64(ends[1]) - 1, 8, 1, "the column's data end too early"},
		{"a chunk that ends in a header", bytes.NewReader(file), int64(ends[1]) - 11, 8, 1,
			"a page's header is corrupt: ends too early"},
		{"a file that ends in a page", bytes.NewReader(file[:5+ends[3]-1]), int64(len(chunk)), 8, 3,
			"the column's data end too early"},
		{"a file that ends in a header", bytes.NewReader(file[:5+ends[3]-1000]), int64(len(chunk)), 8, 3,
			"the column's data end too early"},
		{"a disk that breaks", &failing{bytes.NewReader(file), 1}, int64(len(chunk)), 8, 1, errBroken.Error()},
	} {
		p := open(c.r, c.size, c.values)
		n := 0
		var err error
		for ; err == nil; n++ {
			_, err = p.next()
		}
		if n-1 != c.pages || !strings.Contains(err.Error(), c.want) || err != io.EOF &&
			!strings.HasPrefix(err.Error(), "f: row group 1, column x: ") {
			t.Errorf("%s: %v after %d pages, want %q after %d", c.name, err, n-1, c.want, c.pages)
		}
	}
	for _, c := range []struct {
		h    pageHeader
		want string
	}{
		{pageHeader{CompressedSize: -1}, "the column's data end too early"},
		{pageHeader{UncompressedSize: -1}, "a page of -1 bytes"},
		{pageHeader{UncompressedSize: (1 << 30) + 1}, "a page of 1073741825 bytes"},
		{pageHeader{UncompressedSize: (1 << 30)}, ""},
		{pageHeader{CompressedSize: 100}, "the column's data end too early"},
		{pageHeader{DataPage: some(dataPageHeader{NumValues: -1})}, "more values than the column"},
	} {
		if !c.h.DataPage.Valid {
			c.h.DataPage = some(dataPageHeader{NumValues: 1})
		}
		var buf bytes.Buffer
		if err := marshal(&buf, &c.h); err != nil {
			t.Fatal(err)
		}
		_,
			err := newPages(bytes.NewReader(buf.Bytes()), "f", 0, l,
			&columnMetaData{NumValues: 1, TotalCompressedSize: int64(buf.Len())}).next()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.h, err, c.want)
		}
	}
	for h, want := range map[*pageHeader]int{
		{Type: format.DataPage, DataPage: some(dataPageHeader{NumValues: 3})}:       3,
		{Type: format.DataPageV2, DataPageV2: some(dataPageHeaderV2{NumValues: 4})}: 4,
		{Type: format.DataPage, DataPageV2: some(dataPageHeaderV2{NumValues: 4})}:   -1,
		{Type: format.DataPageV2, DataPage: some(dataPageHeader{NumValues: 3})}:     -1, {Type: format.DictionaryPage}: -1,
		{Type: format.IndexPage, DataPage: some(dataPageHeader{NumValues: 3})}: -1,
	} {
		if n, ok := (&page{header: *h}).values(); ok != (want >= 0) || ok && n != want || !ok && n != 0 {
			t.Errorf("%+v: %d, %v", *h, n, ok)
		}
	}
}

// A type of the Arrow schema is used only if the column is stored in the form of this type.
func TestTypesThatDescribe(t *testing.T) {
	leafOf := func(p format.Type, width int) *leaf { return &leaf{phys: p, width: width} }
	leaves := map[string]*leaf{
		"bool": leafOf(format.Boolean, 1), "i32": leafOf(format.Int32, 4), "i64": leafOf(format.Int64, 8),
		"i96": leafOf(format.Int96, 12), "f32": leafOf(format.Float, 4), "f64": leafOf(format.Double, 8),
		"bytes": leafOf(format.ByteArray, 0), "fixed2": leafOf(format.FixedLenByteArray, 2),
		"fixed9": leafOf(format.FixedLenByteArray, 9),
	}
	for _, c := range []struct {
		typ  arrow.DataType
		with string
	}{
		{arrow.FixedWidthTypes.Boolean, "bool"}, {arrow.PrimitiveTypes.Float32, "f32"}, {arrow.PrimitiveTypes.Float64, "f64"},
		{arrow.FixedWidthTypes.Float16, "fixed2"},
		{&arrow.TimestampType{}, "i64 i96"}, {&arrow.TimestampType{TimeZone: "UTC"}, "i64 i96"},
		{&arrow.TimestampType{TimeZone: "N. N. earns 3"}, ""},
		{&arrow.FixedSizeBinaryType{ByteWidth: 9}, "fixed9"}, {&arrow.FixedSizeBinaryType{ByteWidth: 2}, "fixed2"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 1}, ""},
		{arrow.BinaryTypes.String, "bytes"}, {arrow.BinaryTypes.LargeString, "bytes"},
		{arrow.BinaryTypes.StringView, "bytes"}, {arrow.BinaryTypes.Binary, "bytes"},
		{arrow.BinaryTypes.LargeBinary, "bytes"}, {arrow.BinaryTypes.BinaryView, "bytes"},
		{&arrow.Decimal128Type{Precision: 9}, "i32 i64 bytes fixed2 fixed9"},
		{&arrow.Decimal256Type{Precision: 9}, "i32 i64 bytes fixed2 fixed9"},
		{arrow.PrimitiveTypes.Int8, "i32 i64"}, {arrow.PrimitiveTypes.Int64, "i32 i64"},
		{arrow.PrimitiveTypes.Uint32, "i32 i64"}, {arrow.FixedWidthTypes.Date32, "i32 i64"},
		{arrow.FixedWidthTypes.Date64, "i32 i64"}, {arrow.FixedWidthTypes.Time32s, "i32 i64"},
		{arrow.FixedWidthTypes.Time64ns, "i32 i64"}, {arrow.FixedWidthTypes.Duration_s, "i32 i64"}, {arrow.Null, "i32 i64"},
		{arrow.FixedWidthTypes.MonthInterval, ""},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "bytes"},
		{arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8}), ""},
		{arrow.ListOf(arrow.PrimitiveTypes.Int8), ""},
		{arrow.MapOf(arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int8), ""},
	} {
		for name, l := range leaves {
			if got := describes(c.typ, &node{kind: leafKind, leaf: l}); got != slices.Contains(strings.Fields(c.with), name) {
				t.Errorf("%s describes %s: %v", c.typ, name, got)
			}
			if describes(c.typ, &node{kind: structKind, children: []*node{{leaf: l}, {leaf: l}}}) {
				t.Errorf("%s describes a structure of two", c.typ)
			}
		}
	}
	i64, text := &node{name: "a", leaf: leaves["i64"]}, &node{name: "b", leaf: leaves["bytes"]}
	f := func(name string, typ arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: typ} }
	a, b := f("a", arrow.PrimitiveTypes.Int64), f("b", arrow.BinaryTypes.String)
	record := &node{kind: structKind, children: []*node{i64, text}}
	list, mapping := &node{kind: listKind, children: []*node{i64}}, &node{kind: mapKind, children: []*node{text, i64}}
	whole := arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		typ  arrow.DataType
		n    *node
		want bool
	}{
		{arrow.StructOf(a, b), record, true}, {arrow.StructOf(b, a), record, false}, {arrow.StructOf(a), record, false},
		{arrow.StructOf(a, f("b", whole)), record, false},
		{arrow.StructOf(a, f("c", arrow.BinaryTypes.String)), record, false}, {arrow.StructOf(a, b), list, false},
		{arrow.ListOf(whole), list, true}, {arrow.LargeListOf(whole), list, true},
		{arrow.FixedSizeListOf(2, whole), list, true}, {arrow.ListOf(arrow.BinaryTypes.String), list, false},
		{arrow.ListOf(whole), record, false}, {arrow.ListOf(arrow.BinaryTypes.String), mapping, false},
		{arrow.MapOf(arrow.BinaryTypes.String, whole), mapping, true}, {arrow.MapOf(whole, whole), mapping, false},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String), mapping, false},
		{arrow.MapOf(whole, whole), list, false},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.ListOf(whole)}, list, false},
	} {
		if got := describes(c.typ, c.n); got != c.want {
			t.Errorf("%s: %v", c.typ, got)
		}
	}
	// The remaining part of a field has no metadata, and elements get their usual name.
	meta := arrow.NewMetadata([]string{"k"}, []string{"canary"})
	inner := arrow.Field{Name: "canary", Type: whole, Nullable: true, Metadata: meta}
	m := arrow.MapOf(arrow.BinaryTypes.String, arrow.StructOf(inner))
	m.KeysSorted = true
	m.SetItemNullable(false)
	for _, c := range []struct {
		typ  arrow.DataType
		want string
	}{
		{arrow.ListOfField(inner), "list<item: int64, nullable>"},
		{arrow.LargeListOfField(inner), "large_list<item: int64, nullable>"},
		{arrow.FixedSizeListOfField(3, inner), "fixed_size_list<item: int64, nullable>[3]"},
		{arrow.ListOfField(f("element", whole)), "list<element: int64>"},
		{arrow.ListOfField(f("array", whole)), "list<array: int64>"},
		{arrow.ListOfField(f("list", whole)), "list<list: int64>"},
		{arrow.ListOfField(f("item", whole)), "list<item: int64>"},
		{arrow.StructOf(inner), "struct<canary: int64 nullable>"},
		{m, "map<utf8, struct<canary: int64 nullable>, keys_sorted, items_non_nullable>"}, {whole, "int64"},
	} {
		got := bare(arrow.Field{Name: "x", Type: c.typ, Nullable: true, Metadata: meta})
		if s, ok := got.Type.(*arrow.StructType); ok && s.Field(0).HasMetadata() || got.HasMetadata() || !got.Nullable ||
			got.Name != "x" || got.Type.String() != c.want {
			t.Errorf("%s becomes %s, want %s", c.typ, got, c.want)
		}
	}
	for _, value := range []string{"no base 64!", base64.StdEncoding.EncodeToString([]byte("no schema")), ""} {
		if out, ok, err := arrowSchema(value, nil); out != "" || ok || err != nil {
			t.Errorf("%q: %q, %v, %v", value, out, ok, err)
		}
	}
	two := base64.StdEncoding.EncodeToString(serialised(t, a, a))
	if out, ok, err := arrowSchema(two,
		[]*outColumn{{Output: microdata.Output{Field: microdata.Field{Name: "a"}}, root: i64}}); out != "" || ok || err != nil {
		t.Errorf("two fields of one name: %q, %v, %v", out, ok, err)
	}
}

// A part of a source becomes a separate release with only the records of this part.
func TestReleaseOfAPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	rows := writeVaried(t, path, pqgo.MaxRowsPerRowGroup(60))
	src, err := (&SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := src.(*source)
	parts, err := s.Divide(t.Context(), 1, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []connectors.Part{parts[0], parts[3], parts[len(parts)-1]} {
		of, err := s.Part(p)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.parquet")
		layout := layoutOf([]string{"f64"}, []string{"map"})(of.Schema())
		k, err := (&SinkConfig{Path: out}).Create(t.Context(), connectors.Plan{Source: of, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		if err := (release{}).pump(t.Context(), of, k, layout); err != nil {
			t.Fatal(err)
		}
		if err := k.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := k.Finish(t.Context()); err != nil { // the second call has nothing to do
			t.Errorf("a second time: %v", err)
		}
		if err := k.Commit(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if f := holdMetadata(t, b); f.NumRows != p.Records || len(f.RowGroups) != int(p.To-p.From) {
			t.Errorf("%+v: %d records in %d row groups", p, f.NumRows, len(f.RowGroups))
		}
		got, err := pqgo.ReadFile[struct {
			F64 float64 `parquet:"f64"`
			S   string  `parquet:"s"`
		}](out)
		if err != nil || len(got) != int(p.Records) {
			t.Fatalf("%+v: %d records, %v", p, len(got), err)
		}
		for i, r := range got {
			if w := rows[p.First+int64(i)]; r.F64 != w.F64 || r.S != w.S {
				t.Fatalf("%+v: record %d differs", p, i)
			}
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Divide(cancelled, 1, connectors.Cut{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	st, err := s.Stored(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
