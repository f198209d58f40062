package arrowipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// blockRecords is the default greatest number of records of a block.
const blockRecords = 1 << 16

// reader cuts the batches of the streams into blocks.
type reader struct {
	source *source
	layout *microdata.Layout
	cut    connectors.Cut
	fields []int // that are read or carried

	stream int // current; -1 before the first
	walk   batches
	open   *batch // of which the records from at on remain
	at     int64
	first  int64 // of the next block
	err    error
}

func newReader(s *source, layout *microdata.Layout, cut connectors.Cut) *reader {
	r := &reader{source: s, layout: layout, cut: cut, stream: -1}
	if cut.Records == 0 {
		r.cut.Records = blockRecords
	}
	needed := make([]bool, len(s.schema.Fields))
	for _, w := range layout.Read {
		needed[w.Field] = true
	}
	for _, o := range layout.Release {
		if o.Column < 0 {
			needed[o.Source] = true
		}
	}
	for i := range s.arrow.Fields() {
		if needed[i] {
			r.fields = append(r.fields, i)
		}
	}
	return r
}

// verify checks the columns that will be used.
func (r *reader) verify(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(r.source.arrow.Fields()) {
		return errFlat
	}
	for _, i := range r.fields {
		if err := verify(rec.Column(i).Data(), rec.NumRows()); err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	return nil
}

// Next returns the next block. Blocks of an exact size may span batches.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	raw, err := r.next(ctx)
	if err != nil {
		r.err = err
		return nil, err
	}
	return raw, nil
}

func (r *reader) next(ctx context.Context) (*run, error) {
	for {
		if r.walk == nil {
			if err := r.nextStream(); err != nil {
				return nil, err
			}
		}
		raw, err := r.nextRun(ctx)
		if err != nil || raw != nil {
			return raw, err
		}
		if err := r.endStream(); err != nil {
			return nil, err
		}
	}
}

func (r *reader) nextStream() error {
	if r.stream++; r.stream == len(r.source.streams) {
		return io.EOF
	}
	walk, err := r.source.streams[r.stream].openBatches(r.verify)
	if err != nil {
		return err
	}
	if f, ok := walk.(*fileBatches); ok {
		r.source.open = append(r.source.open, f)
	}
	r.walk, r.open, r.first = walk, nil, 0
	return nil
}

func (r *reader) endStream() error {
	if r.walk == nil {
		return nil
	}
	err := r.walk.close()
	r.walk = nil
	return err
}

// nextRun returns the stream's next block; nil at its end.
func (r *reader) nextRun(ctx context.Context) (*run, error) {
	raw := &run{reader: r, stream: r.stream, first: r.first}
	for raw.n < r.cut.Records {
		if r.open == nil {
			b, err := r.walk.next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			if b.rows == 0 {
				continue
			}
			r.open, r.at = b, 0
		}
		n := min(r.open.rows-r.at, int64(r.cut.Records-raw.n))
		raw.segments = append(raw.segments, segment{r.open, r.at, r.at + n})
		raw.size += r.open.size * n / r.open.rows
		raw.n += int(n)
		if r.at += n; r.at == r.open.rows {
			r.open = nil
		}
		if !r.cut.Exact {
			break
		}
	}
	if raw.n == 0 {
		return nil, nil
	}
	r.first += int64(raw.n)
	return raw, nil
}

func (r *reader) Close() error {
	if r.err == nil {
		r.err = errors.New("the pass is closed")
	}
	return r.endStream()
}

// segment is a stretch of a batch.
type segment struct {
	*batch
	from, to int64
}

// run is a block that is not yet decoded.
type run struct {
	reader   *reader
	stream   int
	first    int64
	n        int
	size     int64
	segments []segment
}

// Bytes returns the share that the run has in its batches' messages.
func (r *run) Bytes() int64 { return r.size }

// carried has the columns that were not decoded, by place in the release; nil for the
// others.
type carried []arrow.Array

// Decode slices the columns out of their batches.
func (r *run) Decode(b *microdata.Block) (err error) {
	layout, st := r.reader.layout, r.reader.source.streams[r.stream]
	b.Reset(r.stream, r.first, r.n, len(layout.Read))
	defer func() {
		if recover() != nil {
			err = corrupt(st.file.Label, fmt.Errorf("records %d to %d: %w", r.first+1, r.first+int64(r.n), errFlat))
		}
	}()
	for i, w := range layout.Read {
		a, err := r.column(w.Field)
		if err != nil {
			return err
		}
		a = plain(a)
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			if w.Measured {
				b.Columns[i].Original.Values[row] = nearest(a.ValueStr(row))
				continue
			}
			b.Reject(row, layout.Schema.Fields[w.Field].Name, "holds a number that has more digits than masks compute with")
		}
	}
	var kept carried
	for i, o := range layout.Release {
		if o.Column >= 0 {
			continue
		}
		if kept == nil {
			kept = make(carried, len(layout.Release))
		}
		if kept[i], err = r.column(o.Source); err != nil {
			return err
		}
	}
	if kept != nil {
		b.Carried = kept
	}
	return nil
}

// nearest returns the float64 nearest to a number that is not exactly a float64. That is
// accurate enough for measures of a column that is released unchanged.
func nearest(number string) float64 {
	// An error means that the value overflows; x is then infinite.
	x, _ := strconv.ParseFloat(number, 64)
	return x
}

// column returns the run's part of a field.
func (r *run) column(field int) (arrow.Array, error) {
	st := r.reader.source.streams[r.stream]
	if k := field - len(st.schema.Fields()); k >= 0 {
		return constant(st.file.Partitions[k], r.n), nil
	}
	parts := make([]arrow.Array, len(r.segments))
	for i, s := range r.segments {
		rec, err := s.record()
		if err != nil {
			return nil, err
		}
		parts[i] = rec.Column(field)
		if s.from > 0 || s.to < s.rows {
			parts[i] = array.NewSlice(parts[i], s.from, s.to)
		}
	}
	a, err := join(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: column %s, records %d to %d: blocks this large cannot be put together: %v", st.file.Label,
			r.reader.source.schema.Fields[field].Name, r.first+1, r.first+int64(r.n), err)
	}
	return a, nil
}
