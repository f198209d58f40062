package protobuf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader holds the columns of the newest schema of each topic.
type reader struct {
	registry     *registry.Client
	schema       *microdata.Schema
	fields       []protoreflect.FieldDescriptor // by column, of the first topic that has it
	index        map[string]int
	listed       map[string]message.Column
	dropUnlisted bool
	topics       map[string]topic
	known        knownFields

	mu      sync.Mutex
	schemas map[uint32]*schema // schemas by number, as far as they have occurred
	bad     map[uint32]error   // numbers of schemas that are not of this format
}

// topic describes a topic's messages.
type topic struct {
	latest  *schema
	message protoreflect.MessageDescriptor
}

func newReader(ctx context.Context, c *Config, req message.Request) (*reader, error) {
	r := &reader{registry: req.Registry, schema: &microdata.Schema{}, index: map[string]int{},
		listed:       map[string]message.Column{},
		dropUnlisted: req.DropUnlisted, topics: map[string]topic{}, known: knownFields{}, schemas: map[uint32]*schema{},
		bad: map[uint32]error{}}
	for _, col := range req.Columns {
		r.listed[col.Name] = col
	}
	for _, name := range req.Topics {
		s, err := r.latest(ctx, name)
		if err != nil {
			return nil, err
		}
		m, err := findMessage(s.file, c.Message)
		if err != nil {
			return nil, fmt.Errorf("topic %s: schema %d: %w", name, s.ID, err)
		}
		r.topics[name] = topic{s, m}
		if err := r.add(name, m); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// latest returns the newest schema of a topic.
func (r *reader) latest(ctx context.Context, name string) (*schema, error) {
	found, err := r.registry.Latest(ctx, r.registry.Subject(name))
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", name, err)
	}
	s, err := compile(ctx, r.registry, found)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", name, err)
	}
	r.schemas[s.ID] = s
	return s, nil
}

// add adds the columns of a topic.
func (r *reader) add(name string, m protoreflect.MessageDescriptor) error {
	var extra []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		column := string(f.Name())
		if _, ok := r.listed[column]; !ok {
			extra = append(extra, fmt.Sprintf("field number %d", f.Number()))
		} else {
			r.known.add(f)
		}
		t := typeOf(f)
		k, ok := r.index[column]
		if !ok {
			r.index[column] = len(r.fields)
			r.fields = append(r.fields, f)
			// A record whose writer's schema lacks the field has a null.
			r.schema.Fields = append(r.schema.Fields, microdata.Field{Name: column, Type: t, Nullable: true})
			continue
		}
		if !arrow.TypeEqual(r.schema.Fields[k].Type, t) {
			return fmt.Errorf("topic %s: column %s is %s, and in another topic it is %s", name, column, t,
				r.schema.Fields[k].Type)
		}
	}
	if len(extra) > 0 && !r.dropUnlisted {
		return &message.UnlistedError{Stream: "topic " + name, Places: extra}
	}
	return nil
}

// typeOf returns the type of a column. Nested columns are opaque: they can only be
// released unchanged or withheld.
func typeOf(f protoreflect.FieldDescriptor) arrow.DataType {
	var t arrow.DataType
	switch f.Kind() {
	case protoreflect.BoolKind:
		t = arrow.FixedWidthTypes.Boolean
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		t = arrow.PrimitiveTypes.Int32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		t = arrow.PrimitiveTypes.Int64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		t = arrow.PrimitiveTypes.Uint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		t = arrow.PrimitiveTypes.Uint64
	case protoreflect.FloatKind:
		t = arrow.PrimitiveTypes.Float32
	case protoreflect.DoubleKind:
		t = arrow.PrimitiveTypes.Float64
	case protoreflect.EnumKind, protoreflect.StringKind:
		t = arrow.BinaryTypes.String
	case protoreflect.BytesKind:
		t = arrow.BinaryTypes.Binary
	default:
		t = arrow.StructOf(arrow.Field{Name: "message", Type: arrow.BinaryTypes.Binary})
	}
	if f.IsList() || f.IsMap() {
		t = arrow.ListOf(t)
	}
	return t
}

// Schema implements message.Reader.
func (r *reader) Schema() *microdata.Schema { return r.schema }

// byID returns the compiled schema of a number.
func (r *reader) byID(ctx context.Context, id uint32) (*schema, error) {
	r.mu.Lock()
	s, bad := r.schemas[id], r.bad[id]
	r.mu.Unlock()
	if s != nil || bad != nil {
		return s, bad
	}
	found, err := r.registry.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	// Two workers may compile the same schema at the same time; both then use the same
	// result.
	s, err = compile(ctx, r.registry, found)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		var none *errSchema
		if errors.As(err, &none) {
			r.bad[id] = err
		}
		return nil, err
	}
	if first := r.schemas[id]; first != nil {
		return first, nil
	}
	r.schemas[id] = s
	return s, nil
}

// Decoder implements message.Reader. It returns an error if a column cannot be decoded
// in the wanted form: nested columns cannot be decoded, and a column that a mask may
// change must be a single field that is neither repeated nor in a oneof.
func (r *reader) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	d := &decoder{reader: r, layout: layout, carry: carry, slots: make([]int, len(r.fields)), plans: map[planKey]*plan{}}
	for i := range d.slots {
		d.slots[i] = -1
	}
	for _, w := range layout.Read {
		f := r.schema.Fields[w.Field]
		switch {
		case f.Nested():
			return nil,
				fmt.Errorf(
					"column %s is a nested message, map or list, which is released to Protobuf as it is, or withheld; it cannot be read, masked or released in another format", f.Name)
		case w.As == microdata.Numbers && !f.Numeric():
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
		if d.slots[w.Field] < 0 {
			d.slots[w.Field] = len(d.wanted)
			d.wanted = append(d.wanted, w.Field)
		}
	}
	for _, o := range layout.Release {
		f := r.fields[o.Source]
		if one := f.ContainingOneof(); carry && o.Masked && one != nil && !one.IsSynthetic() {
			return nil,
				fmt.Errorf(
					"column %s is a member of the oneof %s, which says by itself which member there is; it can be released as it is or withheld, not masked", f.Name(), one.Name())
		}
	}
	return d, nil
}

// name returns a column's name.
func (r *reader) name(column int) string { return r.schema.Fields[column].Name }

// expects reports whether a topic may have messages of a type. A topic that did not
// exist at the start may have the types of all other topics.
func (r *reader) expects(name string, m protoreflect.FullName) bool {
	if t, ok := r.topics[name]; ok {
		return t.message.FullName() == m
	}
	for _, t := range r.topics {
		if t.message.FullName() == m {
			return true
		}
	}
	return false
}

// sortedTopics returns the topics' names.
func (r *reader) sortedTopics() []string {
	names := make([]string, 0, len(r.topics))
	for n := range r.topics {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
