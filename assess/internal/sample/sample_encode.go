package sample

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Number adds the origins of the records to a numbering.
func (e *Edge) Number(n *place.Numbering) {
	e.Prune()
	for _, x := range e.Entries {
		n.Add(x.From)
	}
}

// Encode writes the records, each with the difference of its place from the one before; from
// numbers the origins.
func (s *Edge) Encode(e *wire.Encoder, from *place.Numbering) {
	e.Uint(uint64(len(s.Entries)))
	before := int64(0)
	for _, x := range s.Entries {
		e.Floats(x.X)
		from.Place(e, before, x.From, x.Row)
		before = x.Row
		e.Floats(x.Values...)
	}
}

// Decode reads what Encode wrote, for records of width values.
func (e *Edge) Decode(d *wire.Decoder, width int, from []*place.Origin) {
	n := d.Count(8*(1+width) + 2)
	if n > e.r {
		d.Failed = true
		return
	}
	row := int64(0)
	for range n {
		x := Extreme{X: d.Float()}
		x.From = place.DecodePlace(d, &row, from)
		x.Row = row
		x.Values = make([]float64, width)
		for i := range x.Values {
			x.Values[i] = d.Float()
		}
		if !cell.Finite(x.X) || d.Failed {
			d.Failed = true
			return
		}
		e.push(x)
	}
	e.Prune()
}

// Number adds the origins of the records to a numbering.
func (s *Sample) Number(n *place.Numbering) {
	for _, o := range s.From {
		n.Add(o)
	}
}

// Encode writes a settled sample; from numbers the origins.
func (s *Sample) Encode(e *wire.Encoder, from *place.Numbering) {
	e.Uint(uint64(s.Limit))
	e.Uint(uint64(s.Len()))
	e.Words(s.Priority)
	before := int64(0)
	for i, row := range s.Row {
		from.Place(e, before, s.From[i], row)
		before = row
	}
	for _, v := range s.Values {
		e.Floats(v...)
	}
}

// ByPriority returns the records of a sample in ascending order of priority, ties in the order of place. It settles the
// sample.
func (s *Sample) ByPriority() *Sample {
	s.Settle()
	order := ascending(s.Len())
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.Priority[a], s.Priority[b]) })
	to := &Sample{K: s.K, Limit: s.Limit, Values: make([][]float64, len(s.Values))}
	to.Priority = permuted(make([]uint32, len(order)), s.Priority, order)
	to.From = permuted(make([]*place.Origin, len(order)), s.From, order)
	to.Row = permuted(make([]int64, len(order)), s.Row, order)
	for c, v := range s.Values {
		to.Values[c] = permuted(make([]float64, len(order)), v, order)
	}
	return to
}

// Between returns the records of a settled sample, or of ByPriority, from index first to the one before end, for
// Encode.
func (s *Sample) Between(first, end int) *Sample {
	part := &Sample{Limit: s.Limit, Priority: s.Priority[first:end], From: s.From[first:end], Row: s.Row[first:end]}
	for _, v := range s.Values {
		part.Values = append(part.Values, v[first:end])
	}
	return part
}

// Decode reads what Encode wrote.
func (s *Sample) Decode(d *wire.Decoder, from []*place.Origin) {
	limit := d.Uint()
	if limit > math.MaxUint32 {
		d.Failed = true
		return
	}
	s.Limit = uint32(limit)
	n := d.Count(6 + 8*len(s.Values))
	for _, p := range d.Words(n) {
		if p > s.Limit {
			d.Failed = true
			return
		}
		s.Priority = append(s.Priority, p)
	}
	row := int64(0)
	for range n {
		s.From = append(s.From, place.DecodePlace(d, &row, from))
		s.Row = append(s.Row, row)
	}
	for i := range s.Values {
		s.short[i] = multiples{per: -1}
		s.Values[i] = make([]float64, n)
		for j := range s.Values[i] {
			v := d.Float()
			if math.IsInf(v, 0) {
				d.Failed = true
				return
			}
			s.Values[i][j] = v
		}
	}
}
