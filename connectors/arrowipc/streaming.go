package arrowipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// streamBatches reads a stream. Batches without dictionaries are read as bytes and
// decoded by the workers; if there are dictionaries, which may change between batches,
// they are decoded here, one after another.
type streamBatches struct {
	st     *stream
	source *messages
	mem    memory.Allocator
	reader *ipc.Reader
	dicts  bool
	check  func(arrow.RecordBatch) error
	closer io.Closer
	n      int
	err    error
}

func newStreamBatches(st *stream, in io.Reader, check func(arrow.RecordBatch) error) (*streamBatches, error) {
	size := int64(-1)
	if st.stamp.Size() > 0 {
		size = st.stamp.Size()
	}
	s := &streamBatches{st: st, source: &messages{r: bufio.NewReaderSize(in, 1<<18)}, mem: allocatorFor(size),
		check: check}
	var err error
	if s.reader, err = ipc.NewReaderFromMessageReader(s.source, ipc.WithAllocator(s.mem)); err != nil {
		return nil, corrupt(st.file.Label, err)
	}
	for _, f := range s.reader.Schema().Fields() {
		s.dicts = s.dicts || encoded(f.Type)
	}
	return s, nil
}

func (s *streamBatches) next(ctx context.Context) (*batch, error) {
	if s.err != nil {
		return nil, s.err
	}
	var b *batch
	read := func() (err error) { b, err = s.read(); return err }
	if s.st.piped != nil {
		s.err = interruptible(ctx, read)
	} else if s.err = ctx.Err(); s.err == nil {
		s.err = read()
	}
	if s.err != nil {
		return nil, s.err
	}
	return b, nil
}

// read returns the next batch. If the context ends before it returns, its result is not
// used.
func (s *streamBatches) read() (*batch, error) {
	s.n++
	s.source.size = 0
	n := s.n
	if !s.dicts {
		meta, body, err := s.source.next()
		if err == io.EOF {
			return nil, io.EOF
		}
		var rows int64
		if err == nil {
			rows, err = batchRows(meta)
		}
		if err != nil {
			return nil, s.corrupt(n, err)
		}
		return &batch{rows: rows, size: s.source.size, load: func() (arrow.RecordBatch, error) {
			r, err := ipc.NewReaderFromMessageReader(newReplay(s.source.first, meta, body), ipc.WithAllocator(s.mem))
			if err != nil {
				return nil, s.corrupt(n, err)
			}
			rec, err := s.record(r)
			if err == nil && rec.NumRows() != rows {
				err = errFlat
			}
			if err != nil {
				return nil, s.corrupt(n, err)
			}
			return rec, nil
		}}, nil
	}
	rec, err := s.record(s.reader)
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, s.corrupt(n, err)
	}
	b := &batch{rows: rec.NumRows(), size: s.source.size, rec: rec}
	b.once.Do(func() {})
	return b, nil
}

func (s *streamBatches) corrupt(n int, err error) error {
	if err == io.EOF {
		err = errors.New("there is no record batch")
	}
	return corrupt(s.st.file.Label, fmt.Errorf("record batch %d: %w", n, err))
}

// record reads a batch and verifies it. It is retained, since the reader would release
// it at its next read and blocks refer to its memory.
func (s *streamBatches) record(r *ipc.Reader) (rec arrow.RecordBatch, err error) {
	defer recovered(&err)
	if rec, err = r.Read(); err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, errFlat
	}
	rec.Retain()
	return rec, s.check(rec)
}

func (s *streamBatches) close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}
