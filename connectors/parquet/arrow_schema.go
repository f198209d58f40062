package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// elementsOf returns the schema elements of a column of an Arrow type in a release. It
// returns an error if Parquet has no such type.
func elementsOf(name string, t arrow.DataType, nullable bool) ([]schemaElement, error) {
	e := schemaElement{Name: name, RepetitionType: some(format.Required)}
	if nullable {
		e.RepetitionType = some(format.Optional)
	}
	switch t := t.(type) {
	case *arrow.StructType:
		if t.NumFields() == 0 {
			return nil, fmt.Errorf("column %s: Parquet has no structure without fields", name)
		}
		e.NumChildren = some(int32(t.NumFields()))
		out := []schemaElement{e}
		for _, f := range t.Fields() {
			c, err := elementsOf(f.Name, f.Type, f.Nullable)
			if err != nil {
				return nil, err
			}
			out = append(out, c...)
		}
		return out, nil
	case *arrow.MapType:
		e.NumChildren = some[int32](1)
		e.ConvertedType = some[int32](convertedMap)
		e.LogicalType.Value = &format.MapType{}
		group := schemaElement{Name: "key_value", RepetitionType: some(format.Repeated), NumChildren: some[int32](2)}
		key, err := elementsOf("key", t.KeyType(), false)
		if err != nil {
			return nil, err
		}
		item, err := elementsOf("value", t.ItemType(), t.ItemField().Nullable)
		return append(append([]schemaElement{e, group}, key...), item...), err
	case arrow.ListLikeType:
		e.NumChildren = some[int32](1)
		e.ConvertedType = some[int32](convertedList)
		e.LogicalType.Value = &format.ListType{}
		group := schemaElement{Name: "list", RepetitionType: some(format.Repeated), NumChildren: some[int32](1)}
		c, err := elementsOf("element", t.Elem(), t.ElemField().Nullable)
		return append([]schemaElement{e, group}, c...), err
	}
	err := primitive(&e, t)
	return []schemaElement{e}, err
}

// primitive sets the physical and logical type.
func primitive(e *schemaElement, t arrow.DataType) error {
	physical := e.physical
	if arrow.IsInteger(t.ID()) {
		integerElement(e, t.ID())
		return nil
	}
	switch t := t.(type) {
	case *arrow.BooleanType:
		physical(format.Boolean, nil, -1)
	case *arrow.Float16Type:
		physical(format.FixedLenByteArray, &format.Float16Type{}, -1)
		e.TypeLength = some[int32](2)
	case *arrow.Float32Type:
		physical(format.Float, nil, -1)
	case *arrow.Float64Type:
		physical(format.Double, nil, -1)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		physical(format.ByteArray, &format.StringType{}, convertedUTF8)
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		physical(format.ByteArray, nil, -1)
	case *arrow.FixedSizeBinaryType:
		physical(format.FixedLenByteArray, nil, -1)
		e.TypeLength = some(int32(t.ByteWidth))
	case *arrow.Date32Type, *arrow.Date64Type:
		physical(format.Int32, &format.DateType{}, convertedDate)
	case *arrow.Time32Type, *arrow.Time64Type, *arrow.TimestampType:
		temporal(e, t)
	case arrow.DecimalType:
		return decimalElement(e, t)
	case *arrow.DictionaryType:
		return primitive(e, t.ValueType)
	case arrow.ExtensionType:
		return primitive(e, t.StorageType())
	case *arrow.NullType:
		physical(format.Int32, &format.NullType{}, -1)
	default:
		return fmt.Errorf("column %s: Parquet cannot store %s", e.Name, t)
	}
	return nil
}

// physical sets how the values of an element are stored; converted is -1 if there is no
// converted type for them.
func (e *schemaElement) physical(p format.Type, logical format.LogicalTypeValue, converted int32) {
	e.Type = some(p)
	e.LogicalType.Value = logical
	if converted >= 0 {
		e.ConvertedType = some(converted)
	}
}

// integerElement sets the element of an integer type. Signed integers of 32 and 64 bits are
// physical types of Parquet and need no annotation.
func integerElement(e *schemaElement, t arrow.Type) {
	described := func(p format.Type, bits int8, signed bool, converted int32) {
		e.physical(p, &format.IntType{BitWidth: bits, IsSigned: signed}, converted)
	}
	switch t {
	case arrow.INT8:
		described(format.Int32, 8, true, convertedInt8)
	case arrow.INT16:
		described(format.Int32, 16, true, convertedInt8+1)
	case arrow.INT32:
		e.physical(format.Int32, nil, -1)
	case arrow.INT64:
		e.physical(format.Int64, nil, -1)
	case arrow.UINT8:
		described(format.Int32, 8, false, convertedUint8)
	case arrow.UINT16:
		described(format.Int32, 16, false, convertedUint8+1)
	case arrow.UINT32:
		described(format.Int32, 32, false, convertedUint8+2)
	case arrow.UINT64:
		described(format.Int64, 64, false, convertedUint8+3)
	}
}

func temporal(e *schemaElement, t arrow.DataType) {
	units := map[arrow.TimeUnit]format.TimeUnitValue{
		arrow.Second: &format.MilliSeconds{}, arrow.Millisecond: &format.MilliSeconds{},
		arrow.Microsecond: &format.MicroSeconds{}, arrow.Nanosecond: &format.NanoSeconds{},
	}
	e.Type = some(format.Int64)
	switch t := t.(type) {
	case *arrow.Time32Type:
		e.Type = some(format.Int32)
		e.LogicalType.Value = &format.TimeType{Unit: format.TimeUnit{Value: units[arrow.Millisecond]}}
	case *arrow.Time64Type:
		e.LogicalType.Value = &format.TimeType{Unit: format.TimeUnit{Value: units[t.Unit]}}
	case *arrow.TimestampType:
		utc := t.TimeZone != ""
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: utc, Unit: format.TimeUnit{Value: units[t.Unit]}}
		switch {
		case t.Unit == arrow.Nanosecond || !utc: // there is no converted type for this
		case t.Unit == arrow.Microsecond:
			e.ConvertedType = some[int32](convertedTimestampMicros)
		default:
			e.ConvertedType = some[int32](convertedTimestampMillis)
		}
	}
}

func decimalElement(e *schemaElement, t arrow.DecimalType) error {
	p, s := t.GetPrecision(), t.GetScale()
	if s < 0 || s > p {
		return fmt.Errorf("column %s: Parquet cannot store a decimal of precision %d and scale %d", e.Name, p, s)
	}
	e.LogicalType.Value = &format.DecimalType{Precision: p, Scale: s}
	e.ConvertedType = some[int32](convertedDecimal)
	e.Precision, e.Scale = some(p), some(s)
	switch {
	case p <= 9:
		e.Type = some(format.Int32)
	case p <= 18:
		e.Type = some(format.Int64)
	default:
		e.Type = some(format.FixedLenByteArray)
		e.TypeLength = some(decimalBytes(p))
	}
	return nil
}

// decimalBytes returns the least number of bytes in which every decimal of the
// precision fits: the bits of 10^p and one for the sign. log₂10 is a little
// below 3.32193.
func decimalBytes(p int32) int32 { return (p*332193/100000+1)/8 + 1 }
