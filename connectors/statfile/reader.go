package statfile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// piece is a run of rows, the columns in the order of reader.wanted.
type piece struct {
	columns []readstat.Column
	rows    int
}

// part returns the rows from ≤ i < to.
func (p piece) part(from, to int) piece {
	q := piece{rows: to - from}
	for _, c := range p.columns {
		if c.Offsets != nil {
			q.columns = append(q.columns, readstat.Column{Offsets: c.Offsets[from : to+1], Bytes: c.Bytes})
		} else {
			q.columns = append(q.columns, readstat.Column{Numbers: c.Numbers[from:to], States: c.States[from:to]})
		}
	}
	return q
}

// reader takes the rows from the library, which runs in a goroutine of its own.
type reader struct {
	source *source
	layout *microdata.Layout
	cut    connectors.Cut
	wanted []int // columns of the source
	place  map[int]int

	stop   context.CancelFunc
	pieces chan piece
	failed chan error // one error, when pieces is closed

	left  piece // not yet part of a block
	first int64
	err   error
}

// pieceBytes is about how much memory the numbers of a piece take.
const pieceBytes = 4 << 20

func newReader(ctx context.Context, s *source, in files.Handle, layout *microdata.Layout, cut connectors.Cut) *reader {
	r := &reader{source: s, layout: layout, cut: cut, place: map[int]int{}, pieces: make(chan piece), failed: make(chan error, 1)}
	needed := make([]bool, len(s.columns))
	for _, w := range layout.Read {
		needed[w.Field] = true
	}
	for _, o := range layout.Release {
		needed[o.Source] = needed[o.Source] || o.Column < 0
	}
	var texts []bool
	for i, need := range needed {
		if need || len(s.columns)-1 == i && len(r.wanted) == 0 { // of no column, records cannot be counted
			r.place[i] = len(r.wanted)
			r.wanted = append(r.wanted, i)
			texts = append(texts, s.columns[i].Type.Text())
		}
	}
	rows := min(max(pieceBytes/(9*len(r.wanted)), 64), 1<<16)
	if cut.Records > 0 {
		rows = min(rows, cut.Records)
	}
	if s.records >= 0 {
		rows = max(min(rows, int(s.records)), 1)
	}
	// The context of Read may end before that of Next.
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer bug.Guard()
		err := s.input(in).Values(ctx, func(i int) bool { _, ok := r.place[i]; return ok }, rows, func(chunk []byte, _ int) error {
			columns, n, err := readstat.ReadChunk(chunk, texts)
			if err != nil {
				return err
			}
			select {
			case r.pieces <- piece{columns, n}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		r.failed <- errors.Join(err, in.Close())
		close(r.pieces)
	}()
	return r
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	raw := &run{reader: r, first: r.first}
	if err := r.fill(ctx, raw); err != nil {
		if ctx.Err() == nil {
			r.err = err
		}
		return nil, err
	}
	r.first += int64(raw.n)
	return raw, nil
}

// fill gives the run its rows.
func (r *reader) fill(ctx context.Context, raw *run) error {
	for {
		if r.left.rows == 0 {
			select {
			case p, ok := <-r.pieces:
				if !ok {
					return r.end(raw)
				}
				r.left = p
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		n := r.left.rows
		if r.cut.Records > 0 {
			n = min(n, r.cut.Records-raw.n)
		}
		raw.pieces = append(raw.pieces, r.left.part(0, n))
		raw.n += n
		r.left = r.left.part(n, r.left.rows)
		if !r.cut.Exact || raw.n == r.cut.Records {
			return nil
		}
	}
}

// end is called when there are no more rows.
func (r *reader) end(raw *run) error {
	seen := r.first + int64(raw.n)
	err := <-r.failed
	r.failed <- err
	if want := r.source.records; err == nil && want >= 0 && want != seen {
		err = fmt.Errorf("is truncated or damaged: it says that it has %d records, and %d are there", want, seen)
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return &connectors.RecordError{Stream: r.source.file.Label, Reason: fmt.Sprintf("after record %d", seen), Err: noEnd(err)}
	case err != nil:
		return err
	case raw.n == 0:
		return io.EOF
	}
	return nil
}

// noEnd is an error that nobody takes for the end of a pass.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New(err.Error())
	}
	return err
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	if r.err == nil {
		r.err = errors.New("the pass is closed")
	}
	r.stop()
	for range r.pieces {
	}
	return nil
}

// run is a block that is not yet decoded.
type run struct {
	reader *reader
	first  int64
	n      int
	pieces []piece
}

// Bytes implements connectors.Raw: the share of the file.
func (r *run) Bytes() int64 {
	s := r.reader.source
	if s.records > 0 {
		return s.stamp.Size() / s.records * int64(r.n)
	}
	size := int64(0)
	for _, p := range r.pieces {
		for _, c := range p.columns {
			size += int64(9 * len(c.Numbers))
			if c.Offsets != nil {
				size += int64(c.Offsets[p.rows] - c.Offsets[0])
			}
		}
	}
	return size
}

// carried are the columns of a block as they are stored, by place in the release; an empty slice for those that
// are masked.
type carried struct {
	program string
	columns [][]stretch
}

// stretch is a part of a column.
type stretch struct {
	readstat.Column
	rows int
}

// column returns a field's stretches.
func (r *run) column(field int) []stretch {
	var all []stretch
	for _, p := range r.pieces {
		all = append(all, stretch{p.columns[r.reader.place[field]], p.rows})
	}
	return all
}

// Decode implements connectors.Raw.
func (r *run) Decode(b *microdata.Block) error {
	layout, s := r.reader.layout, r.reader.source
	b.Reset(0, r.first, r.n, len(layout.Read))
	for i, w := range layout.Read {
		c := s.columns[w.Field]
		a, bad := c.decode(r.column(w.Field), r.n)
		for _, row := range bad {
			b.Reject(row, c.Name, "holds no whole day, or a time out of range")
		}
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		microdata.NumbersOf(a, &b.Columns[i])
	}
	kept := &carried{program: s.config.program, columns: make([][]stretch, len(layout.Release))}
	for i, o := range layout.Release {
		if _, read := r.reader.place[o.Source]; read && !o.Masked {
			kept.columns[i] = r.column(o.Source)
		}
	}
	b.Carried = kept
	return nil
}

// decode makes an array of a column. bad are rows whose number is no value of the type.
func (c *column) decode(parts []stretch, n int) (a arrow.Array, bad []int) {
	build := array.NewBuilder(memory.DefaultAllocator, c.field.Type)
	defer build.Release()
	build.Reserve(n)
	row := 0
	for _, p := range parts {
		for k := range p.rows {
			switch {
			case p.Offsets != nil:
				text := p.Text(k)
				if len(text) == 0 {
					build.AppendNull()
				} else {
					build.(*array.StringBuilder).BinaryBuilder.Append(text)
				}
			case p.States[k] != 0:
				build.AppendNull()
			case !c.number(build, p.Numbers[k]):
				bad = append(bad, row)
				build.AppendNull()
			}
			row++
		}
	}
	return build.NewArray(), bad
}

// number appends a number as the type has it.
func (c *column) number(build array.Builder, x float64) bool {
	switch b := build.(type) {
	case *array.Float64Builder:
		b.Append(x)
	case *array.Float32Builder:
		b.Append(float32(x))
	case *array.Int8Builder:
		b.Append(int8(x))
	case *array.Int16Builder:
		b.Append(int16(x))
	case *array.Int32Builder:
		b.Append(int32(x))
	case *array.Date32Builder:
		d, ok := c.clock.days(x)
		if ok {
			b.Append(arrow.Date32(d))
		}
		return ok
	case *array.TimestampBuilder:
		parts := 1e6
		if c.clock.unit == 1e-3 {
			parts = 1e3
		}
		t, ok := c.clock.ticks(x, parts)
		if ok {
			b.Append(arrow.Timestamp(t))
		}
		return ok
	}
	return true
}
