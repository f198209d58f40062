package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// inspection is the result of examining a chunk that might be copied.
type inspection struct {
	leaf   *leaf
	source io.ReaderAt
	anew   string // why the chunk must be written again; "" if its pages may be copied
	from   int64  // in the source's file
	pieces []piece
	sum    uint64         // hash of the bytes to be copied
	kept   [][]byte       // the bytes of the copy, in order; nil: they are read again
	meta   columnMetaData // metadata of the copy, as if it began at 0
	stats  pageStats
	shapes []maphash.Hash // for each of the leaf's groups: hash of which records and elements exist
}

// piece is a run of bytes of the copy: a page header that replaces the source's, and n
// bytes of the source's file.
type piece struct {
	head    []byte
	from, n int64
}

// seed is the seed of all hashes. It is random in each process, so that nobody can make bytes
// with the same hash as others.
var seed = maphash.MakeSeed()

// inspector examines a chunk's pages. If they are inconsistent with each other, with the
// row group or with the footer, that is an error: different readers would read such a
// column differently. A page that can be read but contains more than values, or anything
// that is not understood, is a reason to write the column again.
type inspector struct {
	*pages
	*inspection
	hash    maphash.Hash
	used    []uint64
	rows    int64
	nulls   int64
	values  int64
	before  uint8 // definition level of the last entry
	started bool  // there was a page before
	keep    bool  // whether to keep the bytes of the copy
}

// inspect reads a chunk of the current stream, whose file is source, completely, and keeps its bytes if
// keep is true.
func (s *sink) inspect(ctx context.Context, source io.ReaderAt, group int, l *leaf, keep bool) (*inspection, error) {
	st := s.source.streams[s.stream]
	rg := &st.RowGroups[group]
	m := &rg.Columns[l.index].MetaData.V
	in := &inspector{pages: newPages(source, st.file.Label, group, l, m), inspection: &inspection{leaf: l, source: source}}
	in.from, in.keep = in.at, keep
	in.meta = columnMetaData{Type: l.phys, Codec: m.Codec}
	in.meta.levels(l)
	in.hash.SetSeed(seed)
	in.shapes = make([]maphash.Hash, len(l.groups))
	for i := range in.shapes {
		in.shapes[i].SetSeed(seed)
	}
	for in.at < in.end {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := in.page(); err != nil {
			return nil, in.fail(err)
		}
	}
	if err := in.finish(m, rg.NumRows); err != nil {
		return nil, in.fail(err)
	}
	return in.inspection, nil
}

// mustWrite notes the first reason to write the chunk again.
func (in *inspector) mustWrite(reason string) {
	if in.anew == "" {
		in.anew = reason
	}
}

const (
	anewPage       = "a page that is neither values nor a dictionary"
	anewHidden     = "a page holds bytes that are no values"
	anewCounts     = "a page's header miscounts its rows or nulls"
	anewDictionary = "the dictionary holds values that no record has"
)

func (in *inspector) page() error {
	p, err := in.read()
	if err != nil {
		return err
	}
	first := !in.started
	in.started = true
	n, data := p.values()
	dictionary := p.header.Type == format.DictionaryPage && p.header.DictionaryPage.Valid
	switch {
	case data && n > 0:
		if int64(n) > in.left {
			return errors.New("the pages hold more values than the column")
		}
		in.left -= int64(n)
	case dictionary && in.dict != nil:
		return errors.New("a second dictionary")
	case dictionary && !first:
		return errors.New("a dictionary behind the values")
	case dictionary:
	case data && n < 0:
		return errShort
	default:
		putBuffer(p.body)
		in.mustWrite(anewPage)
		return nil
	}
	if err := in.take(p); err != nil {
		return err
	}
	if dictionary {
		return in.dictionary(p)
	}
	return in.data(p, n)
}

