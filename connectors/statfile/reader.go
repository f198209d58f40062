package statfile

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// piece is a run of rows of the columns that are read.
type piece struct {
	columns []readstat.Column
	places  []int // by column of the source, in columns; −1: it is not read
	rows    int
}

// Len implements serial.Piece.
func (p piece) Len() int { return p.rows }

// Part implements serial.Piece.
func (p piece) Part(from, to int) piece {
	q := piece{rows: to - from, places: p.places}
	for _, c := range p.columns {
		if c.Offsets != nil {
			q.columns = append(q.columns, readstat.Column{Offsets: c.Offsets[from : to+1], Bytes: c.Bytes})
		} else {
			q.columns = append(q.columns, readstat.Column{Numbers: c.Numbers[from:to], States: c.States[from:to]})
		}
	}
	return q
}

// Size implements serial.Piece.
func (p piece) Size() int64 {
	size := int64(0)
	for _, c := range p.columns {
		size += int64(9 * len(c.Numbers))
		if c.Offsets != nil {
			size += int64(c.Offsets[p.rows] - c.Offsets[0])
		}
	}
	return size
}

// pieceBytes is about how much memory the numbers of a piece take.
const pieceBytes = 4 << 20

// Scan implements serial.Format.
func (f *format) Scan(ctx context.Context, in serial.File, layout *microdata.Layout, rows int,
	yield func(piece) error) error {
	needed := make([]bool, len(f.columns))
	for _, w := range layout.Read {
		needed[w.Field] = true
	}
	for _, o := range layout.Release {
		needed[o.Source] = needed[o.Source] || o.Column < 0
	}
	places := make([]int, len(needed))
	var texts []bool
	for i, need := range needed {
		places[i] = -1
		if need || len(needed)-1 == i && len(texts) == 0 { // of no column, records cannot be counted
			places[i] = len(texts)
			texts = append(texts, f.columns[i].Type.Text())
		}
	}
	rows = min(rows, max(pieceBytes/(9*len(texts)), 64))
	if in.Records >= 0 {
		rows = max(min(rows, int(in.Records)), 1)
	}
	wanted := func(i int) bool { return i >= 0 && i < len(places) && places[i] >= 0 }
	return f.input(in).Values(ctx, wanted, rows, func(chunk []byte, _ int) error {
		columns, n, err := readstat.ReadChunk(chunk, texts)
		if err != nil {
			return err
		}
		return yield(piece{columns, places, n})
	})
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

// stretches returns a field's part of pieces; nil if it is not read.
func stretches(pieces []piece, field int) []stretch {
	var all []stretch
	for _, p := range pieces {
		if k := p.places[field]; k >= 0 {
			all = append(all, stretch{p.columns[k], p.rows})
		}
	}
	return all
}

// Decode implements serial.Format.
func (f *format) Decode(b *microdata.Block, layout *microdata.Layout, pieces []piece) error {
	for i, w := range layout.Read {
		c := f.columns[w.Field]
		a, bad := c.decode(stretches(pieces, w.Field), b.N)
		for _, row := range bad {
			b.Reject(row, c.Name, "holds no whole day, or a time out of range")
		}
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		microdata.NumbersOf(a, &b.Columns[i])
	}
	kept := &carried{program: f.config.program, columns: make([][]stretch, len(layout.Release))}
	for i, o := range layout.Release {
		if !o.Masked {
			kept.columns[i] = stretches(pieces, o.Source)
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
