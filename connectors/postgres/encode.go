package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// sqlType is the type of a released column in the table.
func sqlType(t arrow.DataType) (string, error) {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "boolean", nil
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Uint8Type:
		return "smallint", nil
	case *arrow.Int32Type, *arrow.Uint16Type:
		return "integer", nil
	case *arrow.Int64Type, *arrow.Uint32Type:
		return "bigint", nil
	case *arrow.Uint64Type:
		return "numeric(20,0)", nil
	case *arrow.Float16Type, *arrow.Float32Type:
		return "real", nil
	case *arrow.Float64Type:
		return "double precision", nil
	case arrow.DecimalType:
		if t.GetScale() < 0 {
			return fmt.Sprintf("numeric(%d,0)", t.GetPrecision()-t.GetScale()), nil
		}
		// Before version 15 a scale is at most the precision.
		return fmt.Sprintf("numeric(%d,%d)", max(t.GetPrecision(), t.GetScale()), t.GetScale()), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType, *arrow.NullType:
		return "text", nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return "bytea", nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return "date", nil
	case *arrow.Time32Type, *arrow.Time64Type:
		return "time", nil
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamp with time zone", nil
		}
		return "timestamp", nil
	case *arrow.DictionaryType:
		return sqlType(t.ValueType)
	}
	return "", fmt.Errorf("is of type %s, for which a table of PostgreSQL has no column here", t)
}

// encoder appends value i of an array, which is not null, with its length.
type encoder func(dst []byte, i int) ([]byte, error)

// Why a value cannot be written. None holds anything of it.
var (
	errNUL    = errors.New("contains the character NUL, which is not allowed in PostgreSQL's text")
	errUTF8   = errors.New("holds text that is not UTF-8")
	errFine   = errors.New("contains a time with a precision finer than PostgreSQL's microseconds")
	errDate   = errors.New("holds a date or time beyond PostgreSQL's")
	errDay    = errors.New("holds a date with a time of day")
	errSource = errors.New("is of a type that its schema does not say")
)

// null is the length of a null value.
const null = ^uint32(0)

// encoderOf returns what writes the values of an array, in the binary format of the type
// that sqlType gives.
func encoderOf(a arrow.Array) encoder {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) ([]byte, error) {
			v := byte(0)
			if a.Value(i) {
				v = 1
			}
			return append(binary.BigEndian.AppendUint32(dst, 1), v), nil
		}
	case *array.Int8:
		return func(dst []byte, i int) ([]byte, error) { return int2(dst, int16(a.Value(i))), nil }
	case *array.Uint8:
		return func(dst []byte, i int) ([]byte, error) { return int2(dst, int16(a.Value(i))), nil }
	case *array.Int16:
		return func(dst []byte, i int) ([]byte, error) { return int2(dst, a.Value(i)), nil }
	case *array.Uint16:
		return func(dst []byte, i int) ([]byte, error) { return int4(dst, int32(a.Value(i))), nil }
	case *array.Int32:
		return func(dst []byte, i int) ([]byte, error) { return int4(dst, a.Value(i)), nil }
	case *array.Uint32:
		return func(dst []byte, i int) ([]byte, error) { return int8(dst, int64(a.Value(i))), nil }
	case *array.Int64:
		return func(dst []byte, i int) ([]byte, error) { return int8(dst, a.Value(i)), nil }
	case *array.Uint64:
		return func(dst []byte, i int) ([]byte, error) {
			return appendNumeric(dst, new(big.Int).SetUint64(a.Value(i)), 0), nil
		}
	case *array.Float16:
		return func(dst []byte, i int) ([]byte, error) {
			return int4(dst, int32(math.Float32bits(a.Value(i).Float32()))), nil
		}
	case *array.Float32:
		return func(dst []byte, i int) ([]byte, error) { return int4(dst, int32(math.Float32bits(a.Value(i)))), nil }
	case *array.Float64:
		return func(dst []byte, i int) ([]byte, error) { return int8(dst, int64(math.Float64bits(a.Value(i)))), nil }
	}
	if e := decimalEncoder(a); e != nil {
		return e
	}
	if e := timeEncoder(a); e != nil {
		return e
	}
	return bytesEncoder(a)
}

func int2(dst []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(dst, 2), uint16(v))
}

func int4(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, 4), uint32(v))
}

func int8(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, 8), uint64(v))
}

