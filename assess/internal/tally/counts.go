package tally

import "github.com/sdlfilter/sdlfilter/microdata"

// Counts is what is kept of the values of one masked column besides sums.
type Counts struct {
	X, Y        Tally // of the original and of the released values
	least, most tail  // original values at either end
}

// NewCounts returns the empty counts of one of so many masked columns.
func NewCounts(masked int) *Counts {
	return &Counts{least: newTail(-1, masked), most: newTail(+1, masked)}
}

// Add counts the values x and y of a block's records from the given one on, of
// those for which marks, where given, hold 1.
func (s *Counts) Add(b *microdata.Block, first int, x, y, inX, inY []float64) {
	if inX == nil {
		s.X.add(x, 1)
		s.least.add(x)
		s.most.add(x)
	} else {
		for i, mark := range inX {
			if mark == 1 {
				s.X.add(x[i:i+1], 1)
				s.least.add(x[i : i+1])
				s.most.add(x[i : i+1])
			}
		}
	}
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
		if w := weight(row); w > 0 && inY == nil {
			s.Y.add(y[from:to], w)
		} else if w > 0 {
			s.Y.addWhere(y[from:to], inY[from:to], w)
		}
		from = to
	}
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

// Inherit makes the counts, which are empty, keep only what o would.
func (s *Counts) Inherit(o *Counts) {
	s.least.inherit(&o.least)
	s.most.inherit(&o.most)
}
