package jsonl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// maxColumns bounds the number of columns of a file in which the names of members are data.
const maxColumns = 10000

// node is a member, or the record as a whole.
type node struct {
	name   string
	parent *node
	kids   []*node
	byName map[string]*node

	kinds    text.Kinds
	declared arrow.DataType
	json     bool // declared as json: one column, whatever it contains
	first    place
	expected bool // declared, so that it is a column even if it never occurs
}

// place is where a member first occurs, so that columns are in the order of the file,
// whichever goroutine found them.
type place struct {
	chunk  int64
	offset int
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.offset, b.offset))
}

// child returns the member of the given raw name, which hint may be, or nil.
func (n *node) child(name []byte, hint int) *node {
	if hint < len(n.kids) && n.kids[hint].name == string(name) {
		return n.kids[hint]
	}
	return n.byName[string(name)]
}

func (n *node) add(name string) *node {
	if n.byName == nil {
		n.byName = map[string]*node{}
	}
	k := &node{name: name, parent: n, first: place{chunk: 1 << 62}}
	n.byName[name] = k
	n.kids = append(n.kids, k)
	return k
}

func (n *node) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.name
	}
	return n.parent.path() + "." + n.name
}

// place says where a member is, in the order in which the members first occur: its name may be data.
// The path of one whose type the configuration declares is shown.
func (n *node) place() string {
	if n.expected {
		return n.path()
	}
	place := fmt.Sprintf("member %d", slices.Index(n.parent.kids, n)+1)
	if n.parent.parent != nil {
		place += " of " + n.parent.place()
	}
	return place
}

// at returns the node of a dotted path; missing nodes are created.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		k := n.byName[name]
		if k == nil {
			k = n.add(name)
		}
		n = k
	}
	return n
}

// clone copies the declared nodes.
func (n *node) clone(parent *node) *node {
	c := &node{name: n.name, parent: parent, declared: n.declared, json: n.json, expected: n.expected, first: n.first}
	for _, k := range n.kids {
		if c.byName == nil {
			c.byName = map[string]*node{}
		}
		kid := k.clone(c)
		c.kids = append(c.kids, kid)
		c.byName[k.name] = kid
	}
	return c
}

// merge adds the members that another goroutine has found.
func (n *node) merge(o *node) {
	n.kinds |= o.kinds
	if o.first.compare(n.first) < 0 {
		n.first = o.first
	}
	for _, k := range o.kids {
		mine := n.byName[k.name]
		if mine == nil {
			mine = n.add(k.name)
		}
		mine.merge(k)
	}
}

// surveyor examines the values of records.
type surveyor struct {
	root  *node
	chunk int64
	count int   // number of nodes
	valid int64 // lines that are objects
	p     []byte
	buf   []byte
}

// line adds the members of a record; a malformed record is ignored.
func (s *surveyor) line(from, to int) {
	i := members.Space(s.p[:to], from)
	if i == to || s.p[i] != '{' {
		return
	}
	p := s.p[:to]
	if end := members.SkipValue(p, i, 0); end < 0 || members.Space(p, end) != to {
		return
	}
	s.valid++
	s.object(s.root, i)
}

// object adds the members of the valid object at p[i] and returns its end.
func (s *surveyor) object(n *node, i int) int {
	p := s.p
	i = members.Space(p, i+1)
	for hint := 0; p[i] != '}'; hint++ {
		end := members.SkipString(p, i)
		k := s.member(n, i, end, hint)
		i = members.Space(p, members.Space(p, end)+1)
		switch {
		case k == nil:
			i = members.SkipValue(p, i, 0)
		case p[i] == '{' && !k.json && k.declared == nil:
			k.kinds |= text.SeenObject
			i = s.object(k, i)
		default:
			end := members.SkipValue(p, i, 0)
			k.kinds |= kindOf(p[i:end])
			i = end
		}
		i = members.Space(p, i)
		if p[i] == ',' {
			i = members.Space(p, i+1)
		}
	}
	return i + 1
}

