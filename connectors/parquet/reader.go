package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// defaultRecords is the default number of records of a block. A column of a block
// is then 512 kB of numbers: large enough for a page of the release, small enough
// for the processor's caches.
const defaultRecords = 64 << 10

// reader cuts blocks from the source's streams, in order.
type reader struct {
	*source
	layout *microdata.Layout
	cut    connectors.Cut

	stream  int // current
	file    files.Handle
	near    *near // the current group of the file
	row     int64 // of the stream
	group   int
	inGroup int64     // number of the group's rows in earlier blocks
	cursors []*cursor // of the group, one for each leaf that is read
	last    int       // the stream before which reading ends
	until   int64     // the row of that stream at which reading ends; -1: its end
}

// span is a run of rows of one row group.
type span struct {
	group   int
	from, n int64
}

// carried gives the sink the places where a block's records are stored.
type carried struct {
	source *source
	spans  []span
}

// Next returns the next block's pages. A page that several blocks share is read
// once.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		if r.stream >= r.last {
			return nil, io.EOF
		}
		if r.row < r.end(r.streams[r.stream]) {
			break
		}
		if err := r.closeFile(); err != nil {
			return nil, err
		}
		r.stream++
		r.row, r.group, r.inGroup, r.cursors = 0, 0, 0, nil
	}
	st := r.streams[r.stream]
	if r.file == nil {
		var err error
		if r.file, err = st.reopen(); err != nil {
			return nil, err
		}
	}
	b := &rawBlock{reader: r, stream: r.stream, first: r.row}
	want := r.length(st)
	for want > 0 {
		if r.inGroup == st.RowGroups[r.group].NumRows {
			r.group++
			r.inGroup, r.cursors = 0, nil
			continue
		}
		n := min(want, st.RowGroups[r.group].NumRows-r.inGroup)
		if err := r.take(b, st, n); err != nil {
			return nil, err
		}
		b.spans = append(b.spans, span{r.group, r.inGroup, n})
		b.n += int(n)
		r.inGroup += n
		r.row += n
		want -= n
	}
	return b, nil
}

// end returns the row of the current stream at which reading ends.
func (r *reader) end(st *stream) int64 {
	if r.until >= 0 {
		return r.until
	}
	return st.NumRows
}

// length returns how many records the next block has. Unless blocks are exact,
// row groups are cut into equal parts, so that the last page of a group in the
// release, which has one page for each block, is not small.
func (r *reader) length(st *stream) int64 {
	most := int64(r.cut.Records)
	if most <= 0 {
		most = defaultRecords
	}
	if r.cut.Exact {
		return min(most-r.row%most, r.end(st)-r.row)
	}
	for st.RowGroups[r.group].NumRows == r.inGroup {
		r.group++
		r.inGroup, r.cursors = 0, nil
	}
	rows := st.RowGroups[r.group].NumRows
	most = r.fitting(st, &st.RowGroups[r.group], most)
	parts := (rows + most - 1) / most
	part := r.inGroup * parts / rows
	for ; (part+1)*rows/parts <= r.inGroup; part++ {
	}
	return (part+1)*rows/parts - r.inGroup
}

// longText is the desired greatest number of bytes of a text column in a block:
// with long texts, blocks have fewer records.
const longText = 64 << 20

// With many columns blocks have fewer records too: a block has at most blockValues values of decoded
// columns, each of which takes 8 bytes for the original number and 8 for the released one; but always
// leastRecords records, since pages of the release would otherwise be too small. Up to wideLeaves
// columns this has no effect.
const (
	wideLeaves   = 16
	blockValues  = wideLeaves * defaultRecords
	leastRecords = 8 << 10
)

// fitting returns the greatest number of records of a row group in a block, given its columns and
// the average length of texts.
func (r *reader) fitting(st *stream, rg *rowGroup, most int64) int64 {
	leaves := int64(0)
	for _, w := range r.layout.Read {
		if _, ok := r.partition(w.Field); ok {
			continue
		}
		leaves += int64(len(st.roots[w.Field].leaves))
		for _, l := range st.roots[w.Field].leaves {
			if size := rg.Columns[l.index].MetaData.V.TotalUncompressedSize; l.width == 0 && size > longText {
				most = min(most, max(1, int64(float64(longText)/float64(size)*float64(rg.NumRows))))
			}
		}
	}
	if leaves > wideLeaves {
		most = min(most, max(blockValues/leaves, leastRecords))
	}
	return most
}

// take adds n rows of the current row group to the block.
func (r *reader) take(b *rawBlock, st *stream, n int64) error {
	if r.cursors == nil {
		r.cursors = r.open(st)
	}
	if b.leaves == nil {
		b.leaves = make([][]segment, len(r.cursors))
	}
	for i, c := range r.cursors {
		var err error
		if b.leaves[i], err = c.take(b.leaves[i], n, &b.bytes); err != nil {
			return err
		}
	}
	return nil
}

