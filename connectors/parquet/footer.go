package parquet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

const magic = "PAR1"

// footer is a file's metadata after checking: every row group has a chunk for every
// leaf, of the leaf's type, that lies within the file and overlaps nothing else.
type footer struct {
	fileMetaData
	roots  []*node
	leaves []*leaf
	size   int64 // of the file
	length int64 // of the stored metadata
	sum    [sha256.Size]byte
}

// corrupt is an error about a part of a file other than a single record. It never
// contains a value.
type corrupt struct {
	file  string // label
	place string // "row group 3, column x"; "" for the file as a whole
	err   error
}

func (c *corrupt) Error() string {
	if c.place == "" {
		return fmt.Sprintf("%s: %v", c.file, c.err)
	}
	return fmt.Sprintf("%s: %s: %v", c.file, c.place, c.err)
}

func (c *corrupt) Unwrap() error { return c.err }

var errEncrypted = errors.New("the file is encrypted, which is not supported; decrypt it first")

// readFooter reads the metadata of a file of the given size.
func readFooter(r io.ReaderAt, size int64) (*footer, error) {
	if size < 12 {
		return nil, fmt.Errorf("is not a Parquet file, or was cut off: it has %d bytes", size)
	}
	tail := make([]byte, min(size, 64<<10))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return nil, err
	}
	end := tail[len(tail)-8:]
	switch string(end[4:]) {
	case magic:
	case "PARE":
		return nil, errEncrypted
	default:
		return nil, errors.New("is not a Parquet file, or was cut off: it does not end with PAR1")
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > size-12 {
		return nil, fmt.Errorf("the footer's length, %d bytes, is more than the file has", length)
	}
	var b []byte
	if length+8 <= int64(len(tail)) {
		b = tail[int64(len(tail))-8-length : len(tail)-8]
	} else {
		b = make([]byte, length)
		if _, err := r.ReadAt(b, size-8-length); err != nil {
			return nil, fmt.Errorf("reading the footer: %w", err)
		}
	}
	f := &footer{size: size, length: length, sum: sha256.Sum256(b)}
	if _, err := unmarshal(b, &f.fileMetaData); err != nil {
		return nil, fmt.Errorf("the footer is corrupt: %w", err)
	}
	if f.EncryptionAlgorithm.Valid {
		return nil, errEncrypted
	}
	var err error
	if f.roots, f.leaves, err = treeOf(f.Schema); err != nil {
		return nil, err
	}
	return f, f.check(size - 8 - length)
}

// sameFooter reads the metadata of a file again and compares them with those from which
// the columns were determined.
func (f *footer) sameFooter(r io.ReaderAt) error {
	b := make([]byte, f.length)
	if _, err := r.ReadAt(b, f.size-8-f.length); err != nil {
		return fmt.Errorf("reading the footer: %w", err)
	}
	if sha256.Sum256(b) != f.sum {
		return fmt.Errorf("%w: its footer is not the one that was there before", files.ErrChanged)
	}
	return nil
}

// extent is a part of a file: a column's pages, or an index or filter of them.
type extent struct {
	from, to  int64
	what      string
	rg, index int
}

// check verifies the row groups. data is the place where the footer begins.
func (f *footer) check(data int64) error {
	var rows int64
	var extents []extent
	for g := range f.RowGroups {
		rg := &f.RowGroups[g]
		if rg.NumRows < 0 || len(rg.Columns) != len(f.leaves) {
			return fmt.Errorf("row group %d: has %d columns and %d rows, and the schema %d columns", g, len(rg.Columns),
				rg.NumRows, len(f.leaves))
		}
		rows += rg.NumRows
		for i := range rg.Columns {
			l := f.leaves[i]
			if err := rg.checkColumn(i, l); err != nil {
				return fmt.Errorf("%s: %w", chunkPlace(g, i), err)
			}
			if rg.NumRows == 0 {
				continue // it is never read; some writers do not give the place of an empty chunk
			}
			for _, e := range rg.Columns[i].extents() {
				if e.from < 4 || e.to < e.from || e.to > data {
					return fmt.Errorf("%s: the column's %s outside the file; it was cut off or is corrupt", chunkPlace(g, i), e.what)
				}
				e.rg, e.index = g, i
				extents = append(extents, e)
			}
		}
	}
	if rows != f.NumRows {
		return fmt.Errorf("the row groups hold %d rows, and the file is said to hold %d", rows, f.NumRows)
	}
	// The copy of a chunk that overlaps something else would contain the bytes of both.
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(extents); i++ {
		if e, last := extents[i], extents[i-1]; e.from < last.to {
			return fmt.Errorf("%s: the column's %s within what belongs to %s", chunkPlace(e.rg, e.index), e.what,
				chunkPlace(last.rg, last.index))
		}
	}
	return nil
}

