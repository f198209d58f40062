package fileorder

import (
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Number adds the origins of the stretches to a numbering.
func (o *Order) Number(n *place.Numbering) {
	for _, l := range o.levels {
		for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
			n.Add(&place.Origin{Scope: k.of.Scope, Stream: k.of.Stream})
		}
	}
}

// Encode writes the levels: stretches in the order of place.
func (o *Order) Encode(e *wire.Encoder, from *place.Numbering) {
	e.Uint(uint64(o.limit))
	e.Uint(uint64(len(o.levels)))
	for i := range o.levels {
		l := &o.levels[i]
		e.Uint(uint64(l.thin))
		e.Uint(uint64(len(l.stretches)))
		for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
			e.Short(from.Of[k.of])
			e.Short(uint64(k.index))
			bins := l.stretches[k]
			e.Short(uint64(len(bins)))
			for _, b := range bins {
				e.Short(uint64(b.n))
				switch {
				case b.n == 1:
					e.Floats(b.x, b.y)
				case b.n > 1:
					e.Floats(b.x, b.y, b.square)
				}
			}
		}
	}
}

// Decode reads what Encode wrote. Data beyond the encoded limits are a failure.
func (o *Order) Decode(d *wire.Decoder, from []*place.Origin) {
	limit, levels := d.Uint(), d.Count(16)
	if limit != uint64(o.limit) || levels < 1 || levels > orderLevels {
		d.Failed = true
		return
	}
	o.levels = o.levels[:0]
	for range levels {
		thin := d.Uint()
		if thin > 64 {
			d.Failed = true
			return
		}
		l := newOrderLevel(int(thin))
		for range d.Count(3) {
			number, index, n := d.Short(), d.Short(), d.Short()
			if d.Failed || number >= uint64(len(from)) || index >= 1<<55 || n == 0 || n > stretchLength {
				d.Failed = true
				return
			}
			key := stretchKey{*from[number], int64(index)}
			if _, twice := l.stretches[key]; twice || !l.keeps(key) {
				d.Failed = true
				return
			}
			l.stretches[key] = l.decodeBins(d, int(n))
		}
		if l.bins > o.limit {
			d.Failed = true
		}
		o.levels = append(o.levels, l)
	}
}

func (l *orderLevel) decodeBins(d *wire.Decoder, n int) []orderBin {
	bins := make([]orderBin, n)
	for i := range bins {
		b := &bins[i]
		records := d.Short()
		if b.n = float64(records); records > 1<<53 {
			d.Failed = true
		}
		if records > 0 {
			b.x, b.y = d.Float(), d.Float()
			l.bins++
		}
		if records > 1 {
			b.square = d.Float()
		}
		if d.Failed || !cell.Finite(b.x) || !cell.Finite(b.y) || !(b.square >= 0) {
			d.Failed = true
			return nil
		}
	}
	return bins
}
