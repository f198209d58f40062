package xlsx

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// blockRecords is how many records a block has by default.
const blockRecords = 1 << 12

// reader takes the rows from a goroutine that reads the sheet.
type reader struct {
	source *source
	layout *microdata.Layout
	stop   context.CancelFunc
	runs   chan *run
	failed chan error // one error, when runs is closed
	err    error
}

func newReader(ctx context.Context, s *source, in files.Handle, layout *microdata.Layout, cut connectors.Cut) *reader {
	r := &reader{source: s, layout: layout, runs: make(chan *run), failed: make(chan error, 1)}
	records := blockRecords
	if cut.Records > 0 && (cut.Exact || cut.Records < records) {
		records = cut.Records
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer bug.Guard()
		err := r.read(ctx, in, records)
		r.failed <- errors.Join(s.named(err), in.Close())
		close(r.runs)
	}()
	return r
}

func (r *reader) read(ctx context.Context, in files.Handle, records int) error {
	next := &run{reader: r}
	send := func() error {
		select {
		case r.runs <- next:
			next = &run{reader: r, first: next.first + int64(len(next.rows))}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := r.source.rows(ctx, in, func(int, []cell) error { return nil }, func(cells []cell) error {
		next.rows = append(next.rows, append([]cell(nil), cells...))
		if len(next.rows) < records {
			return nil
		}
		return send()
	})
	if err == nil && len(next.rows) > 0 {
		err = send()
	}
	return err
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	select {
	case raw, ok := <-r.runs:
		if ok {
			return raw, nil
		}
		if r.err = <-r.failed; r.err == nil {
			r.err = io.EOF
		}
		return nil, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	if r.err == nil {
		r.err = errors.New("the pass is closed")
	}
	r.stop()
	for range r.runs {
	}
	return nil
}

// run is a block that is not yet decoded.
type run struct {
	reader *reader
	first  int64
	rows   [][]cell
}

// Bytes implements connectors.Raw: the share of the file.
func (r *run) Bytes() int64 {
	return int64(float64(r.reader.source.stamp.Size()) * float64(len(r.rows)) / float64(max(r.reader.source.records, 1)))
}

// Decode implements connectors.Raw.
func (r *run) Decode(b *microdata.Block) error {
	layout, schema := r.reader.layout, r.reader.source.schema
	b.Reset(0, r.first, len(r.rows), len(layout.Read))
	for i, w := range layout.Read {
		f := schema.Fields[w.Field]
		build := array.NewBuilder(memory.DefaultAllocator, f.Type)
		build.Reserve(len(r.rows))
		for row, cells := range r.rows {
			var c cell
			if w.Field < len(cells) {
				c = cells[w.Field]
			}
			if c.kind == empty {
				build.AppendNull()
			} else if !put(build, c) {
				build.AppendNull()
				b.Reject(row, f.Name, "is not "+microdata.TypeName(f.Type))
			}
		}
		a := build.NewArray()
		build.Release()
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			b.Reject(row, f.Name, "holds a number that has more digits than masks compute with")
		}
	}
	return nil
}

// put appends a cell as the type has it; false if it cannot.
func put(build array.Builder, c cell) bool {
	whole := c.number == math.Trunc(c.number)
	switch b := build.(type) {
	case *array.StringBuilder:
		b.Append(c.String())
		return true
	case *array.Float64Builder:
		if c.kind != isNumber {
			return false
		}
		b.Append(c.number)
	case *array.Int64Builder:
		if c.kind != isNumber || !whole || math.Abs(c.number) > microdata.MaxExact {
			return false
		}
		b.Append(int64(c.number))
	case *array.BooleanBuilder:
		if c.kind != isBool {
			return false
		}
		b.Append(c.number == 1)
	case *array.Date32Builder:
		if c.kind != isTime || !whole || math.Abs(c.number) > math.MaxInt32 {
			return false
		}
		b.Append(arrow.Date32(c.number))
	case *array.TimestampBuilder:
		if c.kind != isTime || math.Abs(c.number) > 1e7 {
			return false
		}
		// A number of days has at most 1e-6 seconds of the twentieth century; Excel shows milliseconds.
		b.Append(arrow.Timestamp(math.RoundToEven(c.number*86400e3)) * 1000)
	default:
		return false
	}
	return true
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// String is the cell as a text of a column that holds more than one kind of value.
func (c cell) String() string {
	switch c.kind {
	case isNumber:
		return number(c.number)
	case isBool:
		return strconv.FormatBool(c.number == 1)
	case isTime:
		t := arrow.Timestamp(math.RoundToEven(c.number * 86400e3)).ToTime(arrow.Millisecond)
		if c.number == math.Trunc(c.number) {
			return t.Format("2006-01-02")
		}
		return t.Format("2006-01-02T15:04:05.999")
	}
	return c.text
}
