package parquet

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// forgedPage is a page of a forged file: its header and its body.
type forgedPage struct {
	header pageHeader
	head   []byte // written instead of the header unless nil
	body   []byte
}

// forge rewrites a file with other pages. edit receives all pages of a chunk and returns the pages
// to write. If it changes a body or a header, it must adjust the sizes in the header itself.
func forge(t testing.TB, from []byte,
	edit func(g int, l *leaf, m *columnMetaData, pages []forgedPage) []forgedPage) []byte {
	t.Helper()
	f, err := readFooter(bytes.NewReader(from), int64(len(from)))
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBufferString(magic)
	for g := range f.RowGroups {
		for i := range f.RowGroups[g].Columns {
			c := &f.RowGroups[g].Columns[i]
			m := &c.MetaData.V
			p := newPages(bytes.NewReader(from), "", g, f.leaves[i], m)
			var pages []forgedPage
			for p.at < p.end {
				pg, err := p.read()
				if err != nil {
					t.Fatal(err)
				}
				pages = append(pages, forgedPage{pg.header, slices.Clone(p.head), pg.body})
			}
			m.DictionaryPageOffset = thrift.Null[int64]{}
			start := int64(out.Len())
			m.DataPageOffset = 0
			for _, pg := range edit(g, f.leaves[i], m, pages) {
				switch {
				case pg.header.Type == format.DictionaryPage && !m.DictionaryPageOffset.Valid:
					m.DictionaryPageOffset = some(int64(out.Len()))
				case m.DataPageOffset == 0 && pg.header.Type != format.DictionaryPage:
					m.DataPageOffset = int64(out.Len())
				}
				if pg.head == nil {
					pg.header.CRC = thrift.Null[int32]{}
					if err := marshal(out, &pg.header); err != nil {
						t.Fatal(err)
					}
				}
				out.Write(pg.head)
				out.Write(pg.body)
			}
			m.TotalCompressedSize = int64(out.Len()) - start
			c.OffsetIndexOffset, c.ColumnIndexOffset, m.BloomFilterOffset = thrift.Null[int64]{}, thrift.Null[int64]{},
				thrift.Null[int64]{}
		}
	}
	if err := writeFooter(out, &f.fileMetaData); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// carryAll releases a file unchanged and returns the release.
func carryAll(t testing.TB, file []byte, r release) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	r.from.Path, r.to.Path = dir+"/in.parquet", dir+"/out.parquet"
	if err := os.WriteFile(r.from.Path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if r.layout == nil {
		r.layout = layoutOf(nil, nil)
	}
	if err := r.run(t.Context()); err != nil {
		return nil, err
	}
	out, err := os.ReadFile(r.to.Path)
	if err != nil {
		t.Fatal(err)
	}
	return out, nil
}