func decimalEncoder(a arrow.Array) encoder {
	t, is := a.DataType().(arrow.DecimalType)
	if !is {
		return nil
	}
	var value func(i int) *big.Int
	switch a := a.(type) {
	case *array.Decimal32:
		value = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal64:
		value = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal128:
		value = func(i int) *big.Int { return a.Value(i).BigInt() }
	case *array.Decimal256:
		value = func(i int) *big.Int { return a.Value(i).BigInt() }
	}
	return func(dst []byte, i int) ([]byte, error) { return appendNumeric(dst, value(i), t.GetScale()), nil }
}

func timeEncoder(a arrow.Array) encoder {
	const day = 24 * 60 * 60 * 1000 // in milliseconds
	switch a := a.(type) {
	case *array.Date32:
		return func(dst []byte, i int) ([]byte, error) { return days(dst, int64(a.Value(i))) }
	case *array.Date64:
		return func(dst []byte, i int) ([]byte, error) {
			if a.Value(i)%day != 0 {
				return nil, errDay
			}
			return days(dst, int64(a.Value(i))/day)
		}
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		return func(dst []byte, i int) ([]byte, error) { return micros(dst, int64(a.Value(i)), unit, 0) }
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return func(dst []byte, i int) ([]byte, error) { return micros(dst, int64(a.Value(i)), unit, 0) }
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		return func(dst []byte, i int) ([]byte, error) { return micros(dst, int64(a.Value(i)), unit, epochMicros) }
	}
	return nil
}

// days writes a date that is so many days from 1970.
func days(dst []byte, v int64) ([]byte, error) {
	if v -= epochDays; v <= math.MinInt32 || v >= math.MaxInt32 {
		return nil, errDate
	}
	return int4(dst, int32(v)), nil
}

// micros writes a time as microseconds from an epoch.
func micros(dst []byte, v int64, unit arrow.TimeUnit, epoch int64) ([]byte, error) {
	factor := int64(1)
	switch unit {
	case arrow.Second:
		factor = 1_000_000
	case arrow.Millisecond:
		factor = 1000
	case arrow.Nanosecond:
		if v%1000 != 0 {
			return nil, errFine
		}
		v /= 1000
	}
	if v > math.MaxInt64/factor || v < math.MinInt64/factor {
		return nil, errDate
	}
	if v *= factor; v <= math.MinInt64+epoch {
		return nil, errDate
	}
	if v -= epoch; v == math.MaxInt64 {
		return nil, errDate
	}
	return int8(dst, v), nil
}

func bytesEncoder(a arrow.Array) encoder {
	switch a := a.(type) {
	case *array.String:
		return func(dst []byte, i int) ([]byte, error) { return text(dst, a.Value(i)) }
	case *array.LargeString:
		return func(dst []byte, i int) ([]byte, error) { return text(dst, a.Value(i)) }
	case *array.StringView:
		return func(dst []byte, i int) ([]byte, error) { return text(dst, a.Value(i)) }
	case *array.Binary:
		return func(dst []byte, i int) ([]byte, error) { return raw(dst, a.Value(i)), nil }
	case *array.LargeBinary:
		return func(dst []byte, i int) ([]byte, error) { return raw(dst, a.Value(i)), nil }
	case *array.BinaryView:
		return func(dst []byte, i int) ([]byte, error) { return raw(dst, a.Value(i)), nil }
	case *array.FixedSizeBinary:
		return func(dst []byte, i int) ([]byte, error) { return raw(dst, a.Value(i)), nil }
	case *array.Dictionary:
		entries := a.Dictionary()
		write := encoderOf(entries)
		return func(dst []byte, i int) ([]byte, error) {
			k := a.GetValueIndex(i)
			if entries.IsNull(k) {
				return binary.BigEndian.AppendUint32(dst, null), nil
			}
			return write(dst, k)
		}
	}
	return func([]byte, int) ([]byte, error) { return nil, errSource }
}

func text(dst []byte, v string) ([]byte, error) {
	for i := range len(v) {
		if v[i] == 0 {
			return nil, errNUL
		}
	}
	if !utf8.ValidString(v) {
		return nil, errUTF8
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...), nil
}

func raw(dst, v []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...)
}

// released is what leaves of a column, with the rejected records, as an array of the
// field's type.
func released(b *microdata.Block, o microdata.Output, form microdata.Form) (arrow.Array, error) {
	if form == microdata.Numbers {
		return microdata.ToArray(b.Columns[o.Column].Out(), b.N, o.Field, nil), nil
	}
	a := b.Columns[o.Column].OutArray()
	want, err := sqlType(o.Field.Type)
	if err != nil {
		return nil, err
	}
	if got, err := sqlType(a.DataType()); err != nil || got != want || a.Len() != b.N {
		return nil, errSource
	}
	return a, nil
}
