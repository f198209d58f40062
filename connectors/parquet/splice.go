package parquet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/files"
)

// keptBytes is the number of bytes of a row group's inspected chunks that are kept in memory until
// they are written. Further chunks are read a second time.
var keptBytes = int64(24 << 20) // a variable only for the tests

// carriedLeaf is a leaf of the release for which a chunk of the source may be copied.
type carriedLeaf struct {
	at   int // among the leaves of the release
	from *leaf
	to   *pageEncoder
	size int64
	keep bool
}

// carriedLeaves returns those of a row group, the largest chunk first, so that a large one is not
// left for one worker at the end; and the extents of their chunks in the source's file.
func (s *sink) carriedLeaves(g *pendingGroup) (all []carriedLeaf, chunks []files.Extent) {
	room := keptBytes
	for _, col := range s.columns {
		if !col.carried {
			continue
		}
		for k, to := range col.pages {
			from := col.from.leaves[k]
			m := &s.source.streams[s.stream].RowGroups[g.group].Columns[from.index].MetaData.V
			size := m.TotalCompressedSize
			keep := len(g.dropped) == 0 && size <= room
			if keep {
				room -= size
			}
			all = append(all, carriedLeaf{col.first + k, from, to, size, keep})
			begin, end := m.extent()
			chunks = append(chunks, files.Extent{From: begin, To: end})
		}
	}
	slices.SortStableFunc(all, func(a, b carriedLeaf) int { return cmp.Compare(b.size, a.size) })
	return all, chunks
}

// carry decides how the carried columns of a row group are written. It returns the chunks
// that may be copied, by leaf of the release, and puts the pages of all others into g.
// Columns are independent of each other, so the result does not depend on the order in
// which they are processed.
func (s *sink) carry(ctx context.Context, g *pendingGroup) ([]*inspection, error) {
	all, wanted := s.carriedLeaves(g)
	files.Want(s.out.in, wanted...)
	g.near = nearby(s.out.in, wanted)
	found, copies := make([]*inspection, len(s.leaves)), make([]*inspection, len(s.leaves))
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range all {
		tasks.Go(func() error {
			defer bug.Guard()
			in, err := s.inspect(ctx, g.near, g.group, t.from, t.keep)
			if err != nil {
				return err
			}
			if found[t.at] = in; in.anew == "" && len(g.dropped) == 0 {
				copies[t.at] = in
				return nil
			}
			in.forget()
			g.pages[t.at], err = s.filter(ctx, g, t.from, t.to, &g.dicts[t.at])
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	for _, col := range s.columns {
		if col.carried {
			if err := sameShapes(found[col.first : col.first+len(col.pages)]); err != nil {
				return nil,
					&corrupt{file: s.source.streams[s.stream].file.Label, place: place(g.group, col.from.leaves[0]), err: err}
			}
		}
	}
	return copies, nil
}

// splice copies the pages of a chunk, and makes sure that these are the bytes that were
// inspected. Other parts of the source (page indexes, Bloom filters) are not copied, and the
// metadata are those of the inspection.
func (s *sink) splice(group int, in *inspection) (columnMetaData, error) {
	m := in.meta
	m.shift(s.out.at)
	m.Statistics = some(in.stats.stored())
	if err := s.out.copy(in); err != nil {
		if errors.Is(err, errCut) || errors.Is(err, files.ErrChanged) {
			err = &corrupt{file: s.source.streams[s.stream].file.Label, place: place(group, in.leaf), err: err}
		}
		return m, err
	}
	return m, nil
}

// Buffers of copy: a source may have thousands of small chunks.
var (
	copyReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}
	copyWriters = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 256<<10) }}
)

// copy appends an inspected chunk.
func (o *output) copy(in *inspection) error {
	if in.kept != nil {
		return o.paste(in)
	}
	if len(in.pieces) == 0 {
		return nil
	}
	last := in.pieces[len(in.pieces)-1]
	from, to := copyReaders.Get().(*bufio.Reader), copyWriters.Get().(*bufio.Writer)
	from.Reset(io.NewSectionReader(in.source, in.from, last.from+last.n-in.from))
	to.Reset(writer(o.write))
	defer func() {
		from.Reset(nil)
		to.Reset(nil)
		copyReaders.Put(from)
		copyWriters.Put(to)
	}()
	var sum maphash.Hash
	sum.SetSeed(seed)
	buf := getBuffer(256 << 10)
	defer putBuffer(buf)
	at := in.from
	for _, p := range in.pieces {
		if _, err := from.Discard(int(p.from - at)); err != nil {
			return readError(err)
		}
		if _, err := to.Write(p.head); err != nil {
			return err
		}
		for left := p.n; left > 0; {
			part := buf[:min(int64(len(buf)), left)]
			if _, err := io.ReadFull(from, part); err != nil {
				return readError(err)
			}
			sum.Write(part)
			if _, err := to.Write(part); err != nil {
				return err
			}
			left -= int64(len(part))
		}
		at = p.from + p.n
	}
	if sum.Sum64() != in.sum {
		return files.ErrChanged
	}
	return to.Flush()
}

// paste appends a chunk whose bytes were kept, and releases their memory.
func (o *output) paste(in *inspection) error {
	to := copyWriters.Get().(*bufio.Writer)
	to.Reset(writer(o.write))
	defer func() {
		to.Reset(nil)
		copyWriters.Put(to)
	}()
	for _, b := range in.kept {
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	err := to.Flush()
	in.forget()
	return err
}

// forget releases the memory of kept bytes.
func (in *inspection) forget() {
	for i, b := range in.kept {
		if i%2 == 1 { // the bodies are from buffers
			putBuffer(b)
		}
	}
	in.kept = nil
}

// writer is an io.Writer that calls a function which writes everything or fails.
type writer func(b []byte) error

func (w writer) Write(b []byte) (int, error) {
	if err := w(b); err != nil {
		return 0, err
	}
	return len(b), nil
}
