package shuffle

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// bucket holds the records whose ranks begin with the same bytes, in memory while they are few
// and then in a temporary file without a name.
type bucket struct {
	dir    string
	held   bytes.Buffer // what is written, without a file; otherwise what is not in the file yet
	file   *os.File     // nil: there is none yet
	writer *ipc.Writer
	bytes  int64 // written so far: what its records take in memory, but for their rows
	rows   int64
}

// mostHeld is how many bytes of a bucket are held in memory while records are written. Tests hold less.
var mostHeld = 16 << 10

// Write counts what is written, and takes it to the file when it is much.
func (b *bucket) Write(p []byte) (int, error) {
	b.bytes += int64(len(p))
	if b.held.Len()+len(p) < mostHeld {
		return b.held.Write(p)
	}
	if err := b.flush(); err != nil {
		return 0, err
	}
	return b.file.Write(p)
}

// flush takes what is held to the file, which is made if there is none.
func (b *bucket) flush() error {
	if b.file == nil {
		f, err := os.CreateTemp(b.dir, ".sdlfilter-shuffle-*")
		if err != nil {
			return err
		}
		b.file = f
		// It has no name from here on, and goes whatever becomes of the process.
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	_, err := b.held.WriteTo(b.file)
	return err
}

func (b *bucket) close() error {
	if b == nil || b.file == nil {
		return nil
	}
	return b.file.Close()
}

// level is the buckets of one byte of the ranks.
type level [buckets]*bucket

func (l *level) close() error {
	var errs []error
	for k, b := range l {
		errs = append(errs, b.close())
		l[k] = nil
	}
	return errors.Join(errs...)
}

// write appends batches, one a bucket, to their files.
func (s *sink) write(l *level, batches []arrow.RecordBatch) error {
	for k, batch := range batches {
		if batch == nil {
			continue
		}
		if l[k] == nil {
			l[k] = s.open()
		}
		if err := l[k].writer.Write(batch); err != nil {
			return temporary(err)
		}
		l[k].rows += batch.NumRows()
	}
	return nil
}

func (s *sink) open() *bucket {
	b := &bucket{dir: s.dir}
	b.writer = ipc.NewWriter(b, ipc.WithSchema(s.schema))
	return b
}

// temporary gives an error its place, without the name that the file had.
func temporary(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("order: shuffled: temporary file: %w", err)
}

// read begins to read what was written.
func (b *bucket) read() (*ipc.Reader, error) {
	err := b.writer.Close()
	written := io.Reader(&b.held)
	if err == nil && b.file != nil {
		if err = b.flush(); err == nil {
			_, err = b.file.Seek(0, io.SeekStart)
		}
		written = bufio.NewReaderSize(b.file, 256<<10)
	}
	if err != nil {
		return nil, temporary(err)
	}
	reader, err := ipc.NewReader(written)
	if err != nil {
		return nil, temporary(err)
	}
	return reader, nil
}

// pass returns the records of a level in the order of their ranks, bucket by bucket. The first
// depth bytes of the ranks of a bucket are equal. A bucket that is too large is split by the
// next byte; records with the same rank cannot be split and are held in memory together.
func (s *sink) pass(ctx context.Context, l *level, depth int) (err error) {
	defer func() { err = errors.Join(err, l.close()) }()
	for k, b := range l {
		if b == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.bytes > s.most && depth < 8 {
			err = s.part(ctx, b, depth)
		} else {
			err = s.sorted(ctx, b)
		}
		l[k] = nil
		if err := errors.Join(err, b.close()); err != nil {
			return err
		}
	}
	return nil
}

// part parts a bucket by the next byte of its ranks and hands the parts on.
func (s *sink) part(ctx context.Context, b *bucket, depth int) error {
	reader, err := b.read()
	if err != nil {
		return err
	}
	defer reader.Release()
	var next level
	for more := true; more && err == nil; {
		var batches []arrow.RecordBatch
		if batches, more, err = s.some(ctx, reader); err == nil && len(batches) > 0 {
			err = s.partSome(&next, batches, depth)
		}
	}
	if err != nil {
		return errors.Join(err, next.close())
	}
	return s.pass(ctx, &next, depth+1)
}

// some reads batches of about a quarter of the memory limit: from many small batches the parts
// would become even smaller.
func (s *sink) some(ctx context.Context, reader *ipc.Reader) (batches []arrow.RecordBatch, more bool, err error) {
	for size := int64(0); len(batches) == 0 || size < s.most/4; {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if !reader.Next() {
			if err := reader.Err(); err != nil {
				return nil, false, temporary(err)
			}
			return batches, false, nil
		}
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
		for _, c := range batch.Columns() {
			size += sizeOf(c.Data())
		}
	}
	return batches, true, nil
}

// sizeOf returns the bytes of an array's buffers and of those below it.
func sizeOf(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		n += sizeOf(child)
	}
	return n
}

