package place

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Numbering gives each origin a number, in the order in which they are added.
type Numbering struct {
	Of   map[Origin]uint64
	list []Origin
	last *Origin
}

// NewNumbering returns an empty one.
func NewNumbering() *Numbering { return &Numbering{Of: map[Origin]uint64{}} }

// Add numbers an origin that has no number yet.
func (n *Numbering) Add(o *Origin) {
	if o == n.last {
		return
	}
	n.last = o
	if _, known := n.Of[*o]; !known {
		n.Of[*o] = uint64(len(n.list))
		n.list = append(n.list, *o)
	}
}

// Encode writes the origins, by number.
func (n *Numbering) Encode(e *wire.Encoder) {
	e.Uint(uint64(len(n.list)))
	for _, o := range n.list {
		e.Text(o.Scope)
		e.Int(int64(o.Stream))
	}
}

// Decode reads what a numbering wrote: the origins by number.
func (s *Origins) Decode(d *wire.Decoder) []*Origin {
	list := make([]*Origin, d.Count(16))
	for i := range list {
		scope, stream := d.Text(), d.Int()
		if stream < 0 || stream > math.MaxInt32 {
			d.Fail()
			return nil
		}
		list[i] = s.Of(scope, int32(stream))
	}
	return list
}

// Place writes the place of a record: its row is written as the difference from that of the
// record written before, which takes few bytes if records are in order.
func (n *Numbering) Place(e *wire.Encoder, before int64, from *Origin, row int64) {
	e.Short(n.Of[*from])
	e.Signed(row - before)
}

// DecodePlace reads the place after one with row at, and sets at to its row.
func DecodePlace(d *wire.Decoder, at *int64, from []*Origin) *Origin {
	number := d.Short()
	*at += d.Signed()
	if number >= uint64(len(from)) || *at < 0 {
		d.Fail()
		return nil
	}
	return from[number]
}
