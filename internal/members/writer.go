package members

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

var (
	style = text.Style{Null: "null", String: Quote, Literals: true}
	// asIs is for text that is JSON already.
	asIs = text.Style{Null: "null", String: func(dst []byte, s string) []byte { return append(dst, s...) }, Literals: true}
)

// Writer makes JSON objects of what leaves.
type Writer struct {
	layout *microdata.Layout
	list   []member // of records that are carried, else nil
	masked []int    // the places in list of the masked ones
	texts  []bool
	frame  []string
}

// NewWriter prepares the release of a layout. Where tree is not nil the blocks
// carry Records of a plan of this tree. texts, which may be nil, says which
// columns of the layout's schema hold JSON text, which is written as it is and not in
// quotes.
func NewWriter(layout *microdata.Layout, tree *Tree, texts func(column int) bool) (*Writer, error) {
	w := &Writer{layout: layout, texts: make([]bool, len(layout.Release)), frame: Frame(layout.Release)}
	for i, o := range layout.Release {
		w.texts[i] = texts != nil && texts(o.Source)
		if o.Column < 0 && tree == nil {
			return nil, fmt.Errorf("column %s: is not decoded, and this output cannot carry it", o.Field.Name)
		}
	}
	if tree != nil {
		w.list = tree.released(layout)
		for rank, m := range w.list {
			if m.masked {
				w.masked = append(w.masked, rank)
			}
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
	if w.list != nil {
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
	for _, rank := range w.masked {
		m := &w.list[rank]
		size += len(c.columns[m.out].Buf) + b.N*(len(m.leaf.quoted)+2)
	}
	return size + len(c.carried.Data)
}

// Append appends record r of the block. Of one that is carried, the values that no mask changes
// are those of its text; everything else is written anew, the same for each record: no white
// space between members, the members in the order of the columns, and each masked one there, null
// if it has no value. So nothing shows whether a mask has changed a value, set it missing, or put
// it where the source had none.
func (w *Writer) Append(dst []byte, c *Cells, r int) []byte {
	if c.carried != nil {
		return w.compose(dst, c, c.carried, r)
	}
	last := len(w.layout.Release)
	for i := range last {
		dst = append(dst, w.frame[i]...)
		dst = append(dst, c.columns[i].At(r)...)
	}
	return append(dst, w.frame[last]...)
}

// composing is a record that is being written.
type composing struct {
	dst   []byte
	open  []*node // the objects that are open within the record
	comma bool    // the innermost of them has a member
}

func (w *Writer) compose(dst []byte, c *Cells, from *Records, r int) []byte {
	first := uint32(0)
	if r > 0 {
		first = from.last[r-1]
	}
	k := composing{dst: append(dst, '{')}
	masked := w.masked
	for _, p := range from.kept[first:from.last[r]] {
		for len(masked) > 0 && masked[0] < int(p.rank) {
			k.add(&w.list[masked[0]], c.columns[w.list[masked[0]].out].At(r))
			masked = masked[1:]
		}
		k.add(&w.list[p.rank], from.Data[p.Start:p.End])
	}
	for _, rank := range masked {
		k.add(&w.list[rank], c.columns[w.list[rank].out].At(r))
	}
	for range k.open {
		k.dst = append(k.dst, '}')
	}
	return append(k.dst, '}')
}

// add writes a member, in its objects.
func (k *composing) add(m *member, value []byte) {
	if len(k.open)+len(m.inside) > 0 {
		k.enter(m.inside)
	}
	if k.comma {
		k.dst = append(k.dst, ',')
	}
	k.dst = append(k.dst, m.leaf.quoted...)
	k.dst = append(k.dst, ':')
	k.dst = append(k.dst, value...)
	k.comma = true
}

// enter closes the objects that are open and do not contain a member, and opens those that do.
func (k *composing) enter(inside []*node) {
	same := 0
	for same < len(k.open) && same < len(inside) && k.open[same] == inside[same] {
		same++
	}
	for range k.open[same:] {
		k.dst, k.comma = append(k.dst, '}'), true
	}
	for _, n := range inside[same:] {
		if k.comma {
			k.dst = append(k.dst, ',')
		}
		k.dst = append(append(k.dst, n.quoted...), ':', '{')
		k.comma = false
	}
	k.open = inside
}
