package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// inMemory is a file in memory.
type inMemory struct{ bytes.Buffer }

func (*inMemory) Sync() error  { return nil }
func (*inMemory) Close() error { return nil }

type readable struct{ io.ReaderAt }

func (readable) Close() error { return nil }

// carriedInMemory copies all columns of a file in memory, one row group after another, like a sink.
func carriedInMemory(original []byte) (out []byte, in *footer, err error) {
	ft, err := readFooter(bytes.NewReader(original), int64(len(original)))
	if err != nil {
		return nil, nil, err
	}
	src := &source{streams: []*stream{{file: files.File{Label: "fuzz"}, footer: ft}}, schema: &microdata.Schema{}}
	for _, r := range ft.roots {
		src.schema.Fields = append(src.schema.Fields, r.field())
	}
	to := &inMemory{}
	sk,
		err := newSink(&SinkConfig{create: func(string) (file, error) { return to, nil }},
		connectors.Plan{Source: src, Layout: layoutOf(nil, nil)(src.schema)})
	if err != nil {
		return nil, ft, err
	}
	s := sk.(*sink)
	s.stream, s.writing = 0, nil // each row group is written at once
	meta, err := s.metadata()
	if err != nil {
		return nil, ft, err
	}
	if s.out, err = newOutput(to, meta, nil); err != nil {
		return nil, ft, err
	}
	s.out.in = readable{bytes.NewReader(original)}
	for g, rg := range ft.RowGroups {
		s.group = &pendingGroup{group: g, rows: rg.NumRows, pages: make([][]*encodedPage, len(s.leaves)),
			dicts: make([]chunkDictionary, len(s.leaves))}
		if err := s.flush(context.Background()); err != nil {
			return nil, ft, err
		}
	}
	if err := s.out.finish(); err != nil {
		return nil, ft, err
	}
	return to.Bytes(), ft, nil
}

// decoded returns the levels and values of a chunk, each with its length.
func decoded(t testing.TB, file []byte, group int, l *leaf, m *columnMetaData) (rep, def, data []byte) {
	t.Helper()
	p := newPages(bytes.NewReader(file), "fuzz", group, l, m)
	for {
		pg, err := p.next()
		if err == io.EOF {
			return rep, def, data
		}
		if err != nil {
			t.Fatal(err)
		}
		v := values{dense: true}
		if err := v.page(p.chunk, pg); err != nil {
			t.Fatal(err)
		}
		rep, def = append(rep, v.rep...), append(def, v.def...)
		if l.width > 0 {
			data = append(data, v.data[:v.n*l.width]...)
			continue
		}
		for i := range v.n {
			data = append(binary.LittleEndian.AppendUint32(data, uint32(len(v.bytes(i)))), v.bytes(i)...)
		}
	}
}

// sound checks a copy: footer and pages are well-formed, contain only values, and the values equal
// those of the source.
func sound(t testing.TB, file, out []byte, in *footer) {
	t.Helper()
	ft, err := readFooter(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatalf("the copy: %v", err)
	}
	groups := slices.DeleteFunc(slices.Clone(in.RowGroups), func(rg rowGroup) bool { return rg.NumRows == 0 })
	if len(groups) != len(ft.RowGroups) {
		t.Fatalf("%d row groups of %d", len(ft.RowGroups), len(groups))
	}
	s := &sink{source: &source{streams: []*stream{{footer: ft}}}, out: &output{in: readable{bytes.NewReader(out)}}}
	for g := range ft.RowGroups {
		for i, l := range ft.leaves {
			again, err := s.inspect(context.Background(), s.out.in, g, l, g%2 == 0)
			if err != nil {
				t.Fatalf("the copy: %v", err)
			}
			// The output of our own Brotli encoder is not inspected.
			if again.anew != "" && again.meta.Codec != format.Brotli {
				t.Fatalf("the copy must be written anew: %s", again.anew)
			}
			r1, d1, v1 := decoded(t, file, g, in.leaves[i], &groups[g].Columns[i].MetaData.V)
			r2, d2, v2 := decoded(t, out, g, l, &ft.RowGroups[g].Columns[i].MetaData.V)
			if !bytes.Equal(r1, r2) || !bytes.Equal(d1, d2) || !bytes.Equal(v1, v2) {
				t.Fatalf("row group %d, column %s: other values: %x %x and %x %x", g, joinPath(l.path), d1, v1, d2, v2)
			}
		}
	}
}

