package parquet

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The converted types of parquet.thrift: they represent a logical type in files of
// versions before 2.4, and are still written in addition to it for old readers.
const (
	convertedUTF8            = 0
	convertedEnum            = 4
	convertedDecimal         = 5
	convertedDate            = 6
	convertedTimeMillis      = 7
	convertedTimeMicros      = 8
	convertedTimestampMillis = 9
	convertedTimestampMicros = 10
	convertedUint8           = 11 // … 14: uint64
	convertedInt8            = 15 // … 18: int64
	convertedJSON            = 19
)

func newLeaf(e schemaElement, path []string, rep, def uint8) (*leaf, error) {
	l := &leaf{path: path, elem: e, phys: e.Type.V, maxRep: rep, maxDef: def}
	switch l.phys {
	case format.Boolean:
		l.width = 1
	case format.Int32, format.Float:
		l.width = 4
	case format.Int64, format.Double:
		l.width = 8
	case format.Int96:
		l.width = 12
	case format.ByteArray:
	case format.FixedLenByteArray:
		l.width = int(e.TypeLength.V)
		if l.width < 1 || l.width > 1<<16 {
			return nil, fmt.Errorf("the length of its values must be between 1 and %d, got %d", 1<<16, l.width)
		}
	default:
		return nil, fmt.Errorf("unknown physical type %d", l.phys)
	}
	var err error
	l.typ, err = leafType(e, l.width)
	return l, err
}

// leafType returns the Arrow type of a column. An annotation that does not fit the
// physical type is ignored, as the format requires.
func leafType(e schemaElement, width int) (arrow.DataType, error) {
	lt := logicalType(e)
	switch e.Type.V {
	case format.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case format.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case format.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case format.Int96:
		return arrow.FixedWidthTypes.Timestamp_ns, nil
	case format.Int32:
		return int32Type(lt)
	case format.Int64:
		return int64Type(lt)
	case format.ByteArray:
		switch t := lt.(type) {
		case *format.StringType, *format.EnumType, *format.JsonType:
			return arrow.BinaryTypes.String, nil
		case *format.DecimalType:
			return decimalType(t, 76)
		}
		return arrow.BinaryTypes.Binary, nil
	}
	switch t := lt.(type) {
	case *format.DecimalType:
		return decimalType(t, 76)
	case *format.Float16Type:
		if width == 2 {
			return arrow.FixedWidthTypes.Float16, nil
		}
	}
	return &arrow.FixedSizeBinaryType{ByteWidth: width}, nil
}

func int32Type(lt format.LogicalTypeValue) (arrow.DataType, error) {
	switch t := lt.(type) {
	case *format.IntType:
		switch {
		case t.BitWidth == 8 && t.IsSigned:
			return arrow.PrimitiveTypes.Int8, nil
		case t.BitWidth == 16 && t.IsSigned:
			return arrow.PrimitiveTypes.Int16, nil
		case t.BitWidth == 8:
			return arrow.PrimitiveTypes.Uint8, nil
		case t.BitWidth == 16:
			return arrow.PrimitiveTypes.Uint16, nil
		case t.BitWidth == 32 && !t.IsSigned:
			return arrow.PrimitiveTypes.Uint32, nil
		}
	case *format.DateType:
		return arrow.FixedWidthTypes.Date32, nil
	case *format.TimeType:
		return arrow.FixedWidthTypes.Time32ms, nil
	case *format.DecimalType:
		return decimalType(t, 9)
	}
	return arrow.PrimitiveTypes.Int32, nil
}

func int64Type(lt format.LogicalTypeValue) (arrow.DataType, error) {
	switch t := lt.(type) {
	case *format.IntType:
		if !t.IsSigned {
			return arrow.PrimitiveTypes.Uint64, nil
		}
	case *format.TimeType:
		if _, ok := t.Unit.Value.(*format.NanoSeconds); ok {
			return arrow.FixedWidthTypes.Time64ns, nil
		}
		return arrow.FixedWidthTypes.Time64us, nil
	case *format.TimestampType:
		ts := &arrow.TimestampType{Unit: arrow.Microsecond}
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			ts.Unit = arrow.Millisecond
		case *format.NanoSeconds:
			ts.Unit = arrow.Nanosecond
		}
		if t.IsAdjustedToUTC {
			ts.TimeZone = "UTC"
		}
		return ts, nil
	case *format.DecimalType:
		return decimalType(t, 18)
	}
	return arrow.PrimitiveTypes.Int64, nil
}

