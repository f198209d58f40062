package tally

import (
	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Counts holds the data about the values of one masked column other than sums.
type Counts struct {
	X, Y        Tally // of the original and of the released values
	least, most tail  // original values at either end
}

// NewCounts returns the empty counts of one column; masked is the number of masked columns.
func NewCounts(masked int) *Counts {
	return &Counts{least: newTail(-1, masked), most: newTail(+1, masked)}
}

// Add counts the values of a block's records that keep marks (nil: all) and that are neither null nor
// infinite. It does not keep the values beyond Bounds, and shares nothing that changes with what does:
// AddEnds, AddMarkedEnds and BoundEnds.
func (s *Counts) Add(b *microdata.Block, x, y microdata.Vector, keep microdata.Bitmap) {
	for from := 0; from < b.N; from += cell.Run {
		n := min(cell.Run, b.N-from)
		var values [cell.Run]float64
		var marks cell.Bits
		part := x.Values[from : from+n]
		if !whole(x, from, n, keep) {
			cell.Mark(&marks, x, from, n, keep)
			part = marked(&values, part, &marks, 0)
		}
		s.X.add(part, 1)
		if whole(y, from, n, keep) {
			s.addReleased(b, from, y.Values[from:from+n], nil)
		} else {
			cell.Mark(&marks, y, from, n, keep)
			s.addReleased(b, from, y.Values[from:from+n], &marks)
		}
	}
}

// whole reports whether all records of a run are kept and have a finite value.
func whole(v microdata.Vector, from, n int, keep microdata.Bitmap) bool {
	return cell.AllSet(keep, from, n) && cell.AllSet(v.Valid, from, n) && cell.AllFinite(v.Values[from:from+n])
}

// Bounds returns the bounds beyond which an original value is kept at either end.
func (s *Counts) Bounds() (least, most float64) { return s.least.bound, s.most.bound }

// AddEnds keeps those of the original values that are beyond Bounds.
func (s *Counts) AddEnds(x []float64) {
	least, most := s.Bounds()
	for _, v := range x {
		if v < least {
			s.least.values = append(s.least.values, v)
		}
		if v > most {
			s.most.values = append(s.most.values, v)
		}
	}
}

// AddMarkedEnds is AddEnds of the values of a run that have marks, and then BoundEnds.
func (s *Counts) AddMarkedEnds(x []float64, marks *cell.Bits) {
	var values [cell.Run]float64
	s.AddEnds(marked(&values, x, marks, 0))
	s.BoundEnds()
}

// BoundEnds drops values that are less extreme than those to be kept, if there are many. It
// changes what Bounds returns.
func (s *Counts) BoundEnds() {
	s.least.bind()
	s.most.bind()
}

// addReleased counts released values.
func (s *Counts) addReleased(b *microdata.Block, first int, y []float64, inY *cell.Bits) {
	var values [cell.Run]float64
	for from := 0; from < len(y); {
		row := b.Place(first + from)
		to := min(len(y), from+int(chunk-row%chunk))
		if b.Places != nil {
			next := row - row%chunk + chunk
			to = from + 1
			for to < len(y) && b.Places[first+to] < next {
				to++
			}
		}
		if w := weight(row); w > 0 {
			part := y[from:to]
			if inY != nil {
				part = marked(&values, part, inY, from)
			}
			s.Y.add(part, w)
		}
		from = to
	}
}

// marked copies to dst the marked values; the mark of the first value has index at.
func marked(dst *[cell.Run]float64, values []float64, marks *cell.Bits, at int) []float64 {
	n := 0
	for len(values) > 0 {
		word := marks[at/64%len(marks)] >> (at % 64)
		some := values[:min(len(values), 64-at%64)]
		for _, v := range some {
			dst[n%cell.Run] = v // n < cell.Run: the remainder saves a check
			n += int(word & 1)
			word >>= 1
		}
		values, at = values[len(some):], at+len(some)
	}
	return dst[:n]
}

// Merge adds the counts of other records.
func (s *Counts) Merge(o *Counts) {
	s.X.merge(&o.X)
	s.Y.merge(&o.Y)
	s.least.merge(&o.least)
	s.most.merge(&o.most)
}

// Reset empties the counts.
func (s *Counts) Reset() {
	s.X.reset()
	s.Y.reset()
	s.least.reset()
	s.most.reset()
}

// Inherit makes the counts, which are empty, keep only what o would keep.
func (s *Counts) Inherit(o *Counts) {
	s.least.inherit(&o.least)
	s.most.inherit(&o.most)
}
