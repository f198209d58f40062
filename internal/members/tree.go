package members

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Root is the number of the record as a whole in a Tree.
const Root = 0

// Tree says which members of the records are columns, in the order of the
// schema.
type Tree struct {
	// Declared says that all columns are those of a configuration. Otherwise they come from the
	// data, and the names of those that a plan does not use are not shown.
	Declared bool

	nodes   []*node // by id
	columns []*node
}

// node is a member, or the record as a whole.
type node struct {
	id     int
	name   string
	quoted string // the name as most records have it
	head   uint64 // its first eight bytes, those of mask
	mask   uint64
	parent *node
	column int // -1: an object whose members are columns
	kids   []*node
	byName map[string]*node
	text   bool
}

// NewTree returns a tree that has no columns yet.
func NewTree() *Tree {
	return &Tree{nodes: []*node{{column: -1}}}
}

func (t *Tree) add(in int, name string) *node {
	parent := t.nodes[in]
	n := &node{id: len(t.nodes), name: name, quoted: string(Quote(nil, name)), parent: parent, column: -1}
	var head, ones [8]byte
	for i := range copy(head[:], n.quoted) {
		ones[i] = 0xff
	}
	n.head, n.mask = binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(ones[:])
	if parent.byName == nil {
		parent.byName = map[string]*node{}
	}
	parent.byName[name] = n
	parent.kids = append(parent.kids, n)
	t.nodes = append(t.nodes, n)
	return n
}

// Object adds a member of the object in, which must not have one of this name
// yet: an object of which members are columns. It returns its number.
func (t *Tree) Object(in int, name string) int { return t.add(in, name).id }

// Column adds a member of the object in, which must not have one of this name
// yet: the next column. text says that it takes any value, as JSON text; else
// arrays and objects are rejected.
func (t *Tree) Column(in int, name string, text bool) {
	n := t.add(in, name)
	n.column, n.text = len(t.columns), text
	t.columns = append(t.columns, n)
}

// Find returns the member of the object in that has the given name. object is
// false for a column.
func (t *Tree) Find(in int, name string) (id int, object, ok bool) {
	n := t.nodes[in].byName[name]
	if n == nil {
		return 0, false, false
	}
	return n.id, n.column < 0, true
}

// Text reports whether a column holds JSON text.
func (t *Tree) Text(column int) bool { return t.columns[column].text }

func (n *node) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.name
	}
	return n.parent.path() + "." + n.name
}

// at reports whether p[i:] begins with the name of n in quotes and something
// follows it.
func (n *node) at(p []byte, i int) bool {
	if i+8 <= len(p) && binary.LittleEndian.Uint64(p[i:])&n.mask != n.head {
		return false
	}
	end := i + len(n.quoted)
	return end < len(p) && (len(n.quoted) <= 8 && i+8 <= len(p) || string(p[i:end]) == n.quoted)
}

// Name returns the name that the valid string data[i:end] says, in quotes there.
// buf is memory for one with escapes.
func Name(data []byte, i, end int, buf *[]byte) []byte {
	raw := data[i:end]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	*buf, _ = Unquote((*buf)[:0], raw)
	return *buf
}

// Plan says what becomes of each member in a pass.
type Plan struct {
	tree   *Tree
	layout *microdata.Layout
	carry  bool
	strict bool
	slots  int      // members whose values are decoded
	wants  []int    // slot by Layout.Read
	nodes  []action // by id
	next   []*node  // the member that is likely to follow, in the order of the tree
}

type action struct {
	slot  int32 // -1: not decoded
	named bool  // its path may be shown: it, or a member of it, is a column of the configuration
	rank  int32 // its place in Tree.released, if the records are carried and no mask changes it; else -1
}

// Plan prepares a pass. carry: the text of the records is kept for a Writer of
// the same tree. strict: a member that the tree does not have is noted in
// Records.Unlisted, where it is otherwise left out.
func (t *Tree) Plan(layout *microdata.Layout, carry, strict bool) *Plan {
	p := &Plan{tree: t, layout: layout, carry: carry, strict: strict, nodes: make([]action, len(t.nodes))}
	for i := range p.nodes {
		p.nodes[i] = action{slot: -1, rank: -1}
	}
	for _, w := range layout.Read {
		a := &p.nodes[t.columns[w.Field].id]
		if a.slot < 0 {
			a.slot = int32(p.slots)
			p.slots++
		}
		p.wants = append(p.wants, int(a.slot))
	}
	if carry {
		for rank, m := range t.released(layout) {
			if !m.masked {
				p.nodes[m.leaf.id].rank = int32(rank)
			}
		}
	}
	for _, n := range t.columns {
		used := t.Declared || p.nodes[n.id].slot >= 0
		for _, o := range layout.Release {
			used = used || t.columns[o.Source] == n
		}
		for ; used && n != nil; n = n.parent {
			p.nodes[n.id].named = true
		}
	}
	// By id: the member after this one; then by id: the first member of this one.
	p.next = make([]*node, 2*len(t.nodes))
	for _, n := range t.nodes {
		at := len(t.nodes) + n.id
		for _, k := range n.kids {
			p.next[at] = k
			at = k.id
		}
	}
	return p
}

// member is a column of a release as a member of the records.
type member struct {
	leaf   *node
	inside []*node // the objects in which it lies, the outermost first
	out    int     // index in Layout.Release
	masked bool
}

// released returns the members that are released, in the order in which they are written: that of
// the tree.
func (t *Tree) released(layout *microdata.Layout) []member {
	of := make(map[*node]int, len(layout.Release))
	for i, o := range layout.Release {
		of[t.columns[o.Source]] = i
	}
	var list []member
	var walk func(n *node, inside []*node)
	walk = func(n *node, inside []*node) {
		for _, k := range n.kids {
			if k.column < 0 {
				walk(k, append(slices.Clone(inside), k))
			} else if out, ok := of[k]; ok {
				list = append(list, member{leaf: k, inside: inside, out: out, masked: layout.Release[out].Masked})
			}
		}
	}
	walk(t.nodes[Root], nil)
	return list
}

// Carries reports whether the records are kept for a Writer.
func (p *Plan) Carries() bool { return p.carry }
