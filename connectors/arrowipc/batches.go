package arrowipc

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

const magic = "ARROW1"

// batch is a record batch that is read when it is first needed.
type batch struct {
	rows, size int64
	load       func() (arrow.RecordBatch, error)

	once sync.Once
	rec  arrow.RecordBatch
	err  error
}

// record returns the batch with its needed columns verified. Safe for
// concurrent use.
func (b *batch) record() (arrow.RecordBatch, error) {
	b.once.Do(func() { b.rec, b.err = b.load() })
	return b.rec, b.err
}

// batches goes through the record batches of a stream.
type batches interface {
	next(ctx context.Context) (*batch, error) // io.EOF after the last
	close() error
}

// index reads a file's footer, schema and the number of records of its batches.
func (st *stream) index(in files.Handle) error {
	dictionaries, batches, err := st.blocks(in)
	if err != nil {
		return corrupt(st.file.Label, err)
	}
	for i, b := range dictionaries {
		if _, err := messageAt(in, b, st.stamp.Size()); err != nil {
			return corrupt(st.file.Label, fmt.Errorf("dictionary %d: %w", i+1, err))
		}
	}
	st.rows = 0
	for i, b := range batches {
		meta, err := messageAt(in, b, st.stamp.Size())
		var rows int64
		if err == nil {
			rows, err = batchRows(meta)
		}
		if err != nil {
			return corrupt(st.file.Label, fmt.Errorf("record batch %d: %w", i+1, err))
		}
		st.batch = append(st.batch, fileBatch{rows, int64(b.meta) + b.body})
		st.rows += rows
	}
	r, err := st.reader(in)
	if err != nil {
		return corrupt(st.file.Label, err)
	}
	defer r.Close()
	st.schema = r.Schema()
	if len(batches) != r.NumRecords() {
		return corrupt(st.file.Label, errFlat)
	}
	return nil
}

// reader is ipc.NewFileReader, without its panics on corrupt dictionaries.
func (st *stream) reader(in files.Handle) (r *ipc.FileReader, err error) {
	defer func() {
		if recover() != nil {
			r, err = nil, errFlat
		}
	}()
	// The length of the body is compared with the file's.
	return ipc.NewFileReader(in, ipc.WithAllocator(allocatorFor(st.stamp.Size())), ipc.WithBodySizeLimit(0))
}

// blocks reads the footer, which must not change from one time to the next.
func (st *stream) blocks(in io.ReaderAt) (dictionaries, batches []fileBlock, err error) {
	size := st.stamp.Size()
	var tail [4 + len(magic)]byte
	if size < int64(2*len(tail)) {
		return nil, nil, errCut
	}
	if _, err := in.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return nil, nil, err
	}
	if string(tail[4:]) != magic {
		return nil, nil, errCut
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n <= 0 || n > size-int64(len(tail)) {
		return nil, nil, errFlat
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, size-int64(len(tail))-n); err != nil {
		return nil, nil, err
	}
	switch sum := sha256.Sum256(footer); st.footer {
	case sum:
	case [sha256.Size]byte{}:
		st.footer = sum
	default:
		return nil, nil, fmt.Errorf("%w: its footer is not the one that was there before", files.ErrChanged)
	}
	return checkFooter(footer)
}

var errCut = errors.New("the file does not end as an Arrow file does: it is cut off, or its writer was not closed")

// messageAt reads and checks the metadata of a message.
func messageAt(in io.ReaderAt, b fileBlock, size int64) ([]byte, error) {
	if b.offset < 0 || b.meta < 16 || b.body < 0 || b.offset > size || int64(b.meta) > size-b.offset ||
		b.body > size-b.offset-int64(b.meta) {
		return nil, errors.New("it is said to lie outside of the file")
	}
	meta := make([]byte, b.meta)
	if _, err := in.ReadAt(meta, b.offset); err != nil {
		return nil, err
	}
	prefix := 4 // before Arrow 0.15 only the length
	if binary.LittleEndian.Uint32(meta) == continuation {
		prefix = 8
	}
	return meta[prefix:], checkMessage(meta[prefix:])
}

// fileBatches has a file's batches, which are read by the workers that decode them.
type fileBatches struct {
	st     *stream
	in     files.Handle
	reader *ipc.FileReader
	check  func(arrow.RecordBatch) error
	lock   sync.Mutex // the library resolves dictionaries lazily
	dicts  bool
	at     int

	pending atomic.Int64 // number of batches not read yet, plus 1 until close
	shut    sync.Once
}

func (st *stream) openBatches(check func(arrow.RecordBatch) error) (batches, error) {
	if st.piped != nil {
		st.piped.check = check
		return st.piped, nil
	}
	in, err := st.reopen()
	if err != nil {
		return nil, err
	}
	files.Want(in, files.Extent{To: st.stamp.Size()})
	if st.format == formatStream {
		b, err := newStreamBatches(st, in, check)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		if err := st.sameSchema(b.reader.Schema()); err != nil {
			return nil, errors.Join(err, in.Close())
		}
		b.closer = in
		return b, nil
	}
	r, err := st.reader(in)
	if err != nil {
		return nil, errors.Join(corrupt(st.file.Label, err), in.Close())
	}
	if err := st.sameSchema(r.Schema()); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	f := &fileBatches{st: st, in: in, reader: r, check: check, dicts: r.NumDictionaries() > 0}
	f.pending.Store(1)
	return f, nil
}

// sameSchema compares the schema of this pass with the one from which the columns were
// determined.
func (st *stream) sameSchema(now *arrow.Schema) error {
	if now.Equal(st.schema) {
		return nil
	}
	return fmt.Errorf("%s: %w: its schema is not the one that was there before", st.file.Label, files.ErrChanged)
}

func (f *fileBatches) next(ctx context.Context) (*batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.at == len(f.st.batch) {
		return nil, io.EOF
	}
	i, known := f.at, f.st.batch[f.at]
	f.at++
	f.pending.Add(1)
	return &batch{rows: known.rows, size: known.size, load: func() (arrow.RecordBatch, error) {
		rec, err := f.load(i, known.rows)
		if e := f.release(); err == nil {
			err = e
		}
		if err != nil {
			return nil, corrupt(f.st.file.Label, fmt.Errorf("record batch %d: %w", i+1, err))
		}
		return rec, nil
	}}, nil
}

// load reads a batch. It is never released: blocks refer to its memory, which
// the garbage collector frees.
func (f *fileBatches) load(i int, rows int64) (rec arrow.RecordBatch, err error) {
	defer recovered(&err)
	if f.dicts {
		f.lock.Lock()
		defer f.lock.Unlock()
	}
	if rec, err = f.reader.RecordBatchAt(i); err != nil {
		return nil, err
	}
	if rec.NumRows() != rows {
		return nil, errFlat
	}
	return rec, f.check(rec)
}

// close ends the walk. The file stays open for the batches that are still to be
// read by workers.
func (f *fileBatches) close() error { return f.release() }

func (f *fileBatches) release() error {
	if f.pending.Add(-1) == 0 {
		return f.abandon()
	}
	return nil
}

// abandon closes the file whatever is still to be read.
func (f *fileBatches) abandon() (err error) {
	f.shut.Do(func() { err = f.in.Close() })
	return err
}

// recovered makes a panic of the library on corrupt input an error, without its
// text.
func recovered(err *error) {
	if recover() != nil {
		*err = errors.New("its buffers contradict its metadata")
	}
}
