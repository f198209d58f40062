package protobuf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// knownFields holds the fields of message types in the newest schemas at the start.
// Released nested messages may contain only these.
type knownFields map[protoreflect.FullName]map[protoreflect.FieldNumber]protoreflect.Name

// add adds the message types that a field contains.
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

// has reports whether a field of a nested message may be released.
func (k knownFields) has(f protoreflect.FieldDescriptor) bool {
	name, ok := k[f.ContainingMessage().FullName()][f.Number()]
	return ok && name == f.Name()
}

// node is a type of nested messages, with the fields that are released.
type node struct {
	fields map[protowire.Number]*subfield
}

type subfield struct {
	wire     protowire.Type
	packable bool // may also be packed
	child    *node
}

// tree builds the nodes of the types that a released field of a writer's schema
// contains. It passes the fields that are not released to extra.
type tree struct {
	known knownFields
	nodes map[protoreflect.FullName]*node
	extra func(protoreflect.FieldDescriptor)
	top   protoreflect.FullName                   // the type of the topic's messages
	own   func(protoreflect.FieldDescriptor) bool // reports which of its fields are released if it is nested
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

// finding is the result of inspecting a nested message.
type finding uint8

const (
	clean  finding = iota
	dirty          // it has fields that are not released
	broken         // it is malformed
)

// maxDepth is the greatest nesting depth of messages, the same as in the usual readers
// of Protobuf.
const maxDepth = 100

// inspect checks a nested message.
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

// inner returns the message in a field's value, which ConsumeFieldValue has accepted.
func inner(num protowire.Number, typ protowire.Type, value []byte) []byte {
	if typ == protowire.StartGroupType {
		v, _ := protowire.ConsumeGroup(num, value)
		return v
	}
	v, _ := protowire.ConsumeBytes(value)
	return v
}

// appendClean appends the released part of a nested message. inspect must not have
// found the message broken.
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

// appendField appends a field with the released part of a nested message.
func (n *node) appendField(dst []byte, num protowire.Number, typ protowire.Type, p []byte) []byte {
	dst = protowire.AppendTag(dst, num, typ)
	if typ == protowire.StartGroupType {
		return protowire.AppendTag(n.appendClean(dst, p), num, protowire.EndGroupType)
	}
	return protowire.AppendBytes(dst, n.appendClean(nil, p))
}
