package parquet

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// kind says how an Arrow array is built from a node's levels.
type kind uint8

const (
	leafKind   kind = iota
	structKind      // a group
	listKind        // children[0] is the element
	mapKind         // children[0] is the key, children[1] the value
)

// node is one field of a file's schema with its part of the tree of levels
// (Dremel, Melnik et al. 2010). The wrapper groups that lists and maps have in
// the file are part of the node; they are kept in elements.
type node struct {
	kind     kind
	name     string
	elements []schemaElement // of the node and all below it, in the file's order
	children []*node
	nullable bool

	// A value of the node exists if its definition level is at least def. For lists
	// and maps, an element exists from elemDef on, and repeats at level elemRep.
	def, elemDef, elemRep uint8

	leaf   *leaf // of a leafKind
	leaves []*leaf
	typ    arrow.DataType
}

// leaf is a column of primitive values.
type leaf struct {
	index          int // among the file's leaves
	path           []string
	elem           schemaElement
	phys           format.Type
	width          int // bytes of a value; 0 for BYTE_ARRAY; booleans are held as a byte
	maxRep, maxDef uint8
	typ            arrow.DataType

	starts []uint8 // for each repetition level: the definition level from which on there is an element
	groups []group // the groups that contain it and other leaves, from the top
}

// group is a node of the schema above a leaf.
type group struct {
	at       int // among the schema's elements
	rep, def uint8
}

const maxDepth = 64 // of a schema; Arrow and Parquet writers stay far below

// treeOf returns the tree of a file's schema: its top-level fields, and all leaves in
// order.
func treeOf(elements []schemaElement) (roots []*node, leaves []*leaf, err error) {
	if len(elements) == 0 {
		return nil, nil, errors.New("the schema is empty")
	}
	p := &treeParser{elements: elements, at: 1}
	n := int(elements[0].NumChildren.V)
	if n < 0 || n > len(elements)-1 {
		return nil, nil, errors.New("the schema's root has more fields than the schema")
	}
	for range n {
		r, err := p.field(nil, 0, 0, 0)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, r)
	}
	if p.at != len(elements) {
		return nil, nil, errors.New("the schema has fields outside its root")
	}
	w := &groupWalk{elements: elements, at: 1, leaves: p.leaves}
	for range n {
		w.element(nil, nil, group{})
	}
	return roots, p.leaves, nil
}

// groupWalk goes through a parsed schema, element by element.
type groupWalk struct {
	elements []schemaElement
	at       int
	leaves   []*leaf // the remaining ones
}

func (w *groupWalk) element(starts []uint8, groups []group, in group) {
	e := &w.elements[w.at]
	in.at = w.at
	w.at++
	switch e.RepetitionType.V {
	case format.Optional:
		in.def++
	case format.Repeated:
		in.def++
		in.rep++
		starts = append(starts[:len(starts):len(starts)], in.def)
	}
	if !e.NumChildren.Valid || e.NumChildren.V == 0 {
		w.leaves[0].starts, w.leaves[0].groups = starts, groups
		w.leaves = w.leaves[1:]
		return
	}
	groups = append(groups[:len(groups):len(groups)], in)
	for range e.NumChildren.V {
		w.element(starts, groups, in)
	}
}

type treeParser struct {
	elements []schemaElement
	at       int
	leaves   []*leaf
}

func (p *treeParser) next(path []string) (schemaElement, []string, error) {
	if p.at >= len(p.elements) {
		return schemaElement{}, nil, errors.New("the schema ends in the middle of a group")
	}
	e := p.elements[p.at]
	p.at++
	return e, append(path[:len(path):len(path)], e.Name), nil
}

// field parses one field below a parent with the given levels. A repeated field
// without the annotation of a list is a list of required elements.
func (p *treeParser) field(path []string, rep, def uint8, depth int) (*node, error) {
	start, firstLeaf := p.at, len(p.leaves)
	e, path, err := p.next(path)
	if err != nil {
		return nil, err
	}
	n := &node{name: e.Name}
	switch e.RepetitionType.V {
	case format.Optional:
		def++
		n.nullable = true
	case format.Repeated:
		n.kind, n.def, n.elemDef, n.elemRep = listKind, def, def+1, rep+1
		inner, err := p.body(e, path, rep+1, def+1, depth)
		if err != nil {
			return nil, err
		}
		n.children = []*node{inner}
		p.finish(n, start, firstLeaf)
		return n, nil
	}
	body, err := p.body(e, path, rep, def, depth)
	if err != nil {
		return nil, err
	}
	body.nullable = n.nullable
	p.finish(body, start, firstLeaf)
	return body, nil
}

