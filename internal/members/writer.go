package members

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func sortEdits(edits []edit) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.Start, b.Start) })
}

var (
	style = text.Style{Null: "null", String: Quote, Literals: true}
	// asIs is for text that is JSON already.
	asIs = text.Style{Null: "null", String: func(dst []byte, s string) []byte { return append(dst, s...) }, Literals: true}
)

// Writer makes JSON objects of what leaves.
type Writer struct {
	layout *microdata.Layout
	tree   *Tree // of records that are carried, else nil
	texts  []bool
	frame  []string
}

// NewWriter prepares the release of a layout. Where tree is not nil the blocks
// carry Records of a plan of this tree. texts, which may be nil, says which
// columns of the layout's schema hold JSON text, which is written as it is and not in
// quotes.
func NewWriter(layout *microdata.Layout, tree *Tree, texts connectors.JSONTexts) (*Writer, error) {
	w := &Writer{layout: layout, tree: tree, texts: make([]bool, len(layout.Release)), frame: Frame(layout.Release)}
	for i, o := range layout.Release {
		w.texts[i] = texts != nil && texts.JSONText(o.Source)
		if o.Column < 0 && tree == nil {
			return nil, fmt.Errorf("column %s: is not decoded, and this output cannot carry it", o.Field.Name)
		}
	}
	return w, nil
}

// Cells are the columns of a block as text.
type Cells struct {
	columns []text.Cells
	carried *Records // nil: rows are made of the columns alone
}

// Fill makes c the text of a block: of its masked columns where it carries its
// records, else of all.
func (w *Writer) Fill(c *Cells, b *microdata.Block) error {
	if len(c.columns) < len(w.layout.Release) {
		c.columns = make([]text.Cells, len(w.layout.Release))
	}
	c.carried = nil
	if w.tree != nil {
		c.carried, _ = b.Carried.(*Records)
	}
	for i, o := range w.layout.Release {
		if c.carried != nil && !o.Masked {
			continue
		}
		if o.Column < 0 {
			return fmt.Errorf("column %s: the block carries no text of the source", o.Field.Name)
		}
		st := &style
		if w.texts[i] {
			st = &asIs
		}
		if u, ok := b.Columns[o.Column].OutArray().(*array.DenseUnion); ok {
			if err := fillUnion(&c.columns[i], u); err != nil {
				return fmt.Errorf("column %s: %w", o.Field.Name, err)
			}
		} else if err := c.columns[i].Fill(&b.Columns[o.Column], o, st); err != nil {
			return err
		}
	}
	return nil
}

// fillUnion writes values of any of several types, one a record.
func fillUnion(c *text.Cells, u *array.DenseUnion) error {
	children := make([]text.Cells, u.NumFields())
	for i := range children {
		col := microdata.Column{Array: u.Field(i)}
		if err := children[i].Fill(&col, microdata.Output{}, &style); err != nil {
			return err
		}
	}
	c.Buf, c.Ends = c.Buf[:0], c.Ends[:0]
	for r := range u.Len() {
		c.Buf = append(c.Buf, children[u.ChildID(r)].At(int(u.ValueOffset(r)))...)
		c.Ends = append(c.Ends, uint32(len(c.Buf)))
	}
	return nil
}

// Size is about how many bytes the records of the block take.
func (w *Writer) Size(c *Cells, b *microdata.Block) int {
	size := 0
	if c.carried == nil {
		for i := range w.layout.Release {
			size += len(c.columns[i].Buf)
		}
		for _, f := range w.frame {
			size += len(f) * b.N
		}
		return size
	}
	for i, o := range w.layout.Release {
		if o.Masked {
			size += len(c.columns[i].Buf)
		}
	}
	size += len(c.carried.Data)
	for i := range c.carried.edits {
		e := &c.carried.edits[i]
		size -= int(e.End - e.Start)
	}
	return size
}

// Append appends record r of the block: where it is carried all of its span,
// with its edits.
func (w *Writer) Append(dst []byte, c *Cells, r int) []byte {
	if c.carried != nil {
		return w.patch(dst, c, c.carried, r)
	}
	last := len(w.layout.Release)
	for i := range last {
		dst = append(dst, w.frame[i]...)
		dst = append(dst, c.columns[i].At(r)...)
	}
	return append(dst, w.frame[last]...)
}

func (w *Writer) patch(dst []byte, c *Cells, from *Records, r int) []byte {
	data := from.Data
	first := uint32(0)
	if r > 0 {
		first = from.last[r-1]
	}
	mine := from.edits[first:from.last[r]]
	at := from.Spans[r].Start
	for k := 0; k < len(mine); k++ {
		ed := &mine[k]
		dst = append(dst, data[at:ed.Start]...)
		at = ed.End
		switch {
		case ed.out == cutOut:
		case ed.into == nowhere:
			value := c.columns[ed.out].At(r)
			if came := data[ed.Start:ed.End]; IsNull(value) && IsNull(came) {
				value = came
			}
			dst = append(dst, value...)
		default:
			n := 1
			for k+n < len(mine) && mine[k+n].into == ed.into {
				n++
			}
			dst = w.fill(dst, c, data, mine[k:k+n], r)
			k += n - 1
		}
	}
	return append(dst, data[at:from.Spans[r].End]...)
}

// fill writes the members that an object lacked and that a mask has given a
// value.
func (w *Writer) fill(dst []byte, c *Cells, data []byte, edits []edit, r int) []byte {
	var filled []edit
	for _, ed := range edits {
		if !IsNull(c.columns[ed.out].At(r)) {
			filled = append(filled, ed)
		}
	}
	first := edits[0]
	if len(filled) == 0 {
		return append(dst, data[first.Start:first.End]...)
	}
	if first.whole {
		dst = append(dst, '{')
	}
	comma := first.comma
	var open []*node
	for _, ed := range filled {
		leaf := w.tree.columns[w.layout.Release[ed.out].Source]
		var inside []*node
		for n := leaf.parent; n.id != int(first.into); n = n.parent {
			inside = append(inside, n)
		}
		slices.Reverse(inside)
		k := 0
		for k < len(open) && k < len(inside) && open[k] == inside[k] {
			k++
		}
		for range open[k:] {
			dst = append(dst, '}')
		}
		if comma {
			dst = append(dst, ',')
		}
		for _, n := range inside[k:] {
			dst = append(append(dst, n.quoted...), ':', '{')
		}
		dst = append(append(dst, leaf.quoted...), ':')
		dst = append(dst, c.columns[ed.out].At(r)...)
		open, comma = inside, true
	}
	for range open {
		dst = append(dst, '}')
	}
	if first.whole {
		dst = append(dst, '}')
	}
	return dst
}