// checkColumn verifies a row group's metadata of column i.
func (rg *rowGroup) checkColumn(i int, l *leaf) error {
	c := &rg.Columns[i]
	m := &c.MetaData.V
	switch {
	case c.CryptoMetadata.Valid || !c.MetaData.Valid:
		return errors.New("the column is encrypted, which is not supported; decrypt the file first")
	case c.FilePath != "":
		return errors.New("the column's data are in another file, which is not supported")
	case m.Type != l.phys || !slices.Equal([]string(m.PathInSchema), l.path):
		return errors.New("is not the schema's column at this place")
	case m.NumValues < 0 || m.NumValues < rg.NumRows || l.maxRep == 0 && m.NumValues != rg.NumRows:
		return fmt.Errorf("has %d values in %d rows", m.NumValues, rg.NumRows)
	}
	return nil
}

// extents returns the extents of the chunk's pages, and of its page indexes and Bloom
// filter if it has them. A filter of unknown length counts as one byte.
func (c *columnChunk) extents() []extent {
	m := &c.MetaData.V
	from, to := m.extent()
	all := []extent{{from: from, to: to, what: "data lie"}}
	for _, e := range []struct {
		what   string
		from   thrift.Null[int64]
		length thrift.Null[int32]
	}{{"offset index lies", c.OffsetIndexOffset, c.OffsetIndexLength},
		{"column index lies", c.ColumnIndexOffset, c.ColumnIndexLength},
		{"Bloom filter lies", m.BloomFilterOffset, m.BloomFilterLength}} {
		if e.from.V == 0 || e.length.Valid && e.length.V == 0 {
			continue // absent
		}
		n := int64(1)
		if e.length.Valid {
			n = int64(e.length.V)
		}
		to := e.from.V + n
		if n < 0 || to < e.from.V {
			to = -1
		}
		all = append(all, extent{from: e.from.V, to: to, what: e.what})
	}
	return all
}

// extent returns the range of a chunk's bytes: the dictionary page, if there is one, and
// the data pages.
func (m *columnMetaData) extent() (from, to int64) {
	from = m.DataPageOffset
	if d := m.DictionaryPageOffset; d.Valid && d.V > 0 && d.V < from {
		from = d.V
	}
	if m.TotalCompressedSize < 0 || from > 1<<62-m.TotalCompressedSize {
		return from, -1
	}
	return from, from + m.TotalCompressedSize
}

// chunkPlace says where a column chunk is, without the column's name: at this point nothing says
// that it is no value of a respondent.
func chunkPlace(rowGroup, leaf int) string {
	return fmt.Sprintf("row group %d, column chunk %d", rowGroup, leaf+1)
}

func place(rowGroup int, l *leaf) string {
	return fmt.Sprintf("row group %d, column %s", rowGroup, joinPath(l.path))
}

func joinPath(path []string) string {
	s := path[0]
	for _, p := range path[1:] {
		s += "." + p
	}
	return s
}

// sameSchema reports the first difference between the columns of two files, by
// name, type and physical type. Encodings, codecs and row groups may differ.
func sameSchema(a, b *footer) error {
	if len(a.roots) != len(b.roots) {
		return fmt.Errorf("has %d columns where the first file has %d", len(b.roots), len(a.roots))
	}
	for i, x := range a.roots {
		y := b.roots[i]
		if x.name != y.name {
			return fmt.Errorf("column %d has another name than in the first file", i+1)
		}
		if x.nullable != y.nullable || x.typ.Fingerprint() != y.typ.Fingerprint() || len(x.leaves) != len(y.leaves) {
			if x.leaf == nil && y.leaf == nil {
				return fmt.Errorf("column %d has other fields than in the first file", i+1)
			}
			return fmt.Errorf("column %d is %s, and %s in the first file", i+1, show(y), show(x))
		}
		for j, l := range x.leaves {
			if m := y.leaves[j]; l.phys != m.phys || l.width != m.width || l.maxRep != m.maxRep || l.maxDef != m.maxDef {
				return fmt.Errorf("column %d is stored as %s, and as %s in the first file", i+1, m.phys, l.phys)
			}
		}
	}
	return nil
}

// show returns the type of a column; of one with fields only its kind, for it contains their names.
func show(n *node) string {
	s := n.typ.Name()
	if n.leaf != nil {
		s = n.typ.String()
	}
	if n.nullable {
		return "nullable " + s
	}
	return s
}

// writeFooter appends the metadata, their length and the final magic word.
func writeFooter(buf *bytes.Buffer, m *fileMetaData) error {
	from := buf.Len()
	if err := marshal(buf, m); err != nil {
		return err
	}
	var end [8]byte
	binary.LittleEndian.PutUint32(end[:], uint32(buf.Len()-from))
	copy(end[4:], magic)
	buf.Write(end[:])
	return nil
}

// codecNames maps the configuration's words to the codecs that are written.
var codecNames = map[string]format.CompressionCodec{
	"none":   format.Uncompressed,
	"snappy": format.Snappy,
	"gzip":   format.Gzip,
	"zstd":   format.Zstd,
	"lz4":    format.Lz4Raw,
	"brotli": format.Brotli,
}