// body parses the part of the schema below an element whose own levels are known.
func (p *treeParser) body(e schemaElement, path []string, rep, def uint8, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is nested more than %d deep", maxDepth)
	}
	start, firstLeaf := p.at-1, len(p.leaves)
	n := &node{name: e.Name, def: def}
	switch children := int(e.NumChildren.V); {
	case !e.NumChildren.Valid || children == 0 && e.Type.Valid:
		if !e.Type.Valid {
			return nil, fmt.Errorf("element %d of the schema has neither a type nor fields", start)
		}
		l, err := newLeaf(e, path, rep, def)
		if err != nil {
			return nil, fmt.Errorf("element %d of the schema: %w", start, err)
		}
		l.index = len(p.leaves)
		p.leaves = append(p.leaves, l)
		n.leaf = l
	case children < 0 || children > len(p.elements)-p.at:
		return nil, fmt.Errorf("element %d of the schema has more fields than the schema", start)
	case children == 1 && isList(e) && p.elements[p.at].RepetitionType.V == format.Repeated:
		if err := p.list(n, path, rep, def, depth); err != nil {
			return nil, err
		}
	case children == 1 && isMap(e) && p.elements[p.at].RepetitionType.V == format.Repeated &&
		p.elements[p.at].NumChildren.V == 2:
		if err := p.mapping(n, path, rep, def, depth); err != nil {
			return nil, err
		}
	case children == 0:
		return nil, fmt.Errorf("element %d of the schema is a group without fields", start)
	default:
		n.kind = structKind
		for range children {
			c, err := p.field(path, rep, def, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, c)
		}
	}
	p.finish(n, start, firstLeaf)
	return n, nil
}

// list parses the repeated field of a list: the group around an element, or, from old
// writers, the element itself (the rules of LogicalTypes.md).
func (p *treeParser) list(n *node, path []string, rep, def uint8, depth int) error {
	n.kind, n.elemDef, n.elemRep = listKind, def+1, rep+1
	e, inner, err := p.next(path)
	if err != nil {
		return err
	}
	var c *node
	if e.NumChildren.V == 1 && e.Name != "array" && e.Name != n.name+"_tuple" {
		c, err = p.field(inner, rep+1, def+1, depth+1)
	} else {
		c, err = p.body(e, inner, rep+1, def+1, depth+1)
	}
	n.children = []*node{c}
	return err
}

func (p *treeParser) mapping(n *node, path []string, rep, def uint8, depth int) error {
	n.kind, n.elemDef, n.elemRep = mapKind, def+1, rep+1
	_, inner, err := p.next(path)
	if err != nil {
		return err
	}
	for range 2 {
		c, err := p.field(inner, rep+1, def+1, depth+1)
		if err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	return nil
}

func (p *treeParser) finish(n *node, start, firstLeaf int) {
	n.elements = p.elements[start:p.at]
	n.leaves = p.leaves[firstLeaf:]
	switch n.kind {
	case leafKind:
		n.typ = n.leaf.typ
	case structKind:
		fields := make([]arrow.Field, len(n.children))
		for i, c := range n.children {
			fields[i] = c.arrowField(c.name)
		}
		n.typ = arrow.StructOf(fields...)
	case listKind:
		n.typ = arrow.ListOfField(n.children[0].arrowField("element"))
	case mapKind:
		m := arrow.MapOf(n.children[0].typ, n.children[1].typ)
		m.SetItemNullable(n.children[1].nullable)
		n.typ = m
	}
}

func (n *node) arrowField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: n.typ, Nullable: n.nullable}
}

// flat reports whether the node is a top-level column with at most one primitive value per record.
func (n *node) flat() bool { return n.kind == leafKind }

func (n *node) field() microdata.Field {
	return microdata.Field{Name: n.name, Type: n.typ, Nullable: n.nullable}
}

const (
	convertedMap         = 1
	convertedMapKeyValue = 2
	convertedList        = 3
)

func isList(e schemaElement) bool {
	_, ok := e.LogicalType.Value.(*format.ListType)
	return ok || e.ConvertedType.Valid && e.ConvertedType.V == convertedList
}

func isMap(e schemaElement) bool {
	_, ok := e.LogicalType.Value.(*format.MapType)
	return ok || e.ConvertedType.Valid && (e.ConvertedType.V == convertedMap || e.ConvertedType.V == convertedMapKeyValue)
}
