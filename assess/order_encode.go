package assess

import (
	"maps"
	"slices"
)

// number adds the origins of the stretches to a numbering.
func (o *order) number(n *numbering) {
	for _, l := range o.levels {
		for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
			n.add(&origin{k.of.scope, k.of.stream})
		}
	}
}

// encode writes the levels: stretches in the order of place.
func (o *order) encode(e *encoder, from *numbering) {
	e.uint(uint64(o.limit))
	e.uint(uint64(len(o.levels)))
	for i := range o.levels {
		l := &o.levels[i]
		e.uint(uint64(l.thin))
		e.uint(uint64(len(l.stretches)))
		for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
			e.short(from.of[k.of])
			e.short(uint64(k.index))
			bins := l.stretches[k]
			e.short(uint64(len(bins)))
			for _, b := range bins {
				e.short(uint64(b.n))
				switch {
				case b.n == 1:
					e.floats(b.x, b.y)
				case b.n > 1:
					e.floats(b.x, b.y, b.square)
				}
			}
		}
	}
}

// decode reads what encode wrote. What does not fit its own limits is a
// failure.
func (o *order) decode(d *decoder, from []*origin) {
	limit, levels := d.uint(), d.count(16)
	if limit != uint64(o.limit) || levels < 1 || levels > orderLevels {
		d.failed = true
		return
	}
	o.levels = o.levels[:0]
	for range levels {
		thin := d.uint()
		if thin > 64 {
			d.failed = true
			return
		}
		l := newOrderLevel(int(thin))
		for range d.count(3) {
			number, index, n := d.short(), d.short(), d.short()
			if d.failed || number >= uint64(len(from)) || index >= 1<<55 || n == 0 || n > stretchLength {
				d.failed = true
				return
			}
			key := stretchKey{*from[number], int64(index)}
			if _, twice := l.stretches[key]; twice || !l.keeps(key) {
				d.failed = true
				return
			}
			l.stretches[key] = d.orderBins(&l, int(n))
		}
		if l.bins > o.limit {
			d.failed = true
		}
		o.levels = append(o.levels, l)
	}
}

func (d *decoder) orderBins(l *orderLevel, n int) []orderBin {
	bins := make([]orderBin, n)
	for i := range bins {
		b := &bins[i]
		records := d.short()
		if b.n = float64(records); records > 1<<53 {
			d.failed = true
		}
		if records > 0 {
			b.x, b.y = d.float(), d.float()
			l.bins++
		}
		if records > 1 {
			b.square = d.float()
		}
		if d.failed || !finite(b.x) || !finite(b.y) || !(b.square >= 0) {
			d.failed = true
			return nil
		}
	}
	return bins
}
