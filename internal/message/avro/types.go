package avro

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	avro "github.com/twmb/avro"
)

// simple returns the Arrow type of a type that is not nested, nil for other types. A
// logical type that Avro does not allow for the type is ignored, as the specification
// requires.
func simple(n *node, s *avro.SchemaNode) arrow.DataType {
	utc := func(u arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: u, TimeZone: "UTC"} }
	local := func(u arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: u} }
	switch n.kind {
	case kindNull:
		return arrow.Null
	case kindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case kindInt:
		switch s.LogicalType {
		case "date":
			return arrow.FixedWidthTypes.Date32
		case "time-millis":
			return arrow.FixedWidthTypes.Time32ms
		}
		return arrow.PrimitiveTypes.Int32
	case kindLong:
		switch s.LogicalType {
		case "time-micros":
			return arrow.FixedWidthTypes.Time64us
		case "timestamp-millis":
			return utc(arrow.Millisecond)
		case "timestamp-micros":
			return utc(arrow.Microsecond)
		case "timestamp-nanos":
			return utc(arrow.Nanosecond)
		case "local-timestamp-millis":
			return local(arrow.Millisecond)
		case "local-timestamp-micros":
			return local(arrow.Microsecond)
		case "local-timestamp-nanos":
			return local(arrow.Nanosecond)
		}
		return arrow.PrimitiveTypes.Int64
	case kindFloat:
		return arrow.PrimitiveTypes.Float32
	case kindDouble:
		return arrow.PrimitiveTypes.Float64
	case kindString, kindEnum:
		return arrow.BinaryTypes.String
	case kindBytes:
		if d := decimalType(s); d != nil {
			return d
		}
		return arrow.BinaryTypes.Binary
	case kindFixed:
		if d := decimalType(s); d != nil && fitsFixed(d, n.size) {
			return d
		}
		if n.size == 0 {
			return arrow.BinaryTypes.Binary
		}
		return &arrow.FixedSizeBinaryType{ByteWidth: n.size}
	}
	return nil
}

// decimalType returns the Arrow type of a decimal. It returns nil if s is not a decimal
// or has more digits than Arrow supports; the column is then bytes.
func decimalType(s *avro.SchemaNode) arrow.DecimalType {
	if s.LogicalType != "decimal" || s.Precision < 1 || s.Scale < 0 || s.Scale > s.Precision {
		return nil
	}
	p, scale := int32(s.Precision), int32(s.Scale)
	switch {
	case s.Precision <= 38:
		return &arrow.Decimal128Type{Precision: p, Scale: scale}
	case s.Precision <= 76:
		return &arrow.Decimal256Type{Precision: p, Scale: scale}
	}
	return nil
}

// fitsFixed reports whether all values of a decimal fit in size bytes, as the
// specification requires.
func fitsFixed(d arrow.DecimalType, size int) bool {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.GetPrecision())), nil)
	return limit.Sub(limit, big.NewInt(1)).BitLen() < 8*size
}

// describe sets the Arrow types of nested types. If a type contains itself, its second
// occurrence is replaced by null; such a column is copied or withheld, never decoded.
func (c *compiler) describe(n *node) arrow.DataType {
	if n.arrow != nil {
		n.weight = max(n.weight, 1)
		return n.arrow
	}
	if c.open == nil {
		c.open = make(map[*node]bool)
	}
	if c.open[n] {
		return arrow.Null
	}
	c.open[n] = true
	defer delete(c.open, n)
	n.weight = 1
	field := func(name string, of *node) arrow.Field {
		v, _, _ := of.value()
		t := c.describe(v)
		n.weight = min(n.weight+max(v.weight, 1), endless)
		return arrow.Field{Name: name, Type: t, Nullable: of.nullable()}
	}
	switch n.kind {
	case kindArray:
		n.arrow = arrow.ListOfField(field("item", n.elem))
	case kindMap:
		v := field("value", n.elem)
		m := arrow.MapOf(arrow.BinaryTypes.String, v.Type)
		m.SetItemNullable(v.Nullable)
		n.arrow = m
	case kindRecord:
		fields := make([]arrow.Field, len(n.fields))
		for i, f := range n.fields {
			fields[i] = field(f.name, f.node)
		}
		n.arrow = arrow.StructOf(fields...)
	case kindUnion:
		v, _, _ := n.value()
		if v != n {
			n.arrow = c.describe(v)
			n.weight = v.weight
			break
		}
		fields := make([]arrow.Field, len(n.branches))
		codes := make([]arrow.UnionTypeCode, len(n.branches))
		for i, b := range n.branches {
			fields[i], codes[i] = field(n.branchName(i), b), arrow.UnionTypeCode(i)
		}
		n.arrow = arrow.DenseUnionOf(fields, codes)
	}
	return n.arrow
}

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
	"array", "map", "union", "record"}

func (n *node) branchName(i int) string { return kindNames[n.branches[i].kind] }

// cyclic reports whether a type contains itself.
func (n *node) cyclic() bool {
	open := make(map[*node]bool)
	clean := make(map[*node]bool)
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if n == nil || clean[n] {
			return false
		}
		if open[n] {
			return true
		}
		open[n] = true
		if visit(n.elem) {
			return true
		}
		for _, b := range n.branches {
			if visit(b) {
				return true
			}
		}
		for _, f := range n.fields {
			if visit(f.node) {
				return true
			}
		}
		delete(open, n)
		clean[n] = true
		return false
	}
	return visit(n)
}
