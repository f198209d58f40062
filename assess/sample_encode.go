package assess

import (
	"math"
)

// number adds the origins of the records to a numbering.
func (e *edge) number(n *numbering) {
	e.prune()
	for _, x := range e.entries {
		n.add(x.from)
	}
}

// encode writes the records, each at the step from the place of the one before; from
// numbers the origins.
func (s *edge) encode(e *encoder, from *numbering) {
	e.uint(uint64(len(s.entries)))
	before := int64(0)
	for _, x := range s.entries {
		e.floats(x.x)
		from.place(e, before, x.from, x.row)
		before = x.row
		e.floats(x.values...)
	}
}

// decode reads what encode wrote of records of so many values.
func (e *edge) decode(d *decoder, width int, from []*origin) {
	n := d.count(8*(1+width) + 2)
	if n > e.r {
		d.failed = true
		return
	}
	row := int64(0)
	for range n {
		x := extreme{x: d.float()}
		x.from = decodePlace(d, &row, from)
		x.row = row
		x.values = make([]float64, width)
		for i := range x.values {
			x.values[i] = d.float()
		}
		if !finite(x.x) || d.failed {
			d.failed = true
			return
		}
		e.push(x)
	}
	e.prune()
}

// number adds the origins of the records to a numbering.
func (s *sample) number(n *numbering) {
	for _, o := range s.from {
		n.add(o)
	}
}

// encode writes a settled sample; from numbers the origins.
func (s *sample) encode(e *encoder, from *numbering) {
	e.uint(uint64(s.limit))
	e.uint(uint64(s.len()))
	e.words(s.priority)
	before := int64(0)
	for i, row := range s.row {
		from.place(e, before, s.from[i], row)
		before = row
	}
	for _, v := range s.values {
		e.floats(v...)
	}
}

// decode reads what encode wrote.
func (s *sample) decode(d *decoder, from []*origin) {
	limit := d.uint()
	if limit > math.MaxUint32 {
		d.failed = true
		return
	}
	s.limit = uint32(limit)
	n := d.count(6 + 8*len(s.values))
	for _, p := range d.words(n) {
		if p > s.limit {
			d.failed = true
			return
		}
		s.priority = append(s.priority, p)
	}
	row := int64(0)
	for range n {
		s.from = append(s.from, decodePlace(d, &row, from))
		s.row = append(s.row, row)
	}
	for i := range s.values {
		s.values[i] = make([]float64, n)
		for j := range s.values[i] {
			v := d.float()
			if math.IsInf(v, 0) {
				d.failed = true
				return
			}
			s.values[i][j] = v
		}
	}
}
