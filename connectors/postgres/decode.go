package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// run is a run of rows as the server sent them.
type run struct {
	pass  *pass
	first int64
	rows  int
	data  []byte
}

// Bytes implements connectors.Raw.
func (r *run) Bytes() int64 { return int64(len(r.data)) }

// Decode implements connectors.Raw.
func (r *run) Decode(b *microdata.Block) error {
	p := r.pass
	b.Reset(0, r.first, r.rows, len(p.layout.Read))
	values := r.values()
	for i, w := range p.layout.Read {
		c := p.source.columns[w.Field]
		v := decoding{block: b, column: c, measured: w.Measured, at: p.at[w.Field], of: len(p.requested), values: values}
		a, err := v.array()
		if err != nil {
			return &connectors.RecordError{Stream: p.source.label, Record: r.first + 1, Column: c.Name, Reason: err.Error()}
		}
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			if w.Measured {
				// The text is a number; where it overflows it is infinite.
				b.Columns[i].Original.Values[row], _ = strconv.ParseFloat(a.ValueStr(row), 64)
				continue
			}
			b.Reject(row, c.Name, "holds a number that has more digits than masks compute with")
		}
	}
	return nil
}

// values are those of the rows, one row after another. cutter has seen that all are whole.
func (r *run) values() [][]byte {
	out := make([][]byte, 0, r.rows*len(r.pass.requested))
	rest := r.data
	for range r.rows {
		rest = rest[2:]
		for range r.pass.requested {
			value, n, _, _ := field(rest)
			out = append(out, value)
			rest = rest[n:]
		}
	}
	return out
}

// decoding makes an array of one column of a run.
type decoding struct {
	block    *microdata.Block
	column   column
	measured bool
	at, of   int // the column's place among so many
	values   [][]byte
}

// Days and microseconds from 1970, where Arrow counts from, to 2000, where PostgreSQL does.
const (
	epochDays   = 10957
	epochMicros = epochDays * 24 * 60 * 60 * 1_000_000
)

// The ends of the ranges stand for the infinities of dates and times.
const (
	infiniteTime = "holds a time without end or beginning (infinity)"
	infiniteDate = "holds a date without end or beginning (infinity)"
	beyondTime   = "holds a time beyond the year 294246"
	notFinite    = "holds a number that is none (NaN) or infinite, which a decimal cannot be"
	notDecimal   = "holds a number that its type does not have"
	manyDigits   = "holds a number that has more digits than a float64; give the column a precision of at most 38 digits: numeric(18,4)"
	notUTF8      = "holds text that is not UTF-8"
)

func (d *decoding) array() (arrow.Array, error) {
	n := d.block.N
	builder := array.NewBuilder(memory.DefaultAllocator, d.column.Type)
	defer builder.Release()
	builder.Reserve(n)
	set, size := d.setter(builder)
	for row := range n {
		value := d.values[row*d.of+d.at]
		switch {
		case value == nil:
			builder.AppendNull()
			continue
		case size > 0 && len(value) != size:
			return nil, fmt.Errorf("a value has %d bytes, not %d as its type has", len(value), size)
		}
		if reason := set(value); reason != "" {
			d.block.Reject(row, d.column.Name, reason)
			builder.AppendNull()
		}
	}
	return builder.NewArray(), nil
}

// setter returns what appends a value, or says why it cannot be, and the size of all
// values, 0 where they have sizes of their own.
func (d *decoding) setter(builder array.Builder) (set func([]byte) string, size int) {
	switch b := builder.(type) {
	case *array.BooleanBuilder:
		return func(v []byte) string { b.Append(v[0] != 0); return "" }, 1
	case *array.Int16Builder:
		return func(v []byte) string { b.Append(int16(binary.BigEndian.Uint16(v))); return "" }, 2
	case *array.Int32Builder:
		return func(v []byte) string { b.Append(int32(binary.BigEndian.Uint32(v))); return "" }, 4
	case *array.Int64Builder:
		return func(v []byte) string { b.Append(int64(binary.BigEndian.Uint64(v))); return "" }, 8
	case *array.Float32Builder:
		return func(v []byte) string { b.Append(math.Float32frombits(binary.BigEndian.Uint32(v))); return "" }, 4
	case *array.Float64Builder:
		if d.column.oid == oidNumeric {
			return func(v []byte) string { return d.bare(b, v) }, 0
		}
		return func(v []byte) string { b.Append(math.Float64frombits(binary.BigEndian.Uint64(v))); return "" }, 8
	case *array.Decimal128Builder:
		scale := d.column.Type.(*arrow.Decimal128Type).Scale
		return func(v []byte) string { return decimal(b, v, scale) }, 0
	case *array.Date32Builder:
		return func(v []byte) string { return date(b, int32(binary.BigEndian.Uint32(v))) }, 4
	case *array.TimestampBuilder:
		return func(v []byte) string { return timestamp(b, int64(binary.BigEndian.Uint64(v))) }, 8
	}
	b := builder.(*array.StringBuilder)
	return func(v []byte) string {
		if !utf8.Valid(v) {
			return notUTF8
		}
		b.BinaryBuilder.Append(v)
		return ""
	}, 0
}

func date(b *array.Date32Builder, days int32) string {
	if days == math.MaxInt32 || days == math.MinInt32 {
		return infiniteDate
	}
	b.Append(arrow.Date32(days + epochDays)) // the last date that there is, in 5874897, is 4.5 million days from the end
	return ""
}

func timestamp(b *array.TimestampBuilder, micros int64) string {
	switch {
	case micros == math.MaxInt64 || micros == math.MinInt64:
		return infiniteTime
	case micros > math.MaxInt64-epochMicros:
		return beyondTime
	}
	b.Append(arrow.Timestamp(micros + epochMicros))
	return ""
}

// decimal appends a numeric of a type with a scale.
func decimal(b *array.Decimal128Builder, v []byte, scale int32) string {
	n, ok := parseNumeric(v)
	switch {
	case !ok:
		return notDecimal
	case n.special != 0:
		return notFinite
	}
	if u, ok := n.small(scale); ok {
		b.Append(decimal128.FromI64(u))
		return ""
	}
	u, ok := n.unscaled(scale)
	if !ok || u.BitLen() > 127 { // as 38 digits have at most
		return notDecimal
	}
	b.Append(decimal128.FromBigInt(u))
	return ""
}

// bare appends a numeric without a scale as the float64 that is it; only where it is
// measured alone, as the nearest.
func (d *decoding) bare(b *array.Float64Builder, v []byte) string {
	n, ok := parseNumeric(v)
	switch {
	case !ok:
		return notDecimal
	case n.special != 0:
		b.Append(n.float())
		return ""
	}
	text := n.text()
	// The error says that the value overflows, which the comparison finds too.
	x, _ := strconv.ParseFloat(text, 64)
	if !d.measured && strconv.FormatFloat(x, 'f', -1, 64) != text {
		return manyDigits
	}
	b.Append(x)
	return ""
}