// take adds the page to the copy, with a new header that has only the understood parts of the
// page's own.
func (in *inspector) take(p *page) error {
	h := p.header
	out := pageHeader{Type: h.Type, UncompressedSize: h.UncompressedSize, CompressedSize: h.CompressedSize, CRC: h.CRC}
	var enc format.Encoding
	switch h.Type {
	case format.DictionaryPage:
		d := h.DictionaryPage.V
		d.IsSorted = false
		out.DictionaryPage, enc = some(d), d.Encoding
		in.meta.DictionaryPageOffset = some(in.meta.TotalCompressedSize)
	case format.DataPage:
		d := h.DataPage.V
		d.DefinitionEncoding, d.RepetitionEncoding = format.RLE, format.RLE
		out.DataPage, enc = some(d), d.Encoding
	default:
		out.DataPageV2, enc = some(h.DataPageV2.V), h.DataPageV2.V.Encoding
	}
	var head bytes.Buffer
	if err := marshal(&head, &out); err != nil {
		return err
	}
	if in.meta.NumValues == 0 && h.Type != format.DictionaryPage {
		in.meta.DataPageOffset = in.meta.TotalCompressedSize
	}
	n, _ := p.values()
	in.meta.add(h.Type, enc, head.Len()+int(h.UncompressedSize), head.Len()+len(p.body), n)
	if in.keep {
		p.kept = true
		in.kept = append(in.kept, head.Bytes(), p.body)
		return nil
	}
	at, size := in.at-int64(len(p.body)), int64(len(p.body))
	if bytes.Equal(head.Bytes(), in.head) {
		in.hash.Write(in.head)
		at, size = at-int64(len(in.head)), size+int64(len(in.head))
		head.Reset()
	}
	in.hash.Write(p.body)
	if k := len(in.pieces) - 1; k >= 0 && head.Len() == 0 && in.pieces[k].from+in.pieces[k].n == at {
		in.pieces[k].n += size
		return nil
	}
	in.pieces = append(in.pieces, piece{head.Bytes(), at, size})
	return nil
}

func (in *inspector) dictionary(p *page) error {
	in.dict = &dictionary{page: p}
	if err := in.dict.decode(in.chunk); err != nil {
		return err
	}
	if !in.dict.exact {
		in.mustWrite(anewHidden)
	}
	in.used = make([]uint64, (in.dict.n+63)/64)
	return nil
}

// data checks a data page of n values, including nulls.
func (in *inspector) data(p *page, n int) (err error) {
	defer recovered(&err)
	if n > maxPage/8 {
		return fmt.Errorf("a page of %d values", n)
	}
	var v values
	defer v.free()
	s, err := p.open(in.chunk)
	v.buffers = append(v.buffers, s.buffer)
	if err != nil {
		return err
	}
	rows, present, exact, err := in.levels(&v, &s, n)
	if err != nil {
		return err
	}
	v.n = present
	if s.enc == plainDictionary || s.enc == format.RLEDictionary {
		err = in.indexes(&v, s.data)
	} else if err = v.decodeData(in.chunk, s.enc, s.data); err == nil {
		v.align(in.chunk.leaf)
		in.stats.merge(in.chunk.leaf, statsOf(in.chunk.leaf, &v))
	}
	if err != nil {
		return err
	}
	if !s.exact || !exact || !exactData(in.chunk.leaf, s.enc, s.data, present, &v) {
		in.mustWrite(anewHidden)
	}
	if v2 := p.header.DataPageV2.V; p.header.Type == format.DataPageV2 &&
		(int64(v2.NumRows) != rows || int(v2.NumNulls) != n-present) {
		in.mustWrite(anewCounts)
	}
	in.rows += rows
	in.nulls += int64(n - present)
	in.values += int64(n)
	return nil
}

// levels counts the records that begin in a page, and its values other than nulls.
func (in *inspector) levels(v *values, s *sections, n int) (rows int64, present int, exact bool, err error) {
	l := in.chunk.leaf
	rows, present, exact = int64(n), n, true
	levels := func(src []byte, most uint8) ([]uint8, error) {
		if most == 0 {
			exact = exact && len(src) == 0
			return nil, nil
		}
		out := v.scratch(n)
		if err := decodeHybrid(out, src, levelWidth(most)); err != nil {
			return nil, err
		}
		exact = exact && exactHybrid(src, levelWidth(most), n)
		return out, checkLevels(out, most)
	}
	rep, err := levels(s.rep, l.maxRep)
	if err != nil {
		return rows, present, exact, err
	}
	if l.maxRep > 0 {
		if in.values == 0 && rep[0] != 0 {
			return rows, present, exact, errMiddle
		}
		rows = int64(bytes.Count(rep, []byte{0}))
	}
	if len(l.path) == 1 && l.maxRep == 0 && l.maxDef > 0 && allOf(s.def, levelWidth(l.maxDef), l.maxDef, n) {
		exact = exact && exactHybrid(s.def, levelWidth(l.maxDef), n)
		return rows, n, exact, nil
	}
	def, err := levels(s.def, l.maxDef)
	if l.maxDef > 0 && err == nil {
		present = bytes.Count(def, []byte{l.maxDef})
		err = in.tree(rep, def)
	}
	return rows, present, exact, err
}