func decimalType(t *format.DecimalType, maxPrecision int32) (arrow.DataType, error) {
	if t.Precision < 1 || t.Precision > maxPrecision || t.Scale < 0 || t.Scale > t.Precision {
		return nil, fmt.Errorf("a decimal of precision %d and scale %d cannot be stored in its type", t.Precision, t.Scale)
	}
	if t.Precision <= 38 {
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}, nil
	}
	return &arrow.Decimal256Type{Precision: t.Precision, Scale: t.Scale}, nil
}

// logicalType returns the annotation of an element; if an old writer gave none, that of
// the converted type.
func logicalType(e schemaElement) format.LogicalTypeValue {
	if e.LogicalType.Value != nil || !e.ConvertedType.Valid {
		return e.LogicalType.Value
	}
	switch c := e.ConvertedType.V; {
	case c == convertedUTF8:
		return &format.StringType{}
	case c == convertedEnum:
		return &format.EnumType{}
	case c == convertedJSON:
		return &format.JsonType{}
	case c == convertedDecimal:
		return &format.DecimalType{Precision: e.Precision.V, Scale: e.Scale.V}
	case c == convertedDate:
		return &format.DateType{}
	case c == convertedTimeMillis:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	case c == convertedTimeMicros:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	case c == convertedTimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	case c == convertedTimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	case c >= convertedUint8 && c < convertedUint8+4:
		return &format.IntType{BitWidth: 8 << (c - convertedUint8)}
	case c >= convertedInt8 && c < convertedInt8+4:
		return &format.IntType{BitWidth: 8 << (c - convertedInt8), IsSigned: true}
	}
	return nil
}

// crs matches names of coordinate reference systems.
var crs = regexp.MustCompile(`^[A-Za-z0-9:._-]{0,64}$`)

// tidy removes the annotations that do not fit an element's physical type, or that the
// format does not have: readers refuse or ignore them.
func (e *schemaElement) tidy() {
	var to schemaElement
	is := func(types ...format.Type) bool { return e.Type.Valid && slices.Contains(types, e.Type.V) }
	keep := false
	switch t := e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType, *format.BsonType:
		keep = is(format.ByteArray)
	case *format.GeometryType:
		keep = is(format.ByteArray) && crs.MatchString(t.CRS)
	case *format.GeographyType:
		keep = is(format.ByteArray) && crs.MatchString(t.CRS)
	case *format.ListType, *format.MapType, *format.VariantType:
		keep = !e.Type.Valid
	case *format.DecimalType:
		keep = is(format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray)
	case *format.DateType:
		keep = is(format.Int32)
	case *format.TimeType:
		keep = t.Unit.Value != nil && is(format.Int32, format.Int64)
	case *format.TimestampType:
		keep = t.Unit.Value != nil && is(format.Int64)
	case *format.IntType:
		keep = t.BitWidth == 64 && is(format.Int64) || slices.Contains([]int8{8, 16, 32}, t.BitWidth) && is(format.Int32)
	case *format.NullType:
		keep = e.Type.Valid
	case *format.UUIDType:
		keep = is(format.FixedLenByteArray) && e.TypeLength.V == 16
	case *format.Float16Type:
		keep = is(format.FixedLenByteArray) && e.TypeLength.V == 2
	}
	if !keep {
		e.LogicalType = to.LogicalType
	}
	if c := e.ConvertedType; c.Valid {
		group := c.V >= convertedMap && c.V <= convertedList
		if c.V < 0 || c.V > 21 || group == e.Type.Valid {
			e.ConvertedType = to.ConvertedType
		}
	}
}

// some returns an optional field that is set.
func some[T any](v T) thrift.Null[T] { return thrift.New(v) }