// member finds or adds the member whose name is the string p[i:end]; nil if there are
// too many.
func (s *surveyor) member(n *node, i, end, hint int) *node {
	name := members.Name(s.p, i, end, &s.buf)
	k := n.child(name, hint)
	if k == nil {
		if s.count++; s.count > 2*maxColumns {
			return nil
		}
		k = n.add(string(name))
	}
	if at := (place{s.chunk, i}); at.compare(k.first) < 0 {
		k.first = at
	}
	return k
}

// kindOf returns the kind of a valid JSON value.
func kindOf(v []byte) text.Kinds {
	switch v[0] {
	case '"':
		return text.SeenString
	case 't', 'f':
		return text.SeenBool
	case 'n':
		return text.SeenNull
	case '[', '{':
		return text.SeenNested
	}
	switch n, wide := text.Classify(v); n {
	case text.Integer:
		if wide {
			return text.SeenInteger | text.SeenWide
		}
		return text.SeenInteger
	case text.Real:
		return text.SeenReal
	}
	return text.SeenNested // beyond int64 or float64: kept as text
}

// settle decides the columns and their types.
func (n *node) settle() (*members.Tree, *microdata.Schema, error) {
	s := settling{tree: members.NewTree(), schema: &microdata.Schema{}, seen: map[string]bool{}}
	if err := s.members(n, members.Root); err != nil {
		return nil, nil, err
	}
	return s.tree, s.schema, nil
}

type settling struct {
	tree   *members.Tree
	schema *microdata.Schema
	seen   map[string]bool
}

// members adds those of the object n, which is number id of the tree.
func (s *settling) members(n *node, id int) error {
	slices.SortStableFunc(n.kids, func(a, b *node) int { return a.first.compare(b.first) })
	for _, k := range n.kids {
		scalar := k.kinds &^ (text.SeenObject | text.SeenNull)
		switch {
		case len(k.kids) > 0 && k.expected:
			return fmt.Errorf("types: %s is declared, and so is a member that lies within it", k.path())
		case scalar != 0 && (k.kinds&text.SeenObject != 0 || len(k.kids) > 0) && !k.holdsDeclared():
			return fmt.Errorf(
				"%s is an object in some records and not in others; declare it under types as json to keep it as it is", k.place())
		case k.kinds&text.SeenObject == 0 && len(k.kids) == 0:
			if err := s.column(k, id); err != nil {
				return err
			}
		default:
			if err := s.members(k, s.tree.Object(id, k.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *settling) column(n *node, in int) error {
	name := n.path()
	if s.seen[name] {
		return fmt.Errorf("%s: two members have the same path, one of them with a dot in its name", n.place())
	}
	if s.seen[name] = true; len(s.seen) > maxColumns {
		return fmt.Errorf(
			"the records have more than %d members; if names of members are data, declare the member that holds them as json under types", maxColumns)
	}
	t, json := n.settleType()
	s.tree.Column(in, n.name, json)
	s.schema.Fields = append(s.schema.Fields, microdata.Field{
		Name: name, Type: t, Nullable: true, Unseen: n.declared == nil && n.kinds&^text.SeenNull == 0,
	})
	return nil
}

// holdsDeclared reports whether a member within n is declared: then n is an
// object, and a record in which it is not one is malformed.
func (n *node) holdsDeclared() bool {
	return slices.ContainsFunc(n.kids, func(k *node) bool { return k.expected || k.holdsDeclared() })
}

// settleType returns the type of a column, and whether it holds JSON text.
func (n *node) settleType() (t arrow.DataType, json bool) {
	if n.declared != nil {
		return n.declared, false
	}
	t = n.kinds.Type()
	scalar := n.kinds &^ text.SeenNull
	if n.json || t.ID() == arrow.STRING && scalar != 0 && scalar != text.SeenString {
		return arrow.BinaryTypes.String, true
	}
	return t, false
}
