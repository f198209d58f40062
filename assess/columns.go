package assess

import "github.com/sdlfilter/sdlfilter/microdata"

// columnSums is what is exact of a column besides the co-moments.
type columnSums struct {
	pairs            int64   // records with both values
	diff, squareDiff float64 // Σ(y−x), Σ(x−y)²
	unchanged        int64   // pairs with y = x
	order            *order  // nil where no mask touches the column
	low, high        float64 // of the released values; +Inf, −Inf where there are none
	bottom, top      edge    // most extreme records by original value
	x, y             *tally  // of the original and released values; nil where the sample serves
	least, most      tail    // original values at either end, where there are tallies
}

// tally counts the values x and y of a block's records from the given one on, of
// those for which marks, where given, hold 1.
func (s *columnSums) tally(b *microdata.Block, first int, x, y, inX, inY []float64) {
	if s.x == nil {
		return
	}
	if inX == nil {
		s.x.add(x, 1)
		s.least.add(x)
		s.most.add(x)
	} else {
		for i, mark := range inX {
			if mark == 1 {
				s.x.add(x[i:i+1], 1)
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
			s.y.add(y[from:to], w)
		} else if w > 0 {
			s.y.addWhere(y[from:to], inY[from:to], w)
		}
		from = to
	}
}
