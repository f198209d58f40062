package xlsx

import (
	"context"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// piece is a run of rows.
type piece struct {
	rows  [][]cell
	bytes int64
}

// Len implements serial.Piece.
func (p piece) Len() int { return len(p.rows) }

// Size implements serial.Piece.
func (p piece) Size() int64 { return p.bytes }

// Part implements serial.Piece.
func (p piece) Part(from, to int) piece {
	if n := int64(len(p.rows)); n > 0 {
		return piece{p.rows[from:to], p.bytes * int64(to-from) / n}
	}
	return piece{}
}

// The bounds of a piece: records, and about so many bytes.
const (
	pieceRecords = 1 << 12
	pieceBytes   = 8 << 20
	cellBytes    = 32 // of a cell besides its text
)

// Scan implements serial.Format.
func (f *format) Scan(ctx context.Context, in serial.File, _ *microdata.Layout, rows int,
	yield func(piece) error) error {
	var next piece
	rows = min(rows, pieceRecords)
	err := f.rows(ctx, in, func([]cell) error { return nil }, func(cells []cell) error {
		next.rows = append(next.rows, append([]cell(nil), cells...))
		next.bytes += cellBytes
		for _, c := range cells {
			next.bytes += cellBytes + int64(len(c.text))
		}
		if len(next.rows) < rows && next.bytes < pieceBytes {
			return nil
		}
		full := next
		next = piece{}
		return yield(full)
	})
	if err == nil && len(next.rows) > 0 {
		err = yield(next)
	}
	return err
}

// Decode implements serial.Format.
func (f *format) Decode(b *microdata.Block, layout *microdata.Layout, pieces []piece) error {
	for i, w := range layout.Read {
		field := f.schema.Fields[w.Field]
		build := array.NewBuilder(memory.DefaultAllocator, field.Type)
		build.Reserve(b.N)
		row := 0
		for _, p := range pieces {
			for _, cells := range p.rows {
				var c cell
				if w.Field < len(cells) {
					c = cells[w.Field]
				}
				if c.kind == empty {
					build.AppendNull()
				} else if !put(build, c) {
					build.AppendNull()
					b.Reject(row, field.Name, "is not "+microdata.TypeName(field.Type))
				}
				row++
			}
		}
		a := build.NewArray()
		build.Release()
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			b.Reject(row, field.Name, "holds a number that has more digits than masks compute with")
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