// corpus returns small files written by pyarrow 26, DuckDB 2.0, Spark 4.3 and parquet-go.
func corpus(f testing.TB) (all [][]byte) {
	f.Helper()
	paths, err := filepath.Glob("testdata/writers/*.parquet")
	if err != nil || len(paths) < 8 {
		f.Fatalf("the corpus has %d files: %v", len(paths), err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, b)
	}
	for _, in := range inputs()[:8] {
		b, _ := carriedFile(f, in.options...)
		all = append(all, b)
	}
	return all
}

// footerAt returns the offset of a file's footer.
func footerAt(file []byte) int {
	return len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
}

// Files of every writer are copied, and the copies are sound.
func TestCorpus(t *testing.T) {
	for i, file := range corpus(t) {
		out, in, err := carriedInMemory(file)
		if err != nil {
			t.Errorf("file %d: %v", i, err)
			continue
		}
		sound(t, file, out, in)
	}
}

// FuzzFooter replaces the footers of real files.
func FuzzFooter(f *testing.F) {
	all := corpus(f)
	for i, file := range all {
		f.Add(file[footerAt(file):len(file)-8], uint8(i))
	}
	f.Fuzz(func(t *testing.T, footer []byte, which uint8) {
		file := all[int(which)%len(all)]
		file = append(bytes.Clone(file[:footerAt(file)]), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), magic...)
		if out, in, err := carriedInMemory(file); err == nil {
			sound(t, file, out, in)
		} else if errors.Is(err, files.ErrChanged) {
			t.Error("the copy differs from the inspected bytes")
		}
	})
}

// FuzzPages replaces the pages of one column, in a file with a correct footer.
func FuzzPages(f *testing.F) {
	type column struct {
		elements []schemaElement
		meta     columnMetaData
		rows     int64
	}
	var columns []column
	for _, file := range corpus(f) {
		ft, err := readFooter(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			f.Fatal(err)
		}
		for _, r := range ft.roots {
			if len(r.leaves) > 1 {
				continue
			}
			m := ft.RowGroups[0].Columns[r.leaves[0].index].MetaData.V
			from, to := m.extent()
			f.Add(file[from:to], uint8(len(columns)))
			columns = append(columns, column{r.elements, m, ft.RowGroups[0].NumRows})
		}
	}
	f.Fuzz(func(t *testing.T, chunk []byte, which uint8) {
		c := columns[int(which)%len(columns)]
		m := columnMetaData{Type: c.meta.Type, Codec: c.meta.Codec, PathInSchema: c.meta.PathInSchema,
			NumValues: c.meta.NumValues, DataPageOffset: 4, TotalCompressedSize: int64(len(chunk))}
		meta := &fileMetaData{
			Schema: append([]schemaElement{{Name: "schema", NumChildren: some[int32](1)}}, c.elements...), NumRows: c.rows,
			RowGroups: []rowGroup{{NumRows: c.rows, Columns: []columnChunk{{MetaData: some(m)}}}},
		}
		file := bytes.NewBufferString(magic)
		file.Write(chunk)
		if err := writeFooter(file, meta); err != nil {
			t.Fatal(err)
		}
		out, in, err := carriedInMemory(file.Bytes())
		if err == nil {
			sound(t, file.Bytes(), out, in)
		} else if errors.Is(err, files.ErrChanged) {
			t.Error("the copy differs from the inspected bytes")
		}
	})
}
