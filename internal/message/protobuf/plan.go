package protobuf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// field is a field of a writer's schema, with its treatment.
type field struct {
	number   protowire.Number
	kind     protoreflect.Kind
	wire     protowire.Type
	list     bool // repeated, or a map
	packable bool
	id       int   // index among the plan's fields
	slot     int   // slot in which it is decoded; -1: not decoded
	out      int   // index in Layout.Release if a mask may change it, else -1
	keep     bool  // it is released
	oneof    int   // index of its oneof, -1 if it has none
	presence bool  // absent means null, not zero
	node     *node // the released part of its messages, nil if it has none
	desc     protoreflect.FieldDescriptor
}

// plan is the treatment of the messages of one type of one writer's schema.
type plan struct {
	schema   *schema
	message  protoreflect.MessageDescriptor
	dense    []*field // by number, for small numbers
	sparse   map[protowire.Number]*field
	fields   int
	oneofs   int
	slots    []*field // by slot; nil if the schema lacks the column
	masked   []*field // fields that a mask may change, including those that the released schema adds
	required []*field // required fields that are released
	cut      map[protoreflect.FullName]map[protoreflect.FieldNumber]bool
	mismatch misfit // the reason why messages of this schema cannot be read, zero if they can
	unlisted []string
}

type misfit struct{ column, reason string }

const denseFields = 256

func (p *plan) field(n protowire.Number) *field {
	if int(n) < len(p.dense) {
		return p.dense[n]
	}
	return p.sparse[n]
}

type planKey struct {
	topic   string
	id      uint32
	indexes string // as in the header
}

// Reasons for rejecting whole messages.
const (
	reasonEmpty    = "the message has no value"
	reasonFrame    = "the message is not in the frame of a schema registry"
	reasonSchema   = "the message names a schema that the registry does not have"
	reasonUnusable = "the message names a schema that is not a usable Protobuf schema"
	reasonIndexes  = "the message names a message type that its schema does not have"
	reasonType     = "the message is of another message type than the topic's"
	reasonWire     = "the message is not well-formed Protobuf, or not of its schema"
	reasonTwice    = "a field is there twice"
	reasonOneof    = "two members of a oneof are there"
	reasonRequired = "a field that its schema requires is missing"
	reasonNested   = "what it holds is not well-formed Protobuf, or not of its schema"
)

// planFor returns the plan for messages with a header, or the reason why they cannot be
// read. An error is that of the registry.
func (d *decoder) planFor(ctx context.Context, key planKey, indexes []int) (*plan, string, error) {
	d.mu.Lock()
	p := d.plans[key]
	d.mu.Unlock()
	if p != nil {
		return p, "", nil
	}
	s, err := d.byID(ctx, key.id)
	if err != nil {
		var bad *errSchema
		switch {
		case errors.As(err, &bad):
			return nil, reasonUnusable, nil
		case registry.IsNotFound(err):
			return nil, reasonSchema, nil
		}
		return nil, "", err
	}
	m := messageAt(s.file, indexes)
	if m == nil {
		return nil, reasonIndexes, nil
	}
	if !d.expects(key.topic, m.FullName()) {
		return nil, reasonType, nil
	}
	p = d.plan(s, m)
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := d.plans[key]; first != nil {
		return first, "", nil
	}
	d.plans[key] = p // the number of plans is limited by that of the schemas' message types
	return p, "", nil
}

// planner builds the plan for a message type of a writer's schema.
type planner struct {
	*plan
	d        *decoder
	releases map[int]int // index in the release by column
	nested   *tree
	within   string // the field whose nested messages are being planned
}

// plan returns the plan for a message type of a writer's schema.
func (d *decoder) plan(s *schema, m protoreflect.MessageDescriptor) *plan {
	p := &planner{d: d, releases: map[int]int{},
		plan: &plan{schema: s, message: m, oneofs: m.Oneofs().Len(), slots: make([]*field, len(d.wanted)),
			cut: map[protoreflect.FullName]map[protoreflect.FieldNumber]bool{}}}
	for i, o := range d.layout.Release {
		p.releases[o.Source] = i
	}
	p.nested = &tree{known: d.known, top: m.FullName(), own: p.own, nodes: map[protoreflect.FullName]*node{},
		extra: func(f protoreflect.FieldDescriptor) {
			p.withhold(f)
			p.unlisted = append(p.unlisted, fmt.Sprintf("field number %d of a message in %s", f.Number(), p.within))
		}}
	for i := range m.Fields().Len() {
		p.add(i, m.Fields().Get(i))
	}
	if d.carry {
		p.addLacking(m)
	}
	slices.Sort(p.unlisted)
	return p.plan
}

// withhold adds a field to those that the released schema does not have.
func (p *planner) withhold(f protoreflect.FieldDescriptor) {
	in := f.ContainingMessage().FullName()
	if p.cut[in] == nil {
		p.cut[in] = map[protoreflect.FieldNumber]bool{}
	}
	p.cut[in][f.Number()] = true
}