// partSome writes the records of some batches to the buckets of the next byte.
func (s *sink) partSome(next *level, batches []arrow.RecordBatch, depth int) error {
	columns := make([]arrow.Array, batches[0].NumCols())
	for i := range columns {
		pieces := make([]arrow.Array, len(batches))
		for k, batch := range batches {
			pieces[k] = batch.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return fmt.Errorf("order: shuffled: %w", err)
		}
	}
	parts, err := s.split(columns, depth)
	if err != nil {
		return err
	}
	return s.write(next, parts)
}

// split makes batches of the given columns, one for each value of a byte of the ranks.
func (s *sink) split(columns []arrow.Array, depth int) ([]arrow.RecordBatch, error) {
	var rows [buckets][]int
	for i, rank := range columns[len(columns)-3].(*array.Uint64).Uint64Values() {
		k := rank >> (64 - bucketBits*(depth+1)) & (buckets - 1)
		rows[k] = append(rows[k], i)
	}
	return s.batches(columns, rows[:])
}

// batches makes one batch of each list of rows, nil of an empty one.
func (s *sink) batches(columns []arrow.Array, rows [][]int) ([]arrow.RecordBatch, error) {
	batches := make([]arrow.RecordBatch, len(rows))
	for k, list := range rows {
		if len(list) == 0 {
			continue
		}
		fields := make([]arrow.Array, len(columns))
		for i, c := range columns {
			var err error
			if fields[i], err = take(list, func(row int) (arrow.Array, int) { return c, row }); err != nil {
				return nil, fmt.Errorf("order: shuffled: %w", err)
			}
		}
		batches[k] = array.NewRecordBatch(s.schema, fields, int64(len(list)))
	}
	return batches, nil
}

// row is a record in a bucket.
type row struct {
	rank          uint64
	stream, place int64
	batch, at     int
}

// sorted hands the records of a bucket on in their order. All of it is in memory.
func (s *sink) sorted(ctx context.Context, b *bucket) error {
	reader, err := b.read()
	if err != nil {
		return err
	}
	defer reader.Release()
	var batches []arrow.RecordBatch
	rows := make([]row, 0, b.rows)
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		k := int(batch.NumCols()) - 3
		rank, stream, place := batch.Column(k).(*array.Uint64), batch.Column(k+1).(*array.Int64),
			batch.Column(k+2).(*array.Int64)
		for i := range int(batch.NumRows()) {
			rows = append(rows, row{rank.Value(i), stream.Value(i), place.Value(i), len(batches), i})
		}
		batches = append(batches, batch)
	}
	if err := reader.Err(); err != nil {
		return temporary(err)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.stream, b.stream), cmp.Compare(a.place, b.place))
	})
	for run := range slices.Chunk(rows, batchRows) {
		if err := s.give(ctx, batches, run); err != nil {
			return err
		}
	}
	return nil
}

// give hands rows to the sink as a block.
func (s *sink) give(ctx context.Context, batches []arrow.RecordBatch, rows []row) error {
	if s.texts != nil {
		texts := make([][]byte, len(rows))
		for i, r := range rows {
			texts[i] = batches[r.batch].Column(0).(*array.Binary).Value(r.at)
		}
		return s.inner.Write(ctx, s.texts.Gather(texts))
	}
	b := new(microdata.Block)
	b.Reset(0, s.returned, len(rows), len(s.layout.Read))
	s.returned += int64(len(rows))
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	for i, c := range s.used {
		if s.layout.Read[c].As == microdata.Numbers {
			v := b.Columns[c].Alloc(len(rows), true)
			for k, r := range rows {
				a := batches[r.batch].Column(i).(*array.Float64)
				if v.Values[k] = 0; a.IsNull(r.at) {
					v.Valid.Clear(k)
				} else {
					v.Values[k] = a.Value(r.at)
				}
			}
			continue
		}
		taken, err := take(index, func(k int) (arrow.Array, int) { return batches[rows[k].batch].Column(i), rows[k].at })
		if err != nil {
			return fmt.Errorf("order: shuffled: %w", err)
		}
		b.Columns[c].Array = taken
	}
	encoded, err := s.inner.Encode(b)
	if err != nil {
		return err
	}
	return s.inner.Write(ctx, encoded)
}
