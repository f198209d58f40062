package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
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

// editColumn forges one column of a file.
func editColumn(t testing.TB, file []byte, column string,
	edit func(m *columnMetaData, pages []forgedPage) []forgedPage) []byte {
	t.Helper()
	return forge(t, file, func(_ int, l *leaf, m *columnMetaData, pages []forgedPage) []forgedPage {
		if joinPath(l.path) == column {
			return edit(m, pages)
		}
		return pages
	})
}

// Columns are refused, with their place, if their pages contradict each other, the row group or the
// footer.
func TestChunksThatAreRefused(t *testing.T) {
	v1, rows := carriedFile(t, pqgo.Compression(&pqgo.Uncompressed))
	v2, _ := carriedFile(t, pqgo.Compression(&pqgo.Uncompressed), pqgo.DataPageVersion(2))
	fresh := func(p *forgedPage) *forgedPage {
		p.head = nil
		return p
	}
	for _, c := range []struct {
		name, column, want string
		file               []byte
		edit               func(m *columnMetaData, pages []forgedPage) []forgedPage
	}{
		{"as they were", "dict", "", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage { return p }},
		{"a second dictionary", "dict", "a second dictionary", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage {
			return append(slices.Clone(p[:1]), p...)
		}},
		{"a dictionary behind", "n", "a dictionary behind the values", v1,
			func(_ *columnMetaData, p []forgedPage) []forgedPage {
				return append(p,
					forgedPage{header: pageHeader{Type: format.DictionaryPage, DictionaryPage: some(format.DictionaryPageHeader{})}})
			}},
		{"values before their dictionary", "dict", "the dictionary is missing", v1,
			func(_ *columnMetaData, p []forgedPage) []forgedPage {
				p[0], p[1] = p[1], p[0]
				return p
			}},
		{"a dictionary at the end", "dict", "a second dictionary", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage {
			return append(p, p[0])
		}},
		{"no dictionary", "dict", "the dictionary is missing", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage {
			return p[1:]
		}},
		{"a page less", "n", "the pages hold", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage {
			return p[:len(p)-1]
		}},
		{"a page more", "n", "the pages hold more values than the column", v1,
			func(_ *columnMetaData, p []forgedPage) []forgedPage { return append(p, p[0]) }},
		{"a page of fewer than no values", "n", "ends too early", v1, func(_ *columnMetaData, p []forgedPage) []forgedPage {
			fresh(&p[0]).header.DataPage.V.NumValues = -1
			return p
		}},
		{"an index beyond", "dict", "an index beyond the dictionary", v1,
			func(m *columnMetaData, p []forgedPage) []forgedPage {
				last(p).body = append([]byte{8, byte(last(p).header.DataPage.V.NumValues << 1), 1}, 17)
				last(p).body = slices.Concat([]byte{8}, binary.AppendUvarint(nil, uint64(last(p).header.DataPage.V.NumValues)<<1),
					[]byte{17})
				fresh(last(p)).header.UncompressedSize, last(p).header.CompressedSize = int32(len(last(p).body)),
					int32(len(last(p).body))
				return p
			}},
		{"the last index", "dict", "", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			last(p).body = slices.Concat([]byte{8}, binary.AppendUvarint(nil, uint64(last(p).header.DataPage.V.NumValues)<<1),
				[]byte{16})
			fresh(last(p)).header.UncompressedSize, last(p).header.CompressedSize = int32(len(last(p).body)),
				int32(len(last(p).body))
			return p
		}},
		{"no index", "dict", "ends too early", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			last(p).body = nil
			fresh(last(p)).header.UncompressedSize, last(p).header.CompressedSize = 0, 0
			return p
		}},
		{"too wide an index", "dict", "a bit width of 33", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			fresh(last(p)).body[0] = 33
			return p
		}},
		{"a broken dictionary", "dict", "ends too early", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			fresh(&p[0]).header.DictionaryPage.V.NumValues++
			return p
		}},
		{"a list that begins in the middle", "list.list.element", "begins in the middle of a record", v1,
			func(m *columnMetaData, p []forgedPage) []forgedPage {
				n := p[0].header.DataPage.V.NumValues
				repack(t, m.Codec, &p[0], func(b []byte) []byte {
					levels, rest, err := levelsOf(b)
					if err != nil {
						t.Fatal(err)
					}
					out := slices.Concat([]byte{2, 1}, binary.AppendUvarint(nil, uint64(n-1)<<1), []byte{0})
					_ = levels
					return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(out))), out...), rest...)
				})
				return p
			}},
		{"a list that goes on in another record", "list.list.element", "the pages hold", v1,
			func(m *columnMetaData, p []forgedPage) []forgedPage {
				n := last(p).header.DataPage.V.NumValues
				repack(t, m.Codec, last(p), func(b []byte) []byte {
					_, rest, err := levelsOf(b)
					if err != nil {
						t.Fatal(err)
					}
					out := slices.Concat(binary.AppendUvarint(nil, uint64(n-1)<<1), []byte{0, 2, 1})
					return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(out))), out...), rest...)
				})
				return p
			}},
		{"too high a level", "list.list.element", "a number has more bits than its width", v1,
			func(m *columnMetaData, p []forgedPage) []forgedPage {
				n := last(p).header.DataPage.V.NumValues
				repack(t, m.Codec, last(p), func(b []byte) []byte {
					levels, rest, err := levelsOf(b)
					if err != nil {
						t.Fatal(err)
					}
					_, values, err := levelsOf(rest)
					if err != nil {
						t.Fatal(err)
					}
					rep := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
					def := append(binary.AppendUvarint(nil, uint64(n)<<1), 3)
					return slices.Concat(rep, binary.LittleEndian.AppendUint32(nil, uint32(len(def))), def, values)
				})
				return p
			}},
		{"a miscounted row", "opt", "", v2, func(m *columnMetaData, p []forgedPage) []forgedPage {
			fresh(last(p)).header.DataPageV2.V.NumRows++
			return p
		}},
		{"a miscounted null", "opt", "", v2, func(m *columnMetaData, p []forgedPage) []forgedPage {
			fresh(last(p)).header.DataPageV2.V.NumNulls++
			return p
		}},
		{"a page of nothing", "n", "", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			empty := p[0]
			empty.head, empty.body = nil, nil
			empty.header.DataPage.V.NumValues, empty.header.CompressedSize, empty.header.UncompressedSize = 0, 0, 0
			return append(p, empty)
		}},
		{"a page of another kind", "n", "", v1, func(m *columnMetaData, p []forgedPage) []forgedPage {
			index := forgedPage{header: pageHeader{Type: format.IndexPage, CompressedSize: 3, UncompressedSize: 3},
				body: []byte("abc")}
			return append([]forgedPage{index}, p...)
		}},
	} {
		forged := editColumn(t, c.file, c.column, c.edit)
		out, err := carryAll(t, forged, release{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "in.parquet: row group 0, column "+c.column) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := holdMetadata(t, out)
		want := rows
		if c.name == "the last index" {
			if want, err = pqgo.Read[carriedRow](bytes.NewReader(forged), int64(len(forged))); err != nil {
				t.Fatal(err)
			}
		}
		got, err := pqgo.Read[carriedRow](bytes.NewReader(out), int64(len(out)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the values are not those of the source: %v", c.name, err)
		}
		// Pages with wrong counts, or pages that contain no values, are written again: as pages of
		// version 1.
		i := slices.IndexFunc(f.leaves, func(l *leaf) bool { return joinPath(l.path) == c.column })
		anew := f.RowGroups[0].Columns[i].MetaData.V.EncodingStats
		if strings.HasPrefix(c.name, "a miscounted") && !slices.ContainsFunc(anew, func(s format.PageEncodingStats) bool {
			return s.PageType == format.DataPage
		}) {
			t.Errorf("%s: is copied: %v", c.name, anew)
		}
	}
}

// The headers of copied pages contain the known fields of the source's headers and nothing else.
func TestHeadersOfCopies(t *testing.T) {
	file, rows := carriedFile(t, pqgo.Compression(&pqgo.Uncompressed), pqgo.DataPageStatistics(true))
	forged := editColumn(t, file, "dict", func(m *columnMetaData, p []forgedPage) []forgedPage {
		p[0].head = nil
		p[0].header.DictionaryPage.V.IsSorted = true
		return p
	})
	forged = editColumn(t, forged, "n", func(m *columnMetaData, p []forgedPage) []forgedPage {
		p[0].head = nil
		// of levels that do not exist
		p[0].header.DataPage.V.DefinitionEncoding, p[0].header.DataPage.V.RepetitionEncoding = 4, 4
		return p
	})
	out, err := carryAll(t, forged, release{})
	if err != nil {
		t.Fatal(err)
	}
	holdMetadata(t, out)
	forge(t, out, func(_ int, l *leaf, m *columnMetaData, p []forgedPage) []forgedPage {
		for _, pg := range p {
			if d := pg.header.DictionaryPage; d.Valid && d.V.IsSorted {
				t.Errorf("%v: a dictionary declared as sorted", l.path)
			}
			if d := pg.header.DataPage; d.Valid &&
				(d.V.DefinitionEncoding != format.RLE || d.V.RepetitionEncoding != format.RLE) {
				t.Errorf("%v: %+v", l.path, d.V)
			}
		}
		return p
	})
	got, err := pqgo.Read[carriedRow](bytes.NewReader(out), int64(len(out)))
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("the values are not those of the source: %v", err)
	}
	// Pages that keep their position and header are copied in one piece. Pages with another header
	// are not.
	src, f, err := openedSource(t, file)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{source: src, out: &output{in: readable{bytes.NewReader(file)}}}
	for i, l := range f.leaves {
		in, err := s.inspect(t.Context(), s.out.in, 0, l, false)
		if err != nil || in.anew != "" {
			t.Fatalf("%v: %v, %s", l.path, err, in.anew)
		}
		m := f.RowGroups[0].Columns[i].MetaData.V
		var n int64
		for _, p := range in.pieces {
			n += int64(len(p.head)) + p.n
		}
		if n != in.meta.TotalCompressedSize || in.meta.NumValues != m.NumValues || in.meta.Codec != m.Codec ||
			in.meta.Type != l.phys {
			t.Errorf("%v: pieces of %d bytes, %+v", l.path, n, in.meta)
		}
	}
	// A chunk that was already released once is copied in one piece.
	again, released, err := openedSource(t, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range released.leaves {
		in, err := (&sink{source: again}).inspect(t.Context(), readable{bytes.NewReader(out)}, 0, l, false)
		if err != nil || len(in.pieces) != 1 || len(in.pieces[0].head) != 0 || in.pieces[0].n != in.meta.TotalCompressedSize {
			t.Errorf("%v: %d pieces, %v", l.path, len(in.pieces), err)
		}
	}
	// If a file is replaced or truncated between inspection and copy, that is detected.
	in, err := s.inspect(t.Context(), s.out.in, 0, f.leaves[0], false)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(file)
	other[in.pieces[len(in.pieces)-1].from+in.pieces[len(in.pieces)-1].n-1]++
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{"the same": {file, nil}, "another byte": {other, files.ErrChanged},
		"cut off": {file[:in.pieces[0].from+3], errCut}} {
		to := &memoryFile{}
		o := &output{file: to}
		in.source = readable{bytes.NewReader(c.b)}
		err := o.copy(in)
		if !errors.Is(err, c.want) || err == nil && o.at != in.meta.TotalCompressedSize {
			t.Errorf("%s: %v, %d bytes", name, err, o.at)
		}
		s.out = o
		if _, err := s.splice(0, in); c.want != nil &&
			(!errors.Is(err, c.want) || !strings.Contains(err.Error(), "row group 0, column n")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&output{}).copy(&inspection{}); err != nil {
		t.Errorf("a chunk of no page: %v", err)
	}
	s.out, in.source = &output{file: &fullDisk{left: 10}}, readable{bytes.NewReader(file)}
	if _, err := s.splice(0, in); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.inspect(cancelled, s.out.in, 0, f.leaves[0], true); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled inspection: %v", err)
	}
}

func openedSource(t testing.TB, file []byte) (*source, *footer, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := (&SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		return nil, nil, err
	}
	return src.(*source), src.(*source).streams[0].footer, nil
}

// The sort order of a row group is kept as far as its columns are released unchanged.
func TestKeptOrder(t *testing.T) {
	original, _ := carriedFile(t)
	src, f, err := openedSource(t, original)
	if err != nil {
		t.Fatal(err)
	}
	by := func(columns ...int32) (out []format.SortingColumn) {
		for _, c := range columns {
			out = append(out, format.SortingColumn{ColumnIdx: c, Descending: c%2 == 1, NullsFirst: c > 2})
		}
		return out
	}
	for _, c := range []struct {
		masked, drop []string
		by           []int32
		want         [][2]int32 // the column in the release, and in the source
	}{
		{nil, nil, []int32{2, 0, 9}, [][2]int32{{2, 2}, {0, 0}, {9, 9}}},
		{nil, []string{"f"}, []int32{2, 0, 9}, [][2]int32{{1, 2}, {0, 0}, {8, 9}}},
		{nil, []string{"n"}, []int32{2, 0, 9}, [][2]int32{{1, 2}}}, {[]string{"opt"}, nil, []int32{4, 0}, nil},
		{[]string{"opt"}, nil, []int32{0, 4, 1}, [][2]int32{{0, 0}}}, {nil, nil, nil, nil},
		{nil, nil, []int32{8}, [][2]int32{{8, 8}}},
	} {
		k, err := newSink(&SinkConfig{create: func(string) (file, error) { return &memoryFile{}, nil }},
			connectors.Plan{Source: src, Layout: layoutOf(c.masked, c.drop)(src.Schema())})
		if err != nil {
			t.Fatal(err)
		}
		var got [][2]int32
		for i, s := range k.(*sink).sorting(by(c.by...)) {
			from := c.by[i]
			got = append(got, [2]int32{s.ColumnIdx, from})
			if s.Descending != (from%2 == 1) || s.NullsFirst != (from > 2) {
				t.Errorf("%+v", s)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v without %v, masked %v: %v, want %v", c.by, c.drop, c.masked, got, c.want)
		}
	}
	// The footer of the release contains the order.
	f.RowGroups[0].SortingColumns = by(9, 0)
	data := footerAt(original)
	sorted := bytes.NewBuffer(bytes.Clone(original[:data]))
	if err := writeFooter(sorted, &f.fileMetaData); err != nil {
		t.Fatal(err)
	}
	out, err := carryAll(t, sorted.Bytes(), release{layout: layoutOf(nil, []string{"f"})})
	if err != nil {
		t.Fatal(err)
	}
	if g := holdMetadata(t, out).RowGroups[0].SortingColumns; len(g) != 2 || g[0].ColumnIdx != 8 || g[1].ColumnIdx != 0 {
		t.Errorf("%+v", g)
	}
}

// A release that cannot be written is refused before anything is written.
func TestReleasesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	writePeople(t, filepath.Join(dir, "k=a", "x.parquet"), 3)
	src, err := (&SourceConfig{Path: dir}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	single, err := (&SourceConfig{Path: filepath.Join(dir, "k=a", "x.parquet")}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.parquet")
	for _, c := range []struct {
		name, want string
		src        connectors.Source
		layout     func(l *microdata.Layout)
	}{
		{"as it should be", "", src, func(*microdata.Layout) {}},
		{"no column", "no column is released into the files themselves", src, func(l *microdata.Layout) {
			l.Release = l.Release[4:]
		}},
		{"a folder that is masked and not read", "column k is a folder's name, and cannot be carried", src,
			func(l *microdata.Layout) { l.Release[4].Masked = true }},
		{"a carried column of another type", "column wage is carried, and its type changes", single,
			func(l *microdata.Layout) { l.Release[1].Field.Type = arrow.PrimitiveTypes.Float32 }},
		{"a column that cannot be stored", "Parquet cannot store", single, func(l *microdata.Layout) {
			l.Release[1].Field.Type, l.Release[1].Column = arrow.FixedWidthTypes.MonthInterval, 0
		}},
	} {
		l := layoutOf(nil, nil)(c.src.Schema())
		c.layout(l)
		k, err := (&SinkConfig{Path: out}).Create(t.Context(), connectors.Plan{Source: c.src, Layout: l})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if err := k.Abort(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something is there", c.name)
		}
	}
	// Without a Parquet source no column can be carried.
	l := contentLayout()
	l.Release[1].Column = -1
	if _, err := (&SinkConfig{Path: out}).Content(l); err == nil ||
		!strings.Contains(err.Error(), "column s is not decoded, and the source is not Parquet") {
		t.Errorf("%v", err)
	}
	// A block of another source does not contain the positions of its records.
	k,
		err := (&SinkConfig{Path: out}).Create(t.Context(),
		connectors.Plan{Source: single, Layout: layoutOf([]string{"wage"}, nil)(single.Schema())})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Abort()
	b := new(microdata.Block)
	b.Reset(0, 0, 3, 1)
	if _, err := k.Encode(b); err == nil || !strings.Contains(err.Error(), "does not say where its records are stored") {
		t.Errorf("%v", err)
	}
	// A value that the column cannot store is an error with its place.
	b.Carried = &carried{source: single.(*source), spans: []span{{0, 0, 3}}}
	v := b.Columns[0].Alloc(3, true)
	v.Valid.Clear(1)
	var e *connectors.RecordError
	if _, err := k.Encode(b); !errors.As(err, &e) || e.Column != "wage" || !strings.HasSuffix(e.Stream, "x.parquet") ||
		e.Reason != errRequired.Error() {
		t.Errorf("%v", err)
	}
}

// The codec of a column is the configured one, or else the source's. A codec that this package does
// not write is replaced by one that it writes.
func TestCodecOfAColumn(t *testing.T) {
	for _, c := range []struct {
		config        string
		source        format.CompressionCodec
		carried, want format.CompressionCodec
	}{
		{"", format.Snappy, format.Snappy, format.Snappy}, {"gzip", format.Snappy, format.Snappy, format.Gzip},
		{"none", format.Zstd, format.Zstd, format.Uncompressed},
		{"", format.Uncompressed, format.Uncompressed, format.Uncompressed},
		{"", format.Lz4, format.Lz4Raw, format.Lz4Raw}, {"", format.LZO, format.Zstd, format.Zstd},
		{"", format.Brotli, format.Brotli, format.Brotli}, {"", format.Gzip, format.Gzip, format.Gzip},
		{"", format.Lz4Raw, format.Lz4Raw, format.Lz4Raw},
		{"lz4", format.Zstd, format.Zstd, format.Lz4Raw}, {"brotli", format.Zstd, format.Zstd, format.Brotli},
		{"snappy", format.Zstd, format.Zstd, format.Snappy}, {"zstd", format.Gzip, format.Gzip, format.Zstd},
	} {
		m := twoColumns()
		m.RowGroups[0].Columns[1].MetaData.V.Codec = c.source
		ft, err := footerOf(fileOf(t, m))
		if err != nil {
			t.Fatal(err)
		}
		none := twoColumns()
		none.RowGroups, none.NumRows = nil, 0
		empty, err := footerOf(fileOf(t, none))
		if err != nil {
			t.Fatal(err)
		}
		s := &sink{cfg: SinkConfig{Compression: c.config}, source: &source{streams: []*stream{{footer: empty}, {footer: ft}}}}
		col := &outColumn{root: ft.roots[1], from: ft.roots[1], carried: true}
		if got := s.compressor(col, 0); got.codec != c.carried {
			t.Errorf("%+v, carried: %s", c, got.codec)
		}
		col.carried = false
		if got := s.compressor(col, 0); got.codec != c.want {
			t.Errorf("%+v: %s", c, got.codec)
		}
	}
	if got := (&sink{}).compressor(&outColumn{}, 0); got.codec != format.Zstd {
		t.Errorf("without a source: %s", got.codec)
	}
	for in, want := range map[string]string{"schema": "schema", "root": "root", "spark_schema": "spark_schema",
		"duckdb_schema": "duckdb_schema", "arrow_schema": "arrow_schema", "hive_schema": "hive_schema", "m": "m",
		"the wage of N. N.": "schema", "": "schema"} {
		if got := rootName(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}