// own reports whether a field is released in a nested message of the topic's own type:
// only if it is released in the outermost message and no mask would have to change it.
func (p *planner) own(f protoreflect.FieldDescriptor) bool {
	column, ok := p.d.index[string(f.Name())]
	place, released := p.releases[column]
	return ok && released && !p.d.layout.Release[place].Masked
}

// add plans the treatment of the i-th field.
func (p *planner) add(i int, fd protoreflect.FieldDescriptor) {
	d := p.d
	f := &field{number: fd.Number(), kind: fd.Kind(), wire: wireOf(fd), list: fd.IsList() || fd.IsMap(),
		packable: packable(fd),
		id:       i, slot: -1, out: -1, oneof: -1, presence: fd.HasPresence(), desc: fd}
	if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() {
		f.oneof = one.Index()
	}
	p.put(f)
	column, ok := d.index[string(fd.Name())]
	if _, listed := d.listed[string(fd.Name())]; !listed {
		p.unlisted = append(p.unlisted, fmt.Sprintf("field number %d", fd.Number()))
	}
	place, released := p.releases[column]
	released = released && ok
	if !released {
		p.withhold(fd)
	}
	if !ok {
		return
	}
	if f.slot = d.slots[column]; f.slot >= 0 {
		if !convertible(fd, d.fields[column]) {
			p.refuse(d.name(column), "the message's schema has another type in this column")
		}
		p.slots[f.slot] = f
	}
	if released {
		p.release(f, column, place)
	}
}

// release plans a released field as the output with index place.
func (p *planner) release(f *field, column, place int) {
	f.keep = true
	if f.desc.Cardinality() == protoreflect.Required {
		p.required = append(p.required, f)
	}
	if p.d.layout.Release[place].Masked {
		f.out = place
		p.masked = append(p.masked, f)
		if f.oneof >= 0 && p.d.carry {
			p.refuse(p.d.name(column), "the message's schema has the column in a oneof, in which it cannot be masked")
		}
	}
	if f.desc.Message() != nil {
		p.within = string(f.desc.Name())
		f.node = p.nested.node(f.desc.Message())
	}
}

// addLacking plans the masked columns that the schema lacks. Such a column may get a
// value from another record, so the released schema has it.
func (p *planner) addLacking(m protoreflect.MessageDescriptor) {
	d := p.d
	for i, o := range d.layout.Release {
		if !o.Masked || m.Fields().ByName(d.fields[o.Source].Name()) != nil {
			continue
		}
		fd := d.fields[o.Source]
		n := fd.Number()
		if fd.Kind() == protoreflect.EnumKind || m.Fields().ByNumber(n) != nil || m.ReservedRanges().Has(n) ||
			m.ReservedNames().Has(fd.Name()) || m.ExtensionRanges().Has(n) ||
			m.Fields().ByJSONName(fd.JSONName()) != nil || m.Oneofs().ByName(fd.Name()) != nil {
			p.refuse(d.name(o.Source), "the message's schema does not have the column, and has no room for it")
			continue
		}
		p.masked = append(p.masked,
			&field{number: n, kind: fd.Kind(), id: -1, slot: -1, out: i, oneof: -1, presence: true, desc: fd})
	}
}

func (p *plan) refuse(column, reason string) {
	if p.mismatch.reason == "" {
		p.mismatch = misfit{column, reason}
	}
}

func (p *plan) put(f *field) {
	p.fields++
	if f.number < denseFields {
		for int(f.number) >= len(p.dense) {
			p.dense = append(p.dense, nil)
		}
		p.dense[f.number] = f
		return
	}
	if p.sparse == nil {
		p.sparse = map[protowire.Number]*field{}
	}
	p.sparse[f.number] = f
}

// convertible reports whether the values of a writer's field can be converted to those
// of a column. The range of numbers is checked separately for each value.
func convertible(from, to protoreflect.FieldDescriptor) bool {
	if from.IsList() || from.IsMap() || classOf(from.Kind()) == classNested {
		return false
	}
	a, b := classOf(from.Kind()), classOf(to.Kind())
	switch {
	case a == b:
		return true
	case a.integer():
		return b.integer() || b == classFloat
	case a == classText, a == classBytes:
		return b == classText || b == classBytes
	}
	return false
}

// unlistedAt returns the error that ends a stream.
func (p *plan) unlistedAt(run *message.Run, i int) error {
	return &message.UnlistedError{
		Stream: fmt.Sprintf("topic %s, partition %d, offset %d", run.Scope, run.Stream, run.Offsets[i]), Places: p.unlisted}
}

// class is the representation of a kind's values while a block is decoded.
type class uint8

const (
	classInt    class = iota // int64
	classUint                // uint64
	classFloat               // bits of float64
	classBool                // 0 or 1
	classEnum                // int64
	classText                // place of the bytes
	classBytes               // place of the bytes
	classNested              // not decoded
)

func (c class) integer() bool { return c == classInt || c == classUint }

func classOf(k protoreflect.Kind) class {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Int64Kind,
		protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return classInt
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return classUint
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return classFloat
	case protoreflect.BoolKind:
		return classBool
	case protoreflect.EnumKind:
		return classEnum
	case protoreflect.StringKind:
		return classText
	case protoreflect.BytesKind:
		return classBytes
	}
	return classNested
}
