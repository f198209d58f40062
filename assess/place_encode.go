package assess

import "math"

// numbering gives each origin a number, in the order in which they are added.
type numbering struct {
	of   map[origin]uint64
	list []origin
	last *origin
}

func newNumbering() *numbering { return &numbering{of: map[origin]uint64{}} }

func (n *numbering) add(o *origin) {
	if o == n.last {
		return
	}
	n.last = o
	if _, known := n.of[*o]; !known {
		n.of[*o] = uint64(len(n.list))
		n.list = append(n.list, *o)
	}
}

// encode writes the origins, by number.
func (n *numbering) encode(e *encoder) {
	e.uint(uint64(len(n.list)))
	for _, o := range n.list {
		e.text(o.scope)
		e.int(int64(o.stream))
	}
}

// decode reads what a numbering wrote: the origins by number.
func (s *origins) decode(d *decoder) []*origin {
	list := make([]*origin, d.count(16))
	for i := range list {
		scope, stream := d.text(), d.int()
		if stream < 0 || stream > math.MaxInt32 {
			d.fail()
			return nil
		}
		list[i] = s.of(scope, int32(stream))
	}
	return list
}

// place writes where a record lies, its row as the step from that of the record
// written before, which is a few bytes where records stand in order.
func (n *numbering) place(e *encoder, before int64, from *origin, row int64) {
	e.short(n.of[*from])
	e.signed(row - before)
}

// decodePlace reads a place that follows another, of which at is the row.
func decodePlace(d *decoder, at *int64, from []*origin) *origin {
	number := d.short()
	*at += d.signed()
	if number >= uint64(len(from)) || *at < 0 {
		d.fail()
		return nil
	}
	return from[number]
}
