package parquet

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// A row group that does not mirror one of the source ends at this number of rows, or of bytes of
// pages, which are in memory until then. The bytes also end row groups of many columns that mirror
// the source's, if no column is carried. They are a variable only for the tests.
const groupRows = 1 << 20

var groupBytes = 48 << 20

// unclosed is a file that stays open for Commit.
type unclosed struct{ File }

func (unclosed) Close() error { return nil }

// original is a file that pages are copied from.
type original interface {
	io.ReaderAt
	io.Closer
}

// output is one file that is being written.
type output struct {
	file
	at      int64
	settled int64 // the disk has been asked to write up to here
	meta    *fileMetaData
	in      original     // the source's file, for copying
	settle  func() error // syncs and closes; nil: finish does so itself
	pending []byte       // for a folder's file, which may be small: bytes not written yet

	complete func(*fileMetaData) error         // adds to the footer what is known at the end; may be nil
	known    func(m *fileMetaData, size int64) // takes what is known of the whole file; may be nil
}

// Writes to the files of a folder are collected up to pendingBytes; writes of at least a quarter of
// that are not.
const pendingBytes = 256 << 10

func newOutput(f file, meta *fileMetaData, settle func() error) (*output, error) {
	o := &output{file: f, meta: meta, settle: settle}
	if settle != nil {
		o.pending = getBuffer(pendingBytes)[:0]
	}
	if err := o.write([]byte(magic)); err != nil {
		return nil, err
	}
	return o, nil
}

// from opens the source's file from which row groups are copied; src is nil if there is
// none.
func (o *output) from(src *source, stream int) (err error) {
	if o.in != nil {
		err = o.in.Close()
		o.in = nil
	}
	if src == nil || err != nil {
		return err
	}
	f, err := src.streams[stream].reopen()
	if err == nil {
		o.in = f
	}
	return err
}

func (o *output) write(b []byte) error {
	o.at += int64(len(b))
	if cap(o.pending) == 0 {
		return o.put(b)
	}
	if len(o.pending)+len(b) > cap(o.pending) {
		if err := o.drain(); err != nil {
			return err
		}
	}
	if len(b) >= pendingBytes/4 && len(o.pending) == 0 {
		return o.put(b)
	}
	o.pending = append(o.pending, b...)
	return nil
}

// drain writes what is pending.
func (o *output) drain() error {
	b := o.pending
	if len(b) == 0 {
		return nil
	}
	o.pending = b[:0]
	return o.put(b)
}

