package protobuf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// writer writes messages from those of a reader of this format.
type writer struct {
	reader   *reader
	registry *registry.Client
	subject  string
	layout   *microdata.Layout

	mu     sync.Mutex
	frames map[frameKey][]byte
}

// frameKey is a message type of a writer's schema.
type frameKey struct {
	id      uint32
	message protoreflect.FullName
}

func newWriter(ctx context.Context, r message.WriteRequest, src *reader) (*writer, error) {
	w := &writer{reader: src, registry: r.Registry, subject: r.Registry.Subject(r.Topic), layout: r.Layout,
		frames: map[frameKey][]byte{}}
	d, err := src.Decoder(r.Layout, true)
	if err != nil {
		return nil, err
	}
	for _, name := range src.sortedTopics() {
		t := src.topics[name]
		if _, err := w.frame(ctx, d.(*decoder).plan(t.latest, t.message)); err != nil {
			return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
		}
	}
	return w, nil
}

// Carries implements message.Writer.
func (w *writer) Carries() bool { return true }

// frame returns the header of released messages of a plan. It registers their schema if
// this has not been done.
func (w *writer) frame(ctx context.Context, p *plan) ([]byte, error) {
	key := frameKey{p.schema.ID, p.message.FullName()}
	w.mu.Lock()
	frame := w.frames[key]
	w.mu.Unlock()
	if frame != nil {
		return frame, nil
	}
	text, m, imports, err := releasedSchema(p, func(f *field) protoreflect.FieldDescriptor {
		return w.reader.fields[w.layout.Release[f.out].Source]
	})
	if err != nil {
		return nil, err
	}
	refs, err := w.references(ctx, p.schema, imports)
	if err != nil {
		return nil, err
	}
	id, err := w.registry.Register(ctx, w.subject, registry.Schema{Type: registry.Protobuf, Text: text, References: refs})
	if err != nil {
		return nil, err
	}
	frame = registry.AppendIndexes(registry.AppendHeader(nil, id), indexesOf(m))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames[key] = frame
	return frame, nil
}

// Encode implements message.Writer.
func (w *writer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	kept := b.Kept()
	if kept == 0 {
		return message.Released{}, nil
	}
	c, ok := b.Carried.(*carried)
	if !ok {
		return message.Released{}, fmt.Errorf("topic %s, partition %d: the block carries no messages", b.Scope, b.Stream)
	}
	size := 0
	for _, v := range c.values {
		size += len(v)
	}
	size += b.N * (8 + 12*len(w.layout.Release)) // headers, and numbers that can become longer
	out := message.Released{Values: make([][]byte, 0, kept), Source: make([]int32, 0, kept)}
	columns := columnsOf(w.layout, b)
	buf := make([]byte, 0, size)
	var p *plan
	var frame []byte
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		if c.plans[r] != p {
			p = c.plans[r]
			var err error
			if frame, err = w.frame(ctx, p); err != nil {
				return message.Released{}, err
			}
		}
		from := len(buf)
		buf = append(buf, frame...)
		v, at := c.values[r], c.starts[r]
		first := uint32(0)
		if r > 0 {
			first = c.last[r-1]
		}
		for _, e := range c.edits[first:c.last[r]] {
			buf = append(buf, v[at:e.start]...)
			at = e.end
			switch e.to {
			case toNothing:
			case toClean:
				number, typ, size := protowire.ConsumeTag(v[e.start:e.end])
				buf = p.field(number).node.appendField(buf, number, typ, inner(number, typ, v[int(e.start)+size:e.end]))
			default:
				var err error
				if buf, err = w.masked(buf, p.masked[e.to], &columns[p.masked[e.to].out], r); err != nil {
					return message.Released{}, err
				}
			}
		}
		buf = append(buf, v[at:]...)
		out.Values = append(out.Values, buf[from:len(buf):len(buf)])
		out.Source = append(out.Source, int32(r))
	}
	return out, nil
}

// outColumn is a released column of a block.
type outColumn struct {
	numbers bool
	vector  microdata.Vector
	array   arrow.Array
	lo, hi  float64 // range of the integer type
}

func columnsOf(l *microdata.Layout, b *microdata.Block) []outColumn {
	out := make([]outColumn, len(l.Release))
	for i, o := range l.Release {
		if o.Column < 0 {
			continue
		}
		if out[i].numbers = l.Read[o.Column].As == microdata.Numbers; out[i].numbers {
			out[i].vector = b.Columns[o.Column].Out()
			if out[i].lo, out[i].hi = o.Field.Range(); o.Field.Type.ID() == arrow.FLOAT64 || o.Field.Type.ID() == arrow.FLOAT32 {
				out[i].lo, out[i].hi = math.Inf(-1), math.Inf(1) // masks have already limited them
			}
		} else {
			out[i].array = b.Columns[o.Column].OutArray()
		}
	}
	return out
}

