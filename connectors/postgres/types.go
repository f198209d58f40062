package postgres

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The numbers that PostgreSQL's own types have in every database.
const (
	oidBool        = 16
	oidName        = 19
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidOID         = 26
	oidFloat4      = 700
	oidFloat8      = 701
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
)

// column is a column of a source.
type column struct {
	microdata.Field
	oid        uint32
	expression string // how it is asked for: by its name, or as text
}

// columnOf is the column of a type and its modifier. Types that have no counterpart among
// those of microdata (uuid, enumerations, json, time, arrays and so on) come as their text.
func columnOf(name string, oid uint32, modifier int32, nullable bool) column {
	c := column{Field: microdata.Field{Name: name, Nullable: nullable}, oid: oid, expression: quote(name)}
	switch oid {
	case oidBool:
		c.Type = arrow.FixedWidthTypes.Boolean
	case oidInt2:
		c.Type = arrow.PrimitiveTypes.Int16
	case oidInt4:
		c.Type = arrow.PrimitiveTypes.Int32
	case oidInt8:
		c.Type = arrow.PrimitiveTypes.Int64
	case oidFloat4:
		c.Type = arrow.PrimitiveTypes.Float32
	case oidFloat8:
		c.Type = arrow.PrimitiveTypes.Float64
	case oidDate:
		c.Type = arrow.FixedWidthTypes.Date32
	case oidTimestamp:
		c.Type = &arrow.TimestampType{Unit: arrow.Microsecond}
	case oidTimestamptz:
		c.Type = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case oidNumeric:
		c.Type = numericType(modifier)
	case oidText, oidVarchar, oidBpchar, oidName:
		c.Type = arrow.BinaryTypes.String
	default:
		c.Type = arrow.BinaryTypes.String
		c.expression += "::text"
	}
	return c
}

// numericType is decimal128 where the modifier says that precision and scale fit it, else
// float64: of a bare numeric each value has a scale of its own.
func numericType(modifier int32) arrow.DataType {
	if modifier >= 4 {
		precision := (modifier - 4) >> 16 & 0xffff
		scale := (modifier-4)&0x7ff ^ 1024 - 1024 // 11 bits with a sign
		if precision <= 38 && scale >= 0 && scale <= precision {
			return &arrow.Decimal128Type{Precision: precision, Scale: scale}
		}
	}
	return arrow.PrimitiveTypes.Float64
}

// ordered says how a column is ordered by, and whether it can be: values that compare as
// equal must have equal bytes, or the server could give them in any order without its
// being seen. That is not so of floats (0 and −0) and of text in a collation of its own.
func (c column) ordered() (by string, ok bool) {
	switch c.oid {
	case oidText, oidVarchar, oidBpchar, oidName:
		return quote(c.Name) + ` COLLATE "C"`, true
	case oidBool, oidInt2, oidInt4, oidInt8, oidOID, oidDate, oidTimestamp, oidTimestamptz, oidNumeric, oidUUID:
		return quote(c.Name), true
	}
	return "", false
}
