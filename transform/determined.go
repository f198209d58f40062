package transform

import (
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Determined is how much of a column of rounded dates follows from the release alone.
type Determined struct {
	Column  string
	Records int64 // with a released date that stands for one and the same original date in at least leastAlike records
	Of      int64
}

// leastAlike is how many records a released date must have for it to show that it stands for one original date. Of fewer nobody sees it.
const leastAlike = 5

// determinedCounts has, by released date, what it stands for.
type determinedCounts struct {
	mu   sync.Mutex
	made map[float64]*madeOf
}

type madeOf struct {
	first   float64
	records int64
	several bool
}

// roundsDates reports whether some mask replaces dates by the middle of their interval: R then is that of a snooper who does not know how the dates
// lie in it.
func roundsDates(masks []Spec, column string) bool {
	for _, m := range masks {
		if a, ok := ActionOf(m.Params, column, 1).(Recoding); ok && a.Midpoints && declared(m.Params).OnDays && slices.Contains(m.Params.Masks(), column) {
			return true
		}
	}
	return false
}

func (d *determinedCounts) add(b *microdata.Block, index int) {
	col := &b.Columns[index]
	x, y := col.Original, col.Out()
	if x.Values == nil {
		return // text
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil {
		d.made = map[float64]*madeOf{}
	}
	for i, v := range y.Values {
		if b.Rejected(i) || !y.Valid.Has(i) {
			continue
		}
		of := d.made[v]
		if of == nil {
			of = &madeOf{first: x.Values[i]}
			d.made[v] = of
		}
		of.records++
		of.several = of.several || of.first != x.Values[i]
	}
}

func (d *determinedCounts) result(column string) Determined {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := Determined{Column: column}
	for _, of := range d.made {
		r.Of += of.records
		if of.records >= leastAlike && !of.several {
			r.Records += of.records
		}
	}
	return r
}

// Determined returns what follows of rounded dates in the records that Apply has masked so far, by column. Records of other chains (Resume) do not count.
func (c *Chain) Determined() (list []Determined) {
	for _, w := range c.watches {
		if w.determined != nil {
			list = append(list, w.determined.result(w.name))
		}
	}
	return list
}