// masked appends the value of a masked field in row r; nothing for null, and for a zero
// that is represented by absence.
func (w *writer) masked(dst []byte, f *field, c *outColumn, r int) ([]byte, error) {
	to := w.reader.fields[w.layout.Release[f.out].Source]
	if c.numbers {
		if !c.vector.Valid.Has(r) {
			return dst, nil
		}
		return appendFloat(dst, f.number, to.Kind(), f.presence, min(max(c.vector.Values[r], c.lo), c.hi)), nil
	}
	if c.array == nil {
		return dst, fmt.Errorf("column %s is masked, and its values did not come", to.Name())
	}
	if c.array.IsNull(r) {
		return dst, nil
	}
	if to.Kind() != protoreflect.EnumKind {
		return appendValue(dst, f.number, to.Kind(), f.presence, c.array, r)
	}
	name := protoreflect.Name(c.array.(*array.String).Value(r))
	n, ok := numberOf(f.desc.Enum(), name)
	if !ok {
		if n, ok = numberOf(to.Enum(), name); !ok {
			return dst, fmt.Errorf("column %s: a name came that no schema has", to.Name())
		}
	}
	return appendVarint(dst, f.number, f.presence, uint64(int64(n))), nil
}

func numberOf(e protoreflect.EnumDescriptor, name protoreflect.Name) (protoreflect.EnumNumber, bool) {
	if v := e.Values().ByName(name); v != nil {
		return v.Number(), true
	}
	n, err := strconv.ParseInt(string(name), 10, 32) // a number without a name, of an open enum
	return protoreflect.EnumNumber(n), err == nil
}

func appendVarint(dst []byte, n protowire.Number, presence bool, v uint64) []byte {
	if v == 0 && !presence {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

func appendFixed32(dst []byte, n protowire.Number, presence bool, v uint32) []byte {
	if v == 0 && !presence {
		return dst
	}
	return binary.LittleEndian.AppendUint32(protowire.AppendTag(dst, n, protowire.Fixed32Type), v)
}

func appendFixed64(dst []byte, n protowire.Number, presence bool, v uint64) []byte {
	if v == 0 && !presence {
		return dst
	}
	return binary.LittleEndian.AppendUint64(protowire.AppendTag(dst, n, protowire.Fixed64Type), v)
}

// appendFloat appends a number in a field of a kind; the number must be in its range.
// NaN in an integer field is written as null.
func appendFloat(dst []byte, n protowire.Number, k protoreflect.Kind, presence bool, x float64) []byte {
	switch k {
	case protoreflect.DoubleKind:
		return appendFixed64(dst, n, presence, math.Float64bits(x))
	case protoreflect.FloatKind:
		return appendFixed32(dst, n, presence, math.Float32bits(float32(x)))
	}
	if math.IsNaN(x) {
		return dst
	}
	return appendInteger(dst, n, k, presence, int64(math.RoundToEven(x)))
}

// appendInteger appends an integer in a field of a kind; for unsigned kinds of 64 bits,
// i holds the same bits.
func appendInteger(dst []byte, n protowire.Number, k protoreflect.Kind, presence bool, i int64) []byte {
	switch k {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return appendVarint(dst, n, presence, protowire.EncodeZigZag(i))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return appendFixed32(dst, n, presence, uint32(i))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return appendFixed64(dst, n, presence, uint64(i))
	}
	return appendVarint(dst, n, presence, uint64(i))
}

// appendValue appends row r of an array, which must not be null, in a field of a kind.
func appendValue(dst []byte, n protowire.Number, k protoreflect.Kind, presence bool, a arrow.Array, r int) ([]byte,
	error) {
	switch a := a.(type) {
	case *array.String:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.LargeString:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.StringView:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.Binary:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.LargeBinary:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.BinaryView:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.FixedSizeBinary:
		return appendBytes(dst, n, presence, a.Value(r)), nil
	case *array.Boolean:
		v := uint64(0)
		if a.Value(r) {
			v = 1
		}
		return appendVarint(dst, n, presence, v), nil
	case *array.Int8:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Int16:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Int32:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Int64:
		return appendInteger(dst, n, k, presence, a.Value(r)), nil
	case *array.Uint8:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Uint16:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Uint32:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Uint64:
		return appendInteger(dst, n, k, presence, int64(a.Value(r))), nil
	case *array.Float16:
		return appendFloat(dst, n, k, presence, float64(a.Value(r).Float32())), nil
	case *array.Float32:
		return appendFloat(dst, n, k, presence, float64(a.Value(r))), nil
	case *array.Float64:
		return appendFloat(dst, n, k, presence, a.Value(r)), nil
	}
	if k == protoreflect.StringKind {
		return appendBytes(dst, n, presence, a.ValueStr(r)), nil
	}
	return dst, fmt.Errorf("values of type %s cannot be written to a field of kind %s", a.DataType(), k)
}

func appendBytes[T string | []byte](dst []byte, n protowire.Number, presence bool, v T) []byte {
	if len(v) == 0 && !presence {
		return dst
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.BytesType), uint64(len(v)))
	return append(dst, v...)
}