// tree checks the levels of a page, and notes which records and elements exist in the
// groups that the leaf shares with others.
func (in *inspector) tree(rep, def []uint8) error {
	l := in.chunk.leaf
	if rep != nil {
		if err := checkTree(rep, def, l.starts, in.before); err != nil {
			return err
		}
		in.before = def[len(def)-1]
	}
	for i, g := range l.groups {
		if g.def == 0 {
			continue // every record has it exactly once
		}
		for k, d := range def {
			r := uint8(0)
			if rep != nil {
				r = rep[k]
			}
			if r <= g.rep {
				in.shapes[i].WriteByte(r)
				in.shapes[i].WriteByte(min(d, g.def))
			}
		}
	}
	return nil
}

// sameShapes returns an error if the leaves of a group do not agree on which of its records and
// elements exist: no reader could combine them.
func sameShapes(found []*inspection) error {
	shapes := map[int]uint64{}
	for _, in := range found {
		for i, g := range in.leaf.groups {
			sum := in.shapes[i].Sum64()
			if first, ok := shapes[g.at]; ok && first != sum {
				return errors.New("the fields do not have the same records")
			}
			shapes[g.at] = sum
		}
	}
	return nil
}

// indexes checks v.n indexes and marks the entries that they refer to.
func (in *inspector) indexes(v *values, data []byte) error {
	d := in.dict
	if d == nil {
		return errors.New("the dictionary is missing")
	}
	if v.n == 0 {
		return nil
	}
	if len(data) < 1 {
		return errShort
	}
	index := words[uint32](v.scratch(4 * v.n))[:v.n]
	if err := decodeHybrid(index, data[1:], int(data[0])); err != nil {
		return err
	}
	for _, k := range index {
		if uint64(k) >= uint64(d.n) {
			return errors.New("an index beyond the dictionary")
		}
		in.used[k>>6] |= 1 << (k & 63)
	}
	return nil
}

// finish compares the pages with the footer and the row group.
func (in *inspector) finish(m *columnMetaData, rows int64) error {
	switch {
	case in.at != in.end:
		return errCut
	case in.left > 0:
		return fmt.Errorf("the pages hold %d values, and the column %d", in.values, m.NumValues)
	case in.rows != rows:
		return fmt.Errorf("the pages hold %d records, and the row group %d", in.rows, rows)
	}
	if d := in.dict; d != nil {
		if !usedOnly(in.used, d.n) {
			in.mustWrite(anewDictionary)
		}
		in.stats.merge(in.chunk.leaf, statsOf(in.chunk.leaf, &values{n: d.n, data: d.data, offsets: d.offs}))
	}
	in.stats.nulls = in.nulls
	in.sum = in.hash.Sum64()
	return in.stats.within(in.chunk.leaf)
}

// levels notes the encoding of a leaf's levels.
func (m *columnMetaData) levels(l *leaf) {
	if l.maxDef > 0 || l.maxRep > 0 {
		m.Encoding = append(m.Encoding, format.RLE)
	}
}

// add counts a page; uncompressed and stored are its numbers of bytes, including the
// header, and values is its number of values.
func (m *columnMetaData) add(typ format.PageType, enc format.Encoding, uncompressed, stored, values int) {
	listed := false
	for _, e := range m.Encoding {
		listed = listed || e == enc
	}
	if !listed {
		m.Encoding = append(m.Encoding, enc)
	}
	m.TotalUncompressedSize += int64(uncompressed)
	m.TotalCompressedSize += int64(stored)
	m.NumValues += int64(values)
	for i := range m.EncodingStats {
		if e := &m.EncodingStats[i]; e.PageType == typ && e.Encoding == enc {
			e.Count++
			return
		}
	}
	m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: typ, Encoding: enc, Count: 1})
}

// shift moves a chunk that began at 0.
func (m *columnMetaData) shift(by int64) {
	m.DataPageOffset += by
	if d := m.DictionaryPageOffset; d.Valid {
		m.DictionaryPageOffset = thrift.New(d.V + by)
	}
}
