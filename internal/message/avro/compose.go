package avro

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	avro "github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// composer writes records of any source, with a schema that is derived from the
// released columns' types.
type composer struct {
	layout  *microdata.Layout
	header  []byte
	targets []target // of the outputs
}

func newComposer(ctx context.Context, r message.WriteRequest) (*composer, error) {
	text, err := composedSchema(r.Topic, r.Layout.Released())
	if err != nil {
		return nil, err
	}
	parsed, err := avro.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("topic %s: the released columns make no valid schema: %w", r.Topic, err)
	}
	rec, err := newRecord(parsed)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	c := &composer{layout: r.Layout}
	for i, out := range r.Layout.Release {
		if out.Column < 0 {
			return nil, fmt.Errorf("column %s: is not decoded, and this output cannot carry it", out.Field.Name)
		}
		c.targets = append(c.targets, newTarget(rec.node.fields[i].node))
	}
	id, err := r.Registry.Register(ctx, r.Registry.Subject(r.Topic), registry.Schema{Type: registry.Avro, Text: text})
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	c.header = registry.AppendHeader(nil, id)
	return c, nil
}

// Carries implements message.Writer.
func (c *composer) Carries() bool { return false }

// Encode implements message.Writer.
func (c *composer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	if err := ctx.Err(); err != nil {
		return message.Released{}, err
	}
	columns := make([]source, len(c.targets))
	for i, out := range c.layout.Release {
		columns[i] = newSource(released(b, c.layout, out))
	}
	kept := b.Kept()
	res := message.Released{Values: make([][]byte, 0, kept), Source: make([]int32, 0, kept)}
	buf := make([]byte, 0, kept*(len(c.header)+perMasked*len(columns)))
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		from := len(buf)
		buf = append(buf, c.header...)
		for i := range c.targets {
			var ok bool
			if buf, ok = c.targets[i].append(buf, &columns[i], row); !ok {
				return message.Released{},
					fmt.Errorf("column %s has a value that its type in the released schema cannot hold",
						c.layout.Release[i].Field.Name)
			}
		}
		res.Values = append(res.Values, buf[from:len(buf):len(buf)])
		res.Source = append(res.Source, int32(row))
	}
	return res, nil
}

// composedField is a field of a derived schema.
type composedField struct {
	Name    string           `json:"name"`
	Type    any              `json:"type"`
	Doc     string           `json:"doc,omitempty"`
	Default *json.RawMessage `json:"default,omitempty"`
}

type object map[string]any

// composedSchema returns the schema of released columns: a record that is named after
// the topic.
func composedSchema(topic string, s *microdata.Schema) (string, error) {
	record := avroName(topic)
	fields, err := composeFields(record, arrowFields(s))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Fields []composedField `json:"fields"`
	}{"record", record, fields})
	return string(text), err
}

func arrowFields(s *microdata.Schema) []arrow.Field {
	fields := make([]arrow.Field, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = arrow.Field{Name: f.Name, Type: f.Type, Nullable: f.Nullable}
	}
	return fields
}

