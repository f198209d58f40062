// Package shuffle releases records in a keyed order of its own, so that nothing of
// the source's order is left in the release.
//
// Records go to one of 256 temporary files by the first bits of a keyed number,
// and each of these is put in the order of the rest of the number when all have
// come: a 256th of the release is in memory at a time. All columns are decoded and
// written anew, into one stream, whatever files the source had.
package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Ranks gives every record of a block the number that its place in the release
// goes by. It must be a function of the record and its place alone, and is called
// concurrently.
type Ranks func(dst []uint64, b *microdata.Block)

const (
	bucketBits = 8
	buckets    = 1 << bucketBits
	batchRows  = 16 << 10 // records that are given to the sink at a time
)

// sink hands its records to another one in the order of their ranks.
type sink struct {
	inner  connectors.Sink
	layout *microdata.Layout
	ranks  Ranks
	dir    string
	used   []int // indexes in Block.Columns of what is released, each once
	schema *arrow.Schema
	files  [buckets]*bucket
}

type bucket struct {
	file   *os.File
	writer *ipc.Writer
}

// Create prepares a shuffled release into a sink. The layout must decode every
// released column. Temporary files lie beside the release, are readable by their
// owner alone and have no name.
func Create(ctx context.Context, to connectors.SinkConfig, plan connectors.Plan, ranks Ranks) (connectors.Sink, error) {
	// The sink looks whether it would overwrite its own source before it is told of
	// one that has a single stream.
	guard, err := to.Create(ctx, plan)
	if err != nil {
		return nil, err
	}
	if err := guard.Abort(); err != nil {
		return nil, err
	}
	s := &sink{layout: plan.Layout, ranks: ranks, dir: os.TempDir()}
	if paths := to.Paths(); len(paths) > 0 && paths[0] != "stdout" {
		s.dir = filepath.Dir(paths[0])
	}
	var fields []arrow.Field
	for _, out := range plan.Layout.Release {
		if out.Column < 0 {
			return nil, fmt.Errorf("column %s is not decoded, and cannot be shuffled", out.Field.Name)
		}
		if slices.Contains(s.used, out.Column) {
			continue
		}
		s.used = append(s.used, out.Column)
		typ := out.Field.Type
		if plan.Layout.Read[out.Column].As == microdata.Numbers {
			typ = arrow.PrimitiveTypes.Float64
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprint(out.Column), Type: typ, Nullable: true})
	}
	fields = append(fields, arrow.Field{Name: "rank", Type: arrow.PrimitiveTypes.Uint64}, arrow.Field{Name: "stream", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "place", Type: arrow.PrimitiveTypes.Int64})
	s.schema = arrow.NewSchema(fields, nil)
	plan.Source = merged{plan.Source}
	if s.inner, err = to.Create(ctx, plan); err != nil {
		return nil, err
	}
	return s, nil
}

// merged is a source whose records are one stream.
type merged struct{ connectors.Source }

func (merged) Streams() []string { return []string{"shuffled"} }

// Folder reports whether the release is a folder, of one file.
func (m merged) Folder() bool {
	f, ok := m.Source.(interface{ Folder() bool })
	return ok && f.Folder()
}

// Encode sorts the kept records of a block into batches, one a bucket.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	ranks := make([]uint64, b.N)
	s.ranks(ranks, b)
	var rows [buckets][]int
	for i, r := range ranks {
		if !b.Rejected(i) {
			k := r >> (64 - bucketBits)
			rows[k] = append(rows[k], i)
		}
	}
	columns := make([]arrow.Array, len(s.used))
	for i, c := range s.used {
		var err error
		if columns[i], err = s.whole(b, c, s.schema.Field(i).Type); err != nil {
			return nil, err
		}
	}
	batches := make([]arrow.RecordBatch, buckets)
	for k, list := range rows {
		if len(list) == 0 {
			continue
		}
		fields := make([]arrow.Array, 0, len(columns)+3)
		for _, c := range columns {
			taken, err := take(list, func(i int) (arrow.Array, int) { return c, i })
			if err != nil {
				return nil, err
			}
			fields = append(fields, taken)
		}
		rank := array.NewUint64Builder(memory.DefaultAllocator)
		stream, place := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
		for _, i := range list {
			rank.Append(ranks[i])
			stream.Append(int64(b.Stream))
			place.Append(b.Place(i))
		}
		fields = append(fields, rank.NewArray(), stream.NewArray(), place.NewArray())
		batches[k] = array.NewRecordBatch(s.schema, fields, int64(len(list)))
	}
	return batches, nil
}