func (o *output) put(b []byte) error {
	n, err := o.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// writeBack starts to write to disk what has been written so far, while the rest is encoded. For the
// small files of a folder it does nothing: they are synced immediately.
func (o *output) writeBack() {
	if o.settle != nil && o.at-o.settled < 16*pendingBytes {
		return
	}
	var to io.Writer = o.file
	if stays, ok := to.(unclosed); ok {
		to = stays.File
	}
	publish.WriteBack(to, o.settled, o.at-o.settled)
	o.settled = o.at
}

// finish writes the footer, and syncs and closes the file, or lets settle do so.
func (o *output) finish() error {
	if err := o.from(nil, 0); err != nil {
		return err
	}
	if o.complete != nil {
		if err := o.complete(o.meta); err != nil {
			return err
		}
	}
	var buf bytes.Buffer
	if err := writeFooter(&buf, o.meta); err != nil {
		return err
	}
	if err := o.write(buf.Bytes()); err != nil {
		return err
	}
	if o.known != nil {
		o.known(o.meta, o.at)
	}
	if o.settle != nil {
		if err := o.drain(); err != nil {
			return err
		}
		o.forget()
		o.file = nil // it belongs to settle now, even if that fails
		return o.settle()
	}
	if err := o.Sync(); err != nil {
		return err
	}
	return o.Close()
}

// forget releases the memory of pending.
func (o *output) forget() {
	putBuffer(o.pending)
	o.pending = nil
}

// abandon closes what is open.
func (o *output) abandon() error {
	o.forget()
	err := o.from(nil, 0)
	if o.file == nil {
		return err
	}
	if cerr := o.Close(); err == nil {
		err = cerr
	}
	return err
}

// pendingGroup is a row group that does not have all of its pages yet.
type pendingGroup struct {
	group   int   // of the source; −1 if it does not mirror one
	read    int64 // rows of the source's group so far
	rows    int64 // kept rows
	bytes   int   // of pages
	held    int   // of pages in memory
	dropped []int64
	pages   [][]*encodedPage // of each leaf
	dicts   []chunkDictionary
	near    *near // reader of the source's group, for carried columns
}

// add appends a part of a block.
func (s *sink) add(ctx context.Context, part *encodedPart) error {
	if s.group != nil && s.group.group != part.group {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if s.group == nil {
		s.group = s.pending(part.group)
	}
	g := s.group
	g.read += part.n
	g.rows += int64(part.kept)
	g.dropped = append(g.dropped, part.dropped...)
	for _, col := range s.columns {
		for k, pe := range col.pages {
			i := col.first + k
			for _, p := range part.pages[i] {
				if err := g.dicts[i].settle(pe, p); err != nil {
					return err
				}
				g.bytes += len(p.stored)
				g.held += len(p.stored)
				g.pages[i] = append(g.pages[i], p)
			}
		}
	}
	full := g.rows >= groupRows || g.bytes >= groupBytes
	if g.group >= 0 {
		full = g.read == s.source.streams[s.stream].RowGroups[g.group].NumRows
	}
	if full {
		return s.flush(ctx)
	}
	if g.held < groupBytes {
		return nil
	}
	if !s.splits() {
		err := s.written()
		s.spool.keep(g)
		return err
	}
	err := s.flush(ctx)
	s.group = s.pending(g.group)
	s.group.read = g.read
	return err
}

// pending begins a row group.
func (s *sink) pending(group int) *pendingGroup {
	return &pendingGroup{group: group, pages: make([][]*encodedPage, len(s.leaves)),
		dicts: make([]chunkDictionary, len(s.leaves))}
}

// splits reports whether row groups of the release may end within the source's: if it has so many
// columns that their pages take too much memory, and none of them is copied.
func (s *sink) splits() bool {
	for _, col := range s.columns {
		if col.carried {
			return false
		}
	}
	return len(s.leaves) > wideLeaves
}

// flush writes the pending row group, if there is one with records; or it starts to write it
// concurrently with the next one, and written returns its error.
func (s *sink) flush(ctx context.Context) error {
	g := s.group
	s.group = nil
	if g == nil || g.rows == 0 {
		return nil
	}
	copies, err := s.inspected(ctx, g)
	if err != nil {
		return err
	}
	if s.writing == nil {
		return s.writeGroup(ctx, g, copies)
	}
	// The writing continues after the call that ctx is for, until it is done or the release is abandoned.
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.writing.Go(func() error {
		defer bug.Guard()
		return s.writeGroup(ctx, g, copies)
	})
	return nil
}

// inspected waits for what was flushed before, and returns what carry does. A local file is read for both
// at once; what an object's reader fetches ahead is for one row group.
func (s *sink) inspected(ctx context.Context, g *pendingGroup) ([]*inspection, error) {
	if _, local := s.out.in.(*os.File); !local {
		if err := s.written(); err != nil {
			return nil, err
		}
	}
	copies, err := s.carry(ctx, g)
	if werr := s.written(); werr != nil {
		return nil, werr
	}
	return copies, err
}

// written waits until the last row group that was flushed is written. Until then only its writing
// may use the file, its source stream and the spool.
func (s *sink) written() error {
	if s.stop == nil {
		return nil
	}
	err := s.writing.Wait()
	s.stop()
	return err
}

// writeGroup writes the pages of a complete row group, those of carried columns from copies.
func (s *sink) writeGroup(ctx context.Context, g *pendingGroup, copies []*inspection) error {
	rg := rowGroup{NumRows: g.rows, FileOffset: some(s.out.at), Ordinal: some(int16(len(s.out.meta.RowGroups)))}
	if len(s.out.meta.RowGroups) > 1<<15-1 {
		rg.Ordinal = thrift.Null[int16]{}
	}
	total := int64(0)
	for _, col := range s.columns {
		for k := range col.pages {
			if err := ctx.Err(); err != nil {
				return err
			}
			var m columnMetaData
			var err error
			if in := copies[col.first+k]; in != nil {
				m, err = s.splice(g.group, in)
			} else {
				m, err = s.writePages(g, col, k)
			}
			if err != nil {
				return err
			}
			m.PathInSchema = col.root.leaves[k].path
			rg.TotalByteSize += m.TotalUncompressedSize
			total += m.TotalCompressedSize
			rg.Columns = append(rg.Columns, columnChunk{MetaData: some(m)})
		}
	}
	g.near.free()
	rg.TotalCompressedSize = some(total)
	if g.group >= 0 {
		rg.SortingColumns = s.sorting(s.source.streams[s.stream].RowGroups[g.group].SortingColumns)
	}
	s.spool.at = 0
	s.out.meta.RowGroups = append(s.out.meta.RowGroups, rg)
	s.out.meta.NumRows += g.rows
	s.out.writeBack()
	return nil
}

// writePages writes a column's encoded pages and returns their buffers for reuse.
func (s *sink) writePages(g *pendingGroup, col *outColumn, k int) (columnMetaData, error) {
	i, pe := col.first+k, col.pages[k]
	l := pe.leaf
	m := columnMetaData{Type: l.phys, Codec: pe.comp.codec, DataPageOffset: s.out.at}
	m.levels(l)
	dict, err := g.dicts[i].page(pe.comp)
	if err != nil {
		return m, err
	}
	put := func(p *encodedPage, typ format.PageType) error {
		if err := s.spool.fetch(p); err != nil {
			return err
		}
		m.add(typ, p.encoding, p.uncompressed, len(p.stored), p.values)
		err := s.out.write(p.stored)
		p.free()
		return err
	}
	if dict != nil {
		m.DictionaryPageOffset = some(s.out.at)
		if err := put(dict, format.DictionaryPage); err != nil {
			return m, err
		}
		m.DataPageOffset = s.out.at
	}
	var stats pageStats
	for _, p := range g.pages[i] {
		stats.merge(l, p.stats)
		if err := put(p, format.DataPage); err != nil {
			return m, err
		}
	}
	m.Statistics = some(stats.stored())
	return m, nil
}

// sorting returns the part of a row group's order that still holds: that of the
// first columns, up to one that is not released unchanged.
func (s *sink) sorting(by []format.SortingColumn) []format.SortingColumn {
	var kept []format.SortingColumn
	for _, c := range by {
		at := -1
		for _, col := range s.columns {
			if col.from == nil || col.Masked {
				continue
			}
			if k := slices.IndexFunc(col.from.leaves, func(l *leaf) bool { return l.index == int(c.ColumnIdx) }); k >= 0 {
				at = col.first + k
			}
		}
		if at < 0 {
			break
		}
		c.ColumnIdx = int32(at)
		kept = append(kept, c)
	}
	return kept
}

// createdBy names the program in the form "name version x", which readers parse.
var createdBy = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return "sdlfilter version " + versionOf(info)
})

// versionOf returns the version with which the program was built; 0.0.0 if it is not known. info
// may be nil.
func versionOf(info *debug.BuildInfo) string {
	if info == nil || len(info.Main.Version) < 2 || info.Main.Version[0] != 'v' {
		return "0.0.0"
	}
	return info.Main.Version[1:]
}
