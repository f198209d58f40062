package core

import (
	"math"
	"sync"
)

// Originals that are a multiple of two cells apart lie alike between the ends of the cells (two, because a half goes to
// the even one), so that the first draw gives the cells about them the same probabilities.

// alikes are the cells about originals of the first draw, of each place between the ends and of each scale. A law is
// used by several goroutines.
type alikes struct {
	mu    sync.Mutex
	Of    map[likeness]*alikeCells
	cells int // in of
}

// likeness is what originals have in common that the first draw treats alike: the place within two cells, in steps of
// the draw's grid, and the draw's scale.
type likeness struct{ place, scale float64 }

// alikeCells is the cells about the least of alike originals that is not negative, and the moments of the values in
// them about it.
type alikeCells struct {
	cells
	whole, shift, squares float64 // Σp, Σpd and Σpd² of the distances d
}

// mostAlike bounds the cells that are kept, and the places that they may be kept for.
const mostAlike = 1 << 16

// alike sets the cells of m to those of an original that lies alike, moved to where m is. It returns nil, and does
// nothing, if the cells of m cannot be had so: bounds are near, or numbers so large that the cells have not all the
// same width.
func (m *middle) alike() *alikeCells {
	l := m.of
	if l.Alikes == nil || len(l.Random) != 1 || l.Random[0].Phi > 0 || !(math.IsInf(m.low, -1) && math.IsInf(m.high, 1)) ||
		!(math.IsInf(m.lower, -1) && math.IsInf(m.upper, 1)) {
		return nil
	}
	mult := l.Random[0].Grid.Mult
	steps := math.Round(2 * m.cell * mult) // in two cells
	index := math.Round(m.on * mult)
	if m.h != 1/mult || m.v != m.on || !(steps >= 1 && steps <= mostAlike && Exact(index)) ||
		math.Abs(steps-2*m.cell*mult) > 1e-9 {
		return nil
	}
	place := math.Mod(index, steps)
	if place < 0 {
		place += steps
	}
	found := l.Alikes.find(likeness{place, m.s}, func() *alikeCells { return m.movedTo(l.Random[0].Grid.Value(place)) })
	if found == nil {
		return nil
	}
	c := found.cells
	c.first += (index - place) / steps * 2
	c.offset = m.on - l.Random[0].Grid.Value(place)
	last := len(c.mass) - 1
	if last < 1 || !m.endsAt(c.first, c.end(1)) || !m.endsAt(c.first+float64(last)-1, c.end(last)) {
		return nil
	}
	m.cells, m.from, m.to = c, c.end(0), c.end(last+1)
	return found
}

// endsAt reports whether cell j ends at v, up to rounding.
func (m *middle) endsAt(j, v float64) bool { return math.Abs(m.end(j)-v) <= 1e-9*m.cell }

// movedTo counts the cells as if the original were v.
func (m *middle) movedTo(v float64) *alikeCells {
	at, half := *m, m.s*m.draw.reach()+m.cell/2
	at.v, at.on, at.from, at.to, at.cells = v, v, v-half, v+half, cells{}
	of := &alikeCells{cells: at.counted()}
	for k, p := range of.mass {
		d := (of.first+float64(k))*m.cell - v
		of.whole += p
		of.shift += p * d
		of.squares += p * d * d
	}
	return of
}

// find returns what is kept, or makes it; nil if too much is kept already.
func (a *alikes) find(key likeness, count func() *alikeCells) *alikeCells {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.Of[key]; found != nil || a.cells > mostAlike {
		return found
	}
	found := count()
	if a.Of == nil {
		a.Of = map[likeness]*alikeCells{}
	}
	a.Of[key] = found
	a.cells += len(found.mass)
	return found
}

// evenly reports whether the second draw adds the same variance to all values of the counted cells, without any bound,
// and returns it.
func (l *Law) evenly(c *cells, cell float64) (variance float64, ok bool) {
	if len(l.scales) != 1 || l.Random[0].Phi > 0 {
		return 0, false
	}
	low, high := l.second(c.first*cell), l.second((c.first+float64(len(c.mass)-1))*cell)
	for _, of := range []about{low, high} {
		if !(of.s > 0 && of.h == low.h && max(of.h, l.Coarse) == of.h && l.free(of)) {
			return 0, false
		}
	}
	return rounded(low.draw, low.s, low.h), true
}
