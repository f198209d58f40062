package protobuf

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// composer writes messages from columns of another format.
type composer struct {
	layout *microdata.Layout
	reader message.Reader // nil if the source is not a topic
	frame  []byte
	fields []composed // by index in the release
}

type composed struct {
	kind     protoreflect.Kind
	presence bool
}

// severalRecords is a reader whose messages can have several records.
type severalRecords interface {
	MessageOf(b *microdata.Block) []int32
}

func newComposer(ctx context.Context, c *Config, r message.WriteRequest) (*composer, error) {
	w := &composer{layout: r.Layout, reader: r.Reader}
	file, err := w.describe(c.Message, r.Topic)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	_, text, err := printed(file, nil)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	id, err := r.Registry.Register(ctx, r.Registry.Subject(r.Topic), registry.Schema{Type: registry.Protobuf, Text: text})
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	w.frame = registry.AppendIndexes(registry.AppendHeader(nil, id), []int{0})
	return w, nil
}

// describe returns the schema: proto3, with the columns in the order of the release.
func (w *composer) describe(name, topic string) (*descriptorpb.FileDescriptorProto, error) {
	if name == "" {
		name = messageName(topic)
	}
	full := protoreflect.FullName(name)
	m := &descriptorpb.DescriptorProto{Name: proto.String(string(full.Name()))}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String(mainFile), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{m}}
	if p := full.Parent(); p != "" {
		file.Package = proto.String(string(p))
	}
	taken := map[string]bool{}
	for i, o := range w.layout.Release {
		kind, err := kindOf(o.Field)
		if err != nil {
			return nil, err
		}
		// Names that differ only in case or underscores are equal in JSON.
		field, json := fieldName(o.Field.Name), ""
		for k := 2; ; k++ {
			if json = jsonName(field); !taken[json] {
				break
			}
			field = fmt.Sprintf("%s_%d", fieldName(o.Field.Name), k)
		}
		taken[json] = true
		f := &descriptorpb.FieldDescriptorProto{Name: &field, Number: proto.Int32(numberAt(i)),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type:  descriptorpb.FieldDescriptorProto_Type(kind).Enum()}
		if o.Field.Nullable {
			f.Proto3Optional, f.OneofIndex = proto.Bool(true), proto.Int32(int32(len(m.OneofDecl)))
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + field)})
		}
		m.Field = append(m.Field, f)
		w.fields = append(w.fields, composed{kind, o.Field.Nullable})
	}
	return file, nil
}

// numberAt returns the number of the i-th field. It skips the numbers that Protobuf
// reserves.
func numberAt(i int) int32 {
	n := int32(i + 1)
	if n >= int32(protowire.FirstReservedNumber) {
		n += int32(protowire.LastReservedNumber - protowire.FirstReservedNumber + 1)
	}
	return n
}

// kindOf returns the kind of field for a column's values. Decimals, dates and times are
// written as text, which is exact.
func kindOf(f microdata.Field) (protoreflect.Kind, error) {
	switch f.Type.ID() {
	case arrow.BOOL:
		return protoreflect.BoolKind, nil
	case arrow.INT8, arrow.INT16, arrow.INT32:
		return protoreflect.Int32Kind, nil
	case arrow.INT64:
		return protoreflect.Int64Kind, nil
	case arrow.UINT8, arrow.UINT16, arrow.UINT32:
		return protoreflect.Uint32Kind, nil
	case arrow.UINT64:
		return protoreflect.Uint64Kind, nil
	case arrow.FLOAT16, arrow.FLOAT32:
		return protoreflect.FloatKind, nil
	case arrow.FLOAT64:
		return protoreflect.DoubleKind, nil
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return protoreflect.BytesKind, nil
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256, arrow.STRING, arrow.LARGE_STRING,
		arrow.STRING_VIEW,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.NULL:
		return protoreflect.StringKind, nil
	}
	return 0,
		fmt.Errorf(
			"column %s is %s, which cannot be released to Protobuf from another format; list it as an identifier, or convert it before", f.Name, microdata.TypeName(f.Type))
}

// messageName converts the name of a topic to that of a message type: survey-masked
// becomes SurveyMasked.
func messageName(topic string) string {
	var b strings.Builder
	upper := true
	for _, r := range topic {
		switch {
		case r >= '0' && r <= '9' && b.Len() > 0, r >= 'A' && r <= 'Z':
			b.WriteRune(r)
			upper = false
		case r >= 'a' && r <= 'z':
			if upper {
				r -= 'a' - 'A'
			}
			b.WriteRune(r)
			upper = false
		default:
			upper = true
		}
	}
	if b.Len() == 0 {
		return "Record"
	}
	return b.String()
}

// fieldName converts the name of a column to that of a field.
func fieldName(column string) string {
	b := []byte(column)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			b[i] = '_'
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' || b[0] == '_' {
		b = append([]byte("column_"), b...)
	}
	return string(b)
}

// jsonName returns the JSON name of a field, in lower case.
func jsonName(field string) string { return strings.ToLower(strings.ReplaceAll(field, "_", "")) }

// Carries implements message.Writer.
func (w *composer) Carries() bool { return false }

// Encode implements message.Writer.
func (w *composer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	kept := b.Kept()
	out := message.Released{Values: make([][]byte, 0, kept), Source: make([]int32, 0, kept)}
	if kept == 0 {
		return out, nil
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	columns, err := w.columns(b)
	if err != nil {
		return out, err
	}
	var of []int32
	if several, ok := w.reader.(severalRecords); ok {
		of = several.MessageOf(b)
	}
	buf := make([]byte, 0, b.N*(len(w.frame)+16*len(w.fields)))
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		from := len(buf)
		buf = append(buf, w.frame...)
		for i := range columns {
			c, f := &columns[i], w.fields[i]
			n := protowire.Number(numberAt(i))
			switch {
			case c.numbers:
				if c.vector.Valid.Has(r) {
					buf = appendFloat(buf, n, f.kind, f.presence, min(max(c.vector.Values[r], c.lo), c.hi))
				}
			case c.array.IsValid(r):
				if buf, err = appendValue(buf, n, f.kind, f.presence, c.array, r); err != nil {
					return out, fmt.Errorf("column %s: %w", w.layout.Release[i].Field.Name, err)
				}
			}
		}
		out.Values = append(out.Values, buf[from:len(buf):len(buf)])
		if of != nil {
			out.Source = append(out.Source, of[r])
		} else {
			out.Source = append(out.Source, int32(r))
		}
	}
	return out, nil
}

// columns returns the released columns; numbers that are written as text are in arrays.
func (w *composer) columns(b *microdata.Block) ([]outColumn, error) {
	out := columnsOf(w.layout, b)
	for i, o := range w.layout.Release {
		c := &out[i]
		if c.numbers && w.fields[i].kind == protoreflect.StringKind {
			c.numbers, c.array = false, microdata.ToArray(c.vector, b.N, o.Field, nil)
		}
		if !c.numbers && c.array == nil {
			return nil, fmt.Errorf("column %s was not decoded by its source", o.Field.Name)
		}
	}
	return out, nil
}