// whole is a column of a block as it is released.
func (s *sink) whole(b *microdata.Block, c int, typ arrow.DataType) (arrow.Array, error) {
	col := &b.Columns[c]
	if s.layout.Read[c].As != microdata.Numbers {
		a := col.OutArray()
		if a == nil || a.Len() != b.N || !arrow.TypeEqual(a.DataType(), typ) {
			return nil, errors.New("a column is not of the type that its source tells, and cannot be shuffled")
		}
		return a, nil
	}
	out := col.Out()
	builder := array.NewFloat64Builder(memory.DefaultAllocator)
	builder.Reserve(b.N)
	for i, v := range out.Values {
		if out.Valid.Has(i) {
			builder.Append(v)
		} else {
			builder.AppendNull()
		}
	}
	return builder.NewArray(), nil
}

// take returns the values at the given rows, in their order. Rows that follow one
// another are one piece.
func take(rows []int, at func(row int) (arrow.Array, int)) (arrow.Array, error) {
	var pieces []arrow.Array
	for i := 0; i < len(rows); {
		a, first := at(rows[i])
		n := 1
		for i+n < len(rows) {
			if next, row := at(rows[i+n]); next != a || row != first+n {
				break
			}
			n++
		}
		pieces = append(pieces, array.NewSlice(a, int64(first), int64(first+n)))
		i += n
	}
	return array.Concatenate(pieces, memory.DefaultAllocator)
}

// Write appends batches to their files.
func (s *sink) Write(_ context.Context, e connectors.Encoded) error {
	for k, batch := range e.([]arrow.RecordBatch) {
		if batch == nil {
			continue
		}
		if s.files[k] == nil {
			if err := s.open(k); err != nil {
				return err
			}
		}
		if err := s.files[k].writer.Write(batch); err != nil {
			return fmt.Errorf("order: shuffled: temporary file: %w", err)
		}
	}
	return nil
}

func (s *sink) open(k int) error {
	f, err := os.CreateTemp(s.dir, ".sdlfilter-shuffle-*")
	if err != nil {
		return fmt.Errorf("order: shuffled: %w", err)
	}
	// It has no name from here on, and goes whatever becomes of the process.
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(fmt.Errorf("order: shuffled: %w", err), f.Close())
	}
	s.files[k] = &bucket{f, ipc.NewWriter(f, ipc.WithSchema(s.schema))}
	return nil
}

// Finish hands the records on, one bucket after another.
func (s *sink) Finish(ctx context.Context) error {
	given := int64(0)
	for k, f := range s.files {
		if f == nil {
			continue
		}
		n, err := s.pass(ctx, f, given)
		if err != nil {
			return err
		}
		given += n
		s.files[k] = nil
		if err := f.file.Close(); err != nil {
			return err
		}
	}
	return s.inner.Finish(ctx)
}

// row is a record in a bucket.
type row struct {
	rank          uint64
	stream, place int64
	batch, at     int
}

func (s *sink) pass(ctx context.Context, f *bucket, given int64) (int64, error) {
	if err := f.writer.Close(); err != nil {
		return 0, err
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	reader, err := ipc.NewReader(f.file)
	if err != nil {
		return 0, fmt.Errorf("order: shuffled: temporary file: %w", err)
	}
	defer reader.Release()
	var batches []arrow.RecordBatch
	var rows []row
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		k := len(s.used)
		rank, stream, place := batch.Column(k).(*array.Uint64), batch.Column(k+1).(*array.Int64), batch.Column(k+2).(*array.Int64)
		for i := range int(batch.NumRows()) {
			rows = append(rows, row{rank.Value(i), stream.Value(i), place.Value(i), len(batches), i})
		}
		batches = append(batches, batch)
	}
	if err := reader.Err(); err != nil {
		return 0, fmt.Errorf("order: shuffled: temporary file: %w", err)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.stream, b.stream), cmp.Compare(a.place, b.place))
	})
	for from := 0; from < len(rows); from += batchRows {
		if err := s.give(ctx, batches, rows[from:min(len(rows), from+batchRows)], given+int64(from)); err != nil {
			return 0, err
		}
	}
	return int64(len(rows)), nil
}

// give hands rows to the sink as a block.
func (s *sink) give(ctx context.Context, batches []arrow.RecordBatch, rows []row, first int64) error {
	b := new(microdata.Block)
	b.Reset(0, first, len(rows), len(s.layout.Read))
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

// Content digests what Finish has completed; nil where the release is no files.
func (s *sink) Content(ctx context.Context) (*publish.Content, error) {
	if inner, ok := s.inner.(interface {
		Content(context.Context) (*publish.Content, error)
	}); ok {
		return inner.Content(ctx)
	}
	return nil, nil
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error { return s.inner.Commit() }

// Abort implements connectors.Sink.
func (s *sink) Abort() error {
	var errs []error
	for k, f := range s.files {
		if f != nil {
			errs = append(errs, f.file.Close())
			s.files[k] = nil
		}
	}
	return errors.Join(append(errs, s.inner.Abort())...)
}
