package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// levels are the levels and values of one leaf for the records of a block.
type levels struct {
	rep, def []uint8 // rep is nil if the leaf does not repeat
	parts    []part
}

// part is a run of values of one unit.
type part struct {
	v       *values
	from, n int
}

// gather collects the levels and values of segments.
func gather(segs []segment) levels {
	var ls levels
	for _, s := range segs {
		v := &s.u.v
		from, to := s.from, s.from+s.n
		ls.parts = append(ls.parts, part{v, int(v.rowValues[from]), int(v.rowValues[to] - v.rowValues[from])})
		if v.rowLevels != nil {
			from, to = int(v.rowLevels[from]), int(v.rowLevels[to])
			ls.rep = append(ls.rep, v.rep[from:to]...)
		}
		ls.def = append(ls.def, v.def[from:to]...)
	}
	return ls
}

// assembler builds Arrow arrays from the levels of a nested column (Melnik et al.
// 2010, section 4.3, by columns).
type assembler struct {
	first  int // index of the column's first leaf in the file
	leaves []levels
}

// slots calls do for every slot of a node: an entry is a slot if its repetition level is
// at most rep and its definition level at least def.
func slots(ls levels, rep, def uint8, do func(i int)) {
	for i, d := range ls.def {
		if d >= def && (ls.rep == nil || ls.rep[i] <= rep) {
			do(i)
		}
	}
}

func (a *assembler) array(n *node, rep, def uint8) (arrow.Array, error) {
	ls := a.leaves[n.leaves[0].index-a.first]
	if n.kind == leafKind {
		return a.leaf(n.leaf, ls, def)
	}
	valid, count, nulls := n.validity(ls, rep, def)
	buffers := []*memory.Buffer{valid}
	length := count // of the children
	if n.kind != structKind {
		offsets := n.offsets(ls, rep, def)
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)))
		rep, def, length = n.elemRep, n.elemDef, int(offsets[len(offsets)-1])
	}
	children, err := a.children(n, rep, def, length)
	if err != nil {
		return nil, err
	}
	if n.kind == mapKind {
		entries := n.typ.(*arrow.MapType).Elem()
		d := array.NewData(entries, length, []*memory.Buffer{nil}, children, 0, 0)
		children = []arrow.ArrayData{d}
	}
	return array.MakeFromData(array.NewData(n.typ, count, buffers, children, nulls, 0)), nil
}

// validity returns which values of a node are not null; the bitmap is nil if none is null.
func (n *node) validity(ls levels, rep, def uint8) (buffer *memory.Buffer, count, nulls int) {
	var valid []byte
	slots(ls, rep, def, func(i int) {
		if count%8 == 0 {
			valid = append(valid, 0)
		}
		if ls.def[i] >= n.def {
			valid[count/8] |= 1 << (count % 8)
		} else {
			nulls++
		}
		count++
	})
	if nulls > 0 {
		buffer = memory.NewBufferBytes(valid)
	}
	return buffer, count, nulls
}

// offsets returns the index at which the elements of each list begin, and finally the index at
// which the last ones end.
func (n *node) offsets(ls levels, rep, def uint8) (offsets []int32) {
	elements := int32(0)
	for i, d := range ls.def {
		r := uint8(0)
		if ls.rep != nil {
			r = ls.rep[i]
		}
		if d >= def && r <= rep {
			offsets = append(offsets, elements)
		}
		if d >= n.elemDef && r <= n.elemRep {
			elements++
		}
	}
	return append(offsets, elements)
}

// children assembles the children of a node, all of which must have the given length.
func (a *assembler) children(n *node, rep, def uint8, length int) (children []arrow.ArrayData, err error) {
	for _, c := range n.children {
		child, err := a.array(c, rep, def)
		if err != nil {
			return nil, err
		}
		children = append(children, child.Data())
	}
	for _, c := range children[1:] {
		if c.Len() != children[0].Len() {
			return nil, fmt.Errorf("the fields of column %s do not have the same records", n.name)
		}
	}
	switch {
	case children[0].Len() == length:
		return children, nil
	case n.kind == structKind:
		return nil, fmt.Errorf("the fields of column %s do not have the same records", n.name)
	}
	return nil, fmt.Errorf("the elements of column %s do not fit its records", n.name)
}

func (a *assembler) leaf(l *leaf, ls levels, def uint8) (arrow.Array, error) {
	c := newColumn(l, len(ls.def))
	c.reserve(len(ls.def), func(add func(v *values, i int) bool) {
		for _, p := range ls.parts {
			for i := range p.n {
				if !add(p.v, p.from+i) {
					return
				}
			}
		}
	})
	if c.err != nil {
		return nil, c.err
	}
	p, i := 0, 0
	for _, d := range ls.def {
		if d < def {
			continue // no slot, and no value
		}
		if d < l.maxDef {
			c.null()
			continue
		}
		for p < len(ls.parts) && i == ls.parts[p].n {
			p, i = p+1, 0
		}
		if p == len(ls.parts) {
			return nil, fmt.Errorf("column %s has fewer values than its levels say", joinPath(l.path))
		}
		c.value(ls.parts[p].v, ls.parts[p].from+i)
		i++
	}
	return c.array()
}

// nestedArray returns the array of a nested column.
func nestedArray(n *node, rows int, segs [][]segment) (arrow.Array, error) {
	a := assembler{first: n.leaves[0].index}
	for _, s := range segs {
		a.leaves = append(a.leaves, gather(s))
	}
	out, err := a.array(n, 0, 0)
	if err == nil && out.Len() != rows {
		return nil, fmt.Errorf("column %s has %d records of %d", n.name, out.Len(), rows)
	}
	return out, err
}
