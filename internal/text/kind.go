package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/check"
)

// Kinds is the set of the kinds of values seen in a column. Sets from parts of a
// column combine by or, in any order.
type Kinds uint16

const (
	SeenNull Kinds = 1 << iota
	SeenInteger
	SeenWide // an integer beyond 2^53
	SeenReal
	SeenSpecial // NaN, Inf
	SeenBool
	SeenDate
	SeenTimestamp    // without a zone
	SeenTimestampUTC // with the zone Z
	SeenString
	SeenNested // JSON: an array, or an object in a column that is to stay one
	SeenObject // JSON: an object whose members are columns
)

// KindOf returns the kind of a value that is not null.
func KindOf(p []byte) Kinds {
	if len(p) == 0 {
		return SeenString
	}
	c := p[0]
	if c-'0' <= 9 || c == '-' || c == '.' {
		switch n, wide := Classify(p); n {
		case Integer:
			if wide {
				return SeenInteger | SeenWide
			}
			return SeenInteger
		case Real:
			return SeenReal
		case Special:
			return SeenSpecial
		case NotNumber:
			return kindOfTime(p)
		}
		return SeenString
	}
	switch c | 0x20 {
	case 't', 'f':
		if _, ok := ParseBool(p); ok {
			return SeenBool
		}
	case 'n', 'i', '+':
		if isSpecial(p) {
			return SeenSpecial
		}
	}
	return SeenString
}

func kindOfTime(p []byte) Kinds {
	if len(p) == 10 {
		if _, ok := ParseDate(p); ok {
			return SeenDate
		}
		return SeenString
	}
	if _, zone, ok := ParseTimestamp(p); ok {
		switch zone {
		case 0:
			return SeenTimestamp
		case 'Z':
			return SeenTimestampUTC
		}
	}
	return SeenString
}

// ParseBool reads true and false, in lower case, upper case or capitalised.
func ParseBool(p []byte) (v, ok bool) {
	switch string(p) {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// Type returns the type that holds every value of the set unchanged: string
// where no narrower one does. Reals take the integers among them in as float64
// only where those are within 2^53.
func (k Kinds) Type() arrow.DataType {
	switch k &^ SeenNull {
	case SeenInteger, SeenInteger | SeenWide:
		return arrow.PrimitiveTypes.Int64
	case SeenReal, SeenReal | SeenInteger, SeenReal | SeenSpecial, SeenReal | SeenInteger | SeenSpecial,
		SeenInteger | SeenSpecial:
		return arrow.PrimitiveTypes.Float64
	case SeenBool:
		return arrow.FixedWidthTypes.Boolean
	case SeenDate:
		return arrow.FixedWidthTypes.Date32
	case SeenTimestamp:
		return timestamp
	case SeenTimestampUTC:
		return timestampUTC
	}
	return arrow.BinaryTypes.String
}

var (
	timestamp    = &arrow.TimestampType{Unit: arrow.Microsecond}
	timestampUTC = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
)

// TypeNames lists the words for types that a configuration may declare;
// decimal(p,s) besides.
var TypeNames = []string{"int64", "float64", "string", "bool", "date", "timestamp", "timestamptz"}

var decimalType = regexp.MustCompile(`^decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)$`)

// ParseType reads a declared type: one of TypeNames, or decimal(p,s) with
// 1 ≤ p ≤ 38 digits of which s are decimals.
func ParseType(name string) (arrow.DataType, error) {
	switch name {
	case "int64":
		return arrow.PrimitiveTypes.Int64, nil
	case "float64":
		return arrow.PrimitiveTypes.Float64, nil
	case "string":
		return arrow.BinaryTypes.String, nil
	case "bool":
		return arrow.FixedWidthTypes.Boolean, nil
	case "date":
		return arrow.FixedWidthTypes.Date32, nil
	case "timestamp":
		return timestamp, nil
	case "timestamptz":
		return timestampUTC, nil
	}
	if m := decimalType.FindStringSubmatch(name); m != nil {
		p, _ := strconv.Atoi(m[1])
		s, _ := strconv.Atoi(m[2])
		if p < 1 || p > 38 || s > p {
			return nil, fmt.Errorf("decimal(p,s) must have 1 ≤ p ≤ 38 and s ≤ p, got %s", name)
		}
		return &arrow.Decimal128Type{Precision: int32(p), Scale: int32(s)}, nil
	}
	return nil, fmt.Errorf("must be one of %s, decimal(p,s), got %q%s", strings.Join(TypeNames, ", "), name,
		check.Suggest(name, TypeNames))
}

// TypeName returns the word for a type, for messages.
func TypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Int64Type:
		return "int64"
	case *arrow.Float64Type:
		return "float64"
	case *arrow.BooleanType:
		return "bool"
	case *arrow.Date32Type:
		return "date"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamptz"
		}
		return "timestamp"
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	}
	return "string"
}