// composeFields names the fields: Avro allows letters, digits and underscores.
// Other names are changed, and the original name is kept as the field's doc.
func composeFields(record string, columns []arrow.Field) ([]composedField, error) {
	taken := make(map[string]string)
	fields := make([]composedField, len(columns))
	for i, c := range columns {
		f := composedField{Name: avroName(c.Name)}
		if other, ok := taken[f.Name]; ok {
			return nil,
				fmt.Errorf(
					"columns %q and %q would both be the field %s of Avro, whose names have letters, digits and underscores alone; give them other names", other, c.Name, f.Name)
		}
		taken[f.Name] = c.Name
		if f.Name != c.Name {
			f.Doc = c.Name
		}
		t, err := composeType(record+"_"+f.Name, c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		// Masks may set any column to null, and a file's column may have nulls even if
		// its schema excludes them.
		f.Type = nullableType(t)
		null := json.RawMessage("null")
		f.Default = &null
		fields[i] = f
	}
	return fields, nil
}

func nullableType(t any) any {
	if union, ok := t.([]any); ok {
		return append([]any{"null"}, union...)
	}
	if t == "null" {
		return t
	}
	return []any{"null", t}
}

// avroName converts a name to one that Avro allows.
func avroName(s string) string {
	var b strings.Builder
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		switch {
		case letter || i > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// composeType returns the Avro type of an Arrow type; a named type gets the given name.
func composeType(name string, t arrow.DataType) (any, error) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return composeType(name, t.ValueType)
	case arrow.ExtensionType:
		return composeType(name, t.StorageType())
	}
	if plain := plainType(t); plain != nil {
		return plain, nil
	}
	if moment := timeType(t); moment != nil {
		return moment, nil
	}
	return structuredType(name, t)
}

// plainType returns the Avro type for numbers, texts and bytes; nil for other types.
func plainType(t arrow.DataType) any {
	switch t.(type) {
	case *arrow.NullType:
		return "null"
	case *arrow.BooleanType:
		return "boolean"
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type:
		return "int"
	case *arrow.Int64Type, *arrow.Uint32Type, *arrow.DurationType:
		return "long"
	case *arrow.Uint64Type:
		return object{"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0}
	case *arrow.Float16Type, *arrow.Float32Type:
		return "float"
	case *arrow.Float64Type:
		return "double"
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string"
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return "bytes"
	}
	return nil
}

// timeType returns the Avro type for dates, times and timestamps; nil for other types.
func timeType(t arrow.DataType) any {
	logical := func(base, as string) any { return object{"type": base, "logicalType": as} }
	switch t := t.(type) {
	case *arrow.Date32Type, *arrow.Date64Type:
		return logical("int", "date")
	case *arrow.Time32Type:
		return logical("int", "time-millis")
	case *arrow.Time64Type:
		if t.Unit == arrow.Microsecond {
			return logical("long", "time-micros")
		}
		return "long" // nanoseconds, for which Avro has no name
	case *arrow.TimestampType:
		as := map[arrow.TimeUnit]string{arrow.Microsecond: "timestamp-micros", arrow.Nanosecond: "timestamp-nanos"}[t.Unit]
		if as == "" {
			as = "timestamp-millis"
		}
		if t.TimeZone == "" {
			as = "local-" + as
		}
		return logical("long", as)
	}
	return nil
}

// structuredType returns the Avro type for types with a name, a size or parts.
func structuredType(name string, t arrow.DataType) (any, error) {
	switch t := t.(type) {
	case *arrow.FixedSizeBinaryType:
		return object{"type": "fixed", "name": name, "size": t.ByteWidth}, nil
	case arrow.DecimalType:
		if t.GetScale() < 0 || t.GetScale() > t.GetPrecision() {
			return nil, fmt.Errorf("has type %s, and Avro's decimals have a scale from 0 to the precision", t)
		}
		return object{"type": "bytes", "logicalType": "decimal", "precision": t.GetPrecision(), "scale": t.GetScale()}, nil
	case *arrow.MapType:
		if id := t.KeyType().ID(); id != arrow.STRING && id != arrow.LARGE_STRING && id != arrow.STRING_VIEW {
			return nil, fmt.Errorf("has type %s, and the keys of Avro's maps are strings", t)
		}
		v, err := composeType(name+"_value", t.ItemType())
		if err != nil {
			return nil, err
		}
		return object{"type": "map", "values": nullableType(v)}, nil
	case arrow.ListLikeType:
		v, err := composeType(name+"_item", t.Elem())
		if err != nil {
			return nil, err
		}
		return object{"type": "array", "items": nullableType(v)}, nil
	case *arrow.StructType:
		fields, err := composeFields(name, t.Fields())
		if err != nil {
			return nil, err
		}
		return object{"type": "record", "name": name, "fields": fields}, nil
	case arrow.UnionType:
		return composeUnion(name, t)
	}
	return nil, fmt.Errorf("has type %s, which Avro has no type for", t)
}

func composeUnion(name string, t arrow.UnionType) (any, error) {
	var union []any
	for i, f := range t.Fields() {
		b, err := composeType(fmt.Sprintf("%s_%d", name, i), f.Type)
		if err != nil {
			return nil, err
		}
		if b == "null" {
			continue
		}
		if _, nested := b.([]any); nested {
			return nil, fmt.Errorf("has type %s, and Avro's unions hold no unions", t)
		}
		union = append(union, b)
	}
	return union, nil
}
