package lp

// forward solves B x = w. w is by rows and is 0 afterwards; x is by places of the basis
// and must be 0 before the call.
func (f *factors) forward(w, x []float64) {
	for _, k := range f.eliminating {
		if t := w[f.pivotRow[k]]; t != 0 {
			for p := f.lowerStart[k]; p < f.lowerStart[k+1]; p++ {
				w[f.lowerRow[p]] -= t * f.lower[p]
			}
		}
	}
	for k := f.m - 1; k >= 0; k-- {
		r := f.pivotRow[k]
		t := w[r]
		if t == 0 {
			continue
		}
		w[r] = 0
		t /= f.diagonal[k]
		x[f.pivotPlace[k]] = t
		for p := f.upperStart[k]; p < f.upperStart[k+1]; p++ {
			w[f.upperRow[p]] -= t * f.upper[p]
		}
	}
	for i := range f.updates {
		u := &f.updates[i]
		t := x[u.place]
		if t == 0 {
			continue
		}
		t /= u.pivot
		x[u.place] = t
		for p, r := range u.row {
			x[r] -= t * u.value[p]
		}
	}
}

// size returns roughly the greatest number of entries that a solution processes.
func (f *factors) size() int64 {
	return int64(f.m) + int64(len(f.lower)) + int64(len(f.upper)) + f.updated
}

// backward solves Bᵀ y = c. c is by places and is 0 afterwards; y is by rows and is
// overwritten.
func (f *factors) backward(c, y []float64) {
	for i := len(f.updates) - 1; i >= 0; i-- {
		u := &f.updates[i]
		t := c[u.place]
		for p, r := range u.row {
			if v := c[r]; v != 0 {
				t -= u.value[p] * v
			}
		}
		c[u.place] = t / u.pivot
	}
	for k := range f.m {
		q := f.pivotPlace[k]
		t := c[q]
		if t == 0 {
			y[f.pivotRow[k]] = 0
			continue
		}
		c[q] = 0
		t /= f.diagonal[k]
		y[f.pivotRow[k]] = t
		for p := f.acrossStart[k]; p < f.acrossStart[k+1]; p++ {
			c[f.acrossPlace[p]] -= f.across[p] * t
		}
	}
	for i := len(f.eliminating) - 1; i >= 0; i-- {
		k := f.eliminating[i]
		t := y[f.pivotRow[k]]
		for p := f.lowerStart[k]; p < f.lowerStart[k+1]; p++ {
			t -= f.lower[p] * y[f.lowerRow[p]]
		}
		y[f.pivotRow[k]] = t
	}
}

// replace records that the column with solution x entered the basis at place.
func (f *factors) replace(place int32, x []float64, nonzero []int32) {
	u := update{place: place, pivot: x[place]}
	if n := len(f.updates); n < cap(f.updates) { // reuse the buffers of an earlier round
		old := f.updates[:n+1][n]
		u.row, u.value = old.row[:0], old.value[:0]
	}
	for _, r := range nonzero {
		if r != place {
			u.row, u.value = append(u.row, r), append(u.value, x[r])
		}
	}
	f.updates = append(f.updates, u)
	f.updated += int64(len(u.row))
}
