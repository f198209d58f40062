package inversion

import "math"

// affine tries the affine maps of the release that follow from published moments. They
// recover a column that any program has shifted, scaled, standardised or reflected.
// luck is the mean probability that the masks leave a value on its grid point.
func (a *attacker) affine(c *ColumnResult, luck float64) {
	mean, sd := a.moments.Mean, a.moments.SD
	ym, ys := a.released.mean, a.released.sd
	for _, t := range []struct {
		kind              Kind
		slope, from, onto float64 // onto + slope·(y − from)
	}{
		{Shift, 1, ym, mean},
		{Scale, mean / ym, 0, 0},
		{Standardise, sd / ys, ym, mean},
		{Reflect, -sd / ys, ym, mean},
	} {
		if !finite(t.slope) || !finite(t.from) || !finite(t.onto) || t.slope == 0 {
			continue
		}
		g := &claims{file: file{0, t.kind}}
		// The most probable grid cell of a symmetric unimodal noise is that of 0, so no
		// position of the cell under the map is more probable. A map with |slope| below
		// 1 puts up to 1/|slope| + 1 grid points into one cell.
		chance := min(1, a.guess+luck*(math.Floor(1/math.Abs(t.slope))+1))
		x := a.column.Original
		same := true
		invert := func(y float64) float64 { return t.onto + t.slope*(y-t.from) }
		for i, y := range a.column.Released {
			if y != y || x[i] != x[i] {
				continue
			}
			v := invert(y)
			same = same && a.near(v, y)
			g.add(a.near(v, x[i]), 0, chance)
		}
		if same {
			continue // direct has already claimed the released values
		}
		if a.judge(c, g); g.fails {
			for i, y := range a.column.Released {
				a.disclosed[i] = a.disclosed[i] || a.near(invert(y), x[i])
			}
		}
	}
}

func finite(x float64) bool { return x-x == 0 }

// heapsByMoments computes one or two values at bounds if all others are certain: their
// sum is n·x̄ minus the sum of the others, and (n−1)·S_x² gives their sum of squares.
// For two values at the same bound their order is unknown. Both values are disclosed
// nevertheless, and the claim is compared with the originals in both orders.
func (a *attacker) heapsByMoments(c *ColumnResult, certain []float64) {
	clip := 0 // index of the truncation in links, plus 1
	for k := range a.links {
		if a.links[k].atBound != nil {
			clip = k + 1
		}
	}
	mean := a.moments.Mean
	if clip == 0 || !finite(mean) || a.n != len(a.column.Released) || a.released.n != a.original.n {
		return
	}
	var heap []int
	var low []bool
	var off, squares float64 // Σ (y − x̄) and Σ (y − x̄)² of the others
	for i, y := range a.column.Released {
		if y != y {
			continue
		}
		if lower, upper := a.links[clip-1].atBound(y); lower || upper {
			heap, low = append(heap, i), append(low, lower)
			continue
		}
		if certain[i] < 1 {
			return
		}
		off += y - mean
		squares += (y - mean) * (y - mean)
	}
	g := &claims{file: file{int32(clip), HeapMoments}, certainty: 1, deterministic: true}
	claim := func(i int, v float64) {
		g.add(a.near(v, a.column.Original[i]), 1, 0)
	}
	switch {
	case len(heap) == 1:
		claim(heap[0], mean-off)
	case len(heap) == 2 && finite(a.moments.SD):
		half := -off / 2
		square := float64(a.released.n-1)*a.moments.SD*a.moments.SD - squares
		root := math.Sqrt(max(0, square/2-half*half))
		first, second := mean+half-root, mean+half+root
		x := [2]float64{a.column.Original[heap[0]], a.column.Original[heap[1]]}
		swapped := low[1] && !low[0]
		if low[0] == low[1] {
			swapped = !a.near(first, x[0]) && a.near(first, x[1])
		}
		if swapped {
			first, second = second, first
		}
		claim(heap[0], first)
		claim(heap[1], second)
	}
	if a.judge(c, g); g.fails && g.recovered == g.n {
		for _, i := range heap {
			a.disclosed[i] = true
		}
	}
}
