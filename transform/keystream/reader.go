package keystream

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader appends value i of an identity column, which is not null, to a message.
// The column's type is examined once, outside the loop; the call of a function value takes a
// twentieth of the time of a digest's AES calls.
type reader func(m message, i int) message

// column is an identity column that is being read.
type column struct {
	read  reader
	n     int
	nulls func(i int) bool // nil: none
}

func (c *column) append(m message, i int) message {
	if c.nulls != nil && c.nulls(i) {
		return m.null()
	}
	return c.read(m, i)
}

// CanIdentify reports whether columns of type t can identify records: every type except
// intervals, nested and run-end encoded types. A dense union of types that can identify is
// allowed too: each of its values is a value of a child.
func CanIdentify(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return CanIdentify(t.ValueType)
	case arrow.ExtensionType:
		return CanIdentify(t.StorageType())
	case *arrow.DenseUnionType:
		return !slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return !CanIdentify(f.Type) })
	}
	switch t.ID() {
	case arrow.NULL, arrow.BOOL,
		arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64,
		arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
		arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION,
		arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return true
	}
	return false
}

// numbersColumn reads a column in Numbers form.
func numbersColumn(v microdata.Vector) column {
	c := column{read: floats(v.Values), n: len(v.Values)}
	if v.Valid != nil {
		c.nulls = func(i int) bool { return !v.Valid.Has(i) }
	}
	return c
}

// arrayColumn reads a column in Array form. It panics for a type that has no reader.
func arrayColumn(a arrow.Array) column {
	c := column{n: a.Len()}
	if a.NullN() > 0 {
		c.nulls = a.IsNull
	}
	switch a := a.(type) {
	case *array.Null:
		c.read = func(m message, _ int) message { return m.null() }
	case *array.Boolean:
		c.read = func(m message, i int) message { return m.boolean(a.Value(i)) }
	case *array.Int8:
		c.read = signed(a.Int8Values())
	case *array.Int16:
		c.read = signed(a.Int16Values())
	case *array.Int32:
		c.read = signed(a.Int32Values())
	case *array.Int64:
		c.read = signed(a.Int64Values())
	case *array.Uint8:
		c.read = unsigned(a.Uint8Values())
	case *array.Uint16:
		c.read = unsigned(a.Uint16Values())
	case *array.Uint32:
		c.read = unsigned(a.Uint32Values())
	case *array.Uint64:
		c.read = unsigned(a.Uint64Values())
	case *array.Float16:
		c.read = func(m message, i int) message { return m.number(float64(a.Value(i).Float32())) }
	case *array.Float32:
		c.read = floats(a.Float32Values())
	case *array.Float64:
		c.read = floats(a.Float64Values())
	case *array.Dictionary:
		entries := arrayColumn(a.Dictionary())
		c.read = func(m message, i int) message { return entries.append(m, a.GetValueIndex(i)) }
	case *array.DenseUnion:
		children := make([]column, a.NumFields())
		for i := range children {
			children[i] = arrayColumn(a.Field(i))
		}
		c.read = func(m message, i int) message { return children[a.ChildID(i)].append(m, int(a.ValueOffset(i))) }
	case array.ExtensionArray:
		return arrayColumn(a.Storage())
	default:
		c.read = textOrTime(a)
	}
	return c
}

// textOrTime is arrayColumn's reader for texts, bytes, times and decimals.
func textOrTime(a arrow.Array) reader {
	switch a := a.(type) {
	case *array.String:
		return func(m message, i int) message { return m.text(tagString, a.Value(i)) }
	case *array.LargeString:
		return func(m message, i int) message { return m.text(tagString, a.Value(i)) }
	case *array.StringView:
		return func(m message, i int) message { return m.text(tagString, a.Value(i)) }
	case *array.Binary:
		return func(m message, i int) message { return m.binary(a.Value(i)) }
	case *array.LargeBinary:
		return func(m message, i int) message { return m.binary(a.Value(i)) }
	case *array.BinaryView:
		return func(m message, i int) message { return m.binary(a.Value(i)) }
	case *array.FixedSizeBinary:
		return func(m message, i int) message { return m.binary(a.Value(i)) }
	}
	return timeOrDecimal(a)
}

// timeOrDecimal is arrayColumn's reader for times and decimals.
func timeOrDecimal(a arrow.Array) reader {
	switch a := a.(type) {
	case *array.Date32:
		const day = 24 * 60 * 60 * 1000
		return func(m message, i int) message { return m.integer64(tagDate, int64(a.Value(i))*day) }
	case *array.Date64:
		return func(m message, i int) message { return m.integer64(tagDate, int64(a.Value(i))) }
	case *array.Time32:
		ns := 1e9 / unitsPerSecond(a.DataType().(*arrow.Time32Type).Unit)
		return func(m message, i int) message { return m.integer64(tagTime, int64(a.Value(i))*ns) }
	case *array.Time64:
		ns := 1e9 / unitsPerSecond(a.DataType().(*arrow.Time64Type).Unit)
		return func(m message, i int) message { return m.integer64(tagTime, int64(a.Value(i))*ns) }
	case *array.Timestamp:
		unit := unitsPerSecond(a.DataType().(*arrow.TimestampType).Unit)
		return func(m message, i int) message { return m.instant(tagInstant, int64(a.Value(i)), unit) }
	case *array.Duration:
		unit := unitsPerSecond(a.DataType().(*arrow.DurationType).Unit)
		return func(m message, i int) message { return m.instant(tagSpan, int64(a.Value(i)), unit) }
	case *array.Decimal32:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(m message, i int) message { return m.decimal(int64(a.Value(i)), scale) }
	case *array.Decimal64:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(m message, i int) message { return m.decimal(int64(a.Value(i)), scale) }
	case *array.Decimal128:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(m message, i int) message { return m.decimal128(a.Value(i), scale) }
	case *array.MonthInterval, *array.DayTimeInterval, *array.MonthDayNanoInterval: // in a Binding; they cannot identify
		width := a.DataType().(arrow.FixedWidthDataType).Bytes()
		from := a.Data().Offset() * width
		return func(m message, i int) message {
			return m.binary(a.Data().Buffers()[1].Bytes()[from+i*width : from+(i+1)*width])
		}
	case *array.Decimal256:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(m message, i int) message { return m.decimal256(a.Value(i), scale) }
	}
	panic(fmt.Sprintf("keystream: a column of type %s cannot identify records", a.DataType()))
}

func (m message) decimal128(v decimal128.Num, scale int32) message {
	if low := int64(v.LowBits()); v.HighBits() == low>>63 { // fits an int64
		return m.decimal(low, scale)
	}
	return m.bigDecimal(v.BigInt(), scale)
}

func (m message) decimal256(v decimal256.Num, scale int32) message {
	words := v.Array()
	sign := uint64(int64(words[0]) >> 63)
	if words[1] == sign && words[2] == sign && words[3] == sign {
		return m.decimal(int64(words[0]), scale)
	}
	return m.bigDecimal(v.BigInt(), scale)
}

func signed[T int8 | int16 | int32 | int64](v []T) reader {
	return func(m message, i int) message { return m.signed(int64(v[i])) }
}

func unsigned[T uint8 | uint16 | uint32 | uint64](v []T) reader {
	return func(m message, i int) message { return m.integer(uint64(v[i]), false) }
}

func floats[T float32 | float64](v []T) reader {
	return func(m message, i int) message { return m.number(float64(v[i])) }
}

func unitsPerSecond(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1
	case arrow.Millisecond:
		return 1e3
	case arrow.Microsecond:
		return 1e6
	}
	return 1e9
}