// open starts the current row group's wanted leaves, in the order of the layout.
func (r *reader) open(st *stream) []*cursor {
	cursors := []*cursor{}
	rg := &st.RowGroups[r.group]
	var wanted []files.Extent
	for _, w := range r.layout.Read {
		if _, ok := r.partition(w.Field); ok {
			continue
		}
		for _, l := range st.roots[w.Field].leaves {
			m := &rg.Columns[l.index].MetaData.V
			from, to := m.extent()
			wanted = append(wanted, files.Extent{From: from, To: to})
			cursors = append(cursors, &cursor{pages: newPages(r.file, st.file.Label, r.group, l, m), rows: int(rg.NumRows)})
		}
	}
	files.Want(r.file, wanted...)
	r.near.free()
	r.near = nearby(r.file, wanted)
	for _, c := range cursors {
		c.file, c.wide = r.near, len(cursors) > wideLeaves
	}
	r.divide(cursors, rg)
	return cursors
}

// Close ends the pass.
func (r *reader) Close() error {
	r.stream = r.last
	return r.closeFile()
}

func (r *reader) closeFile() error {
	if r.file == nil {
		return nil
	}
	r.near.free()
	err := r.file.Close()
	r.file = nil
	return err
}

// cursor goes through the units of one chunk.
type cursor struct {
	*pages
	rows int // of the row group
	unit *unit
	at   int // number of the unit's rows in earlier blocks
	cuts cuts
}

// take adds segments of n rows.
func (c *cursor) take(segs []segment, n int64, size *int64) ([]segment, error) {
	for n > 0 {
		if c.unit == nil {
			if err := c.advance(size); err != nil {
				return nil, err
			}
		}
		k := int(min(n, int64(c.unit.rows-c.at)))
		c.unit.refs.Add(1)
		segs = append(segs, segment{c.unit, c.at, k})
		c.at += k
		n -= int64(k)
		if c.at == c.unit.rows {
			c.unit.release()
			c.unit = nil
		}
	}
	return segs, nil
}

func (c *cursor) advance(size *int64) error {
	c.at = 0
	if c.leaf.maxRep == 0 {
		if c.cuts.left > 0 {
			return c.resume()
		}
		p, err := c.next()
		if err == io.EOF {
			return c.fail(errCut)
		}
		if err != nil {
			return err
		}
		n, _ := p.values()
		*size += int64(p.header.CompressedSize)
		c.unit = newUnit(c.chunk, c.cut(p, n), p)
		c.unit.v.coded, c.unit.part = c.leaf.flat(), c.cuts.part
		return nil
	}
	var all []*page
	for {
		p, err := c.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		*size += int64(p.header.CompressedSize)
		all = append(all, p)
	}
	c.unit = newUnit(c.chunk, c.rows, all...)
	return nil
}

// rawBlock is a block's part of the pages.
type rawBlock struct {
	*reader
	stream int
	first  int64
	n      int
	spans  []span
	leaves [][]segment // in the order of the layout's leaves
	bytes  int64
}

// Bytes returns the size of the pages that this block is the first to need.
func (b *rawBlock) Bytes() int64 { return b.bytes }

// Decode fills the block. It first decodes the pages that no other worker has begun,
// so that workers that need the same large pages share the work.
func (b *rawBlock) Decode(to *microdata.Block) (err error) {
	st := b.streams[b.stream]
	defer func() {
		if r := recover(); r != nil {
			err = &corrupt{file: st.file.Label, err: errors.New("the data are corrupt")}
		}
	}()
	to.Reset(b.stream, b.first, b.n, len(b.layout.Read))
	to.Carried = &carried{source: b.source, spans: b.spans}
	for _, segs := range b.leaves {
		for _, s := range segs {
			s.u.try()
		}
	}
	for _, segs := range b.leaves {
		for _, s := range segs {
			if err := s.u.wait(); err != nil {
				return err
			}
		}
	}
	next := 0
	for i, w := range b.layout.Read {
		c := &to.Columns[i]
		if k, ok := b.partition(w.Field); ok {
			p := st.file.Partitions[k]
			c.Array = constant(p.Value, p.Null, b.n)
			continue
		}
		root := st.roots[w.Field]
		segs := b.leaves[next : next+len(root.leaves)]
		next += len(root.leaves)
		if root.flat() {
			err = b.flat(to, c, w, root.leaf, segs[0])
		} else {
			c.Array, err = nestedArray(root, b.n, segs)
		}
		if e := (*corrupt)(nil); errors.As(err, &e) {
			return err
		} else if err != nil {
			return &corrupt{file: st.file.Label, place: fmt.Sprintf("records from %d, column %s", b.first+1, root.name),
				err: err}
		}
	}
	for _, segs := range b.leaves {
		for _, s := range segs {
			s.u.release()
		}
	}
	b.leaves = nil
	return nil
}

// flat fills a column of the block from the segments of a flat leaf.
func (b *rawBlock) flat(to *microdata.Block, c *microdata.Column, w microdata.Want, l *leaf,
	segs []segment) (err error) {
	if w.As != microdata.Numbers && l.tooWide(b.n) {
		return newColumn(l, b.n).err // before memory is allocated
	}
	parts := make([]segment, 0, len(segs))
	defer func() {
		for i, p := range parts {
			if p.u != segs[i].u {
				p.u.v.free()
			}
		}
	}()
	for _, s := range segs {
		p, err := s.unpacked(w.As == microdata.Numbers)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	if w.As == microdata.Numbers {
		numbers(to, c, l, parts, w.Measured)
		return nil
	}
	c.Array, err = flatArray(l, b.n, parts)
	return err
}

// constant returns a partition's value as a column.
func constant(value string, null bool, n int) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(n)
	for range n {
		if null {
			b.AppendNull()
		} else {
			b.Append(value)
		}
	}
	return b.NewArray()
}
