package protobuf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// knownFields are the fields that message types had in the newest schemas at the start: the
// only ones that nested messages may hold when they are released.
type knownFields map[protoreflect.FullName]map[protoreflect.FieldNumber]protoreflect.Name

// add notes the types that a field's messages hold.
func (k knownFields) add(f protoreflect.FieldDescriptor) {
	m := f.Message()
	if m == nil {
		return
	}
	fields := k[m.FullName()]
	seen := fields != nil
	if !seen {
		fields = map[protoreflect.FieldNumber]protoreflect.Name{}
		k[m.FullName()] = fields
	}
	for i := range m.Fields().Len() {
		g := m.Fields().Get(i)
		if _, ok := fields[g.Number()]; ok {
			continue
		}
		fields[g.Number()] = g.Name()
		k.add(g)
	}
}

// has reports whether a field of a nested message may leave.
func (k knownFields) has(f protoreflect.FieldDescriptor) bool {
	name, ok := k[f.ContainingMessage().FullName()][f.Number()]
	return ok && name == f.Name()
}

// node is a type of nested messages: what of them leaves.
type node struct {
	fields map[protowire.Number]*subfield
}

type subfield struct {
	wire     protowire.Type
	packable bool // may also come packed
	child    *node
}

// tree makes the nodes of the types that a released field of a writer's schema
// reaches. extra is told the fields that do not leave.
type tree struct {
	known knownFields
	nodes map[protoreflect.FullName]*node
	extra func(protoreflect.FieldDescriptor)
	top   protoreflect.FullName                   // the type of the topic's messages
	own   func(protoreflect.FieldDescriptor) bool // which of its fields leave where it is nested
}

func (t *tree) node(m protoreflect.MessageDescriptor) *node {
	if n := t.nodes[m.FullName()]; n != nil {
		return n
	}
	n := &node{fields: map[protowire.Number]*subfield{}}
	t.nodes[m.FullName()] = n
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if m.FullName() == t.top && !t.own(f) {
			continue
		}
		if !t.known.has(f) {
			t.extra(f)
			continue
		}
		s := &subfield{wire: wireOf(f), packable: packable(f)}
		if f.Message() != nil {
			s.child = t.node(f.Message())
		}
		n.fields[f.Number()] = s
	}
	return n
}

// wireOf returns the wire type of a field's values, unpacked.
func wireOf(f protoreflect.FieldDescriptor) protowire.Type {
	switch f.Kind() {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

func packable(f protoreflect.FieldDescriptor) bool {
	w := wireOf(f)
	return f.IsList() && w != protowire.BytesType && w != protowire.StartGroupType
}

// finding is what a look into a nested message shows.
type finding uint8

const (
	clean  finding = iota
	dirty          // it has fields that do not leave
	broken         // it is malformed
)

// maxDepth bounds how deep messages are nested in one another, as the usual
// readers of Protobuf do.
const maxDepth = 100

// inspect looks into a nested message.
func (n *node) inspect(p []byte, depth int) finding {
	if depth > maxDepth {
		return broken
	}
	found := clean
	for len(p) > 0 {
		num, typ, size := protowire.ConsumeTag(p)
		if size < 0 || typ == protowire.EndGroupType {
			return broken
		}
		k := protowire.ConsumeFieldValue(num, typ, p[size:])
		if k < 0 {
			return broken
		}
		value := p[size : size+k]
		p = p[size+k:]
		f := n.fields[num]
		switch {
		case f == nil:
			found = dirty
			continue
		case f.wire != typ && !(f.packable && typ == protowire.BytesType):
			return broken
		case f.child == nil:
			continue
		}
		switch f.child.inspect(inner(num, typ, value), depth+1) {
		case broken:
			return broken
		case dirty:
			found = dirty
		}
	}
	return found
}

// inner returns the message in a field's value, which ConsumeFieldValue has
// passed.
func inner(num protowire.Number, typ protowire.Type, value []byte) []byte {
	if typ == protowire.StartGroupType {
		v, _ := protowire.ConsumeGroup(num, value)
		return v
	}
	v, _ := protowire.ConsumeBytes(value)
	return v
}

// appendClean appends what leaves of a nested message, which inspect has found
// not to be broken.
func (n *node) appendClean(dst, p []byte) []byte {
	for len(p) > 0 {
		num, typ, size := protowire.ConsumeTag(p)
		k := protowire.ConsumeFieldValue(num, typ, p[size:])
		value := p[size : size+k]
		whole := p[:size+k]
		p = p[size+k:]
		f := n.fields[num]
		switch {
		case f == nil:
		case f.child == nil:
			dst = append(dst, whole...)
		default:
			dst = f.child.appendField(dst, num, typ, inner(num, typ, value))
		}
	}
	return dst
}

// appendField appends a field that holds what leaves of a nested message.
func (n *node) appendField(dst []byte, num protowire.Number, typ protowire.Type, p []byte) []byte {
	dst = protowire.AppendTag(dst, num, typ)
	if typ == protowire.StartGroupType {
		return protowire.AppendTag(n.appendClean(dst, p), num, protowire.EndGroupType)
	}
	return protowire.AppendBytes(dst, n.appendClean(nil, p))
}
