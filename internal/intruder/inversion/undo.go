package inversion

import (
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/transform"
)

// undoing is what the intruder knows of the original value of a record after going back through some of the last masks:
// its most probable value, and a lower bound of the probability of it.
type undoing struct{ value, chance []float64 }

// undo goes back through the masks, from the last to the first. Where a mask exchanges values, the value before it is
// the most probable one among those of the records, or ranks, with which the value can have been exchanged. It claims
// the values that are not the record's own released one.
func (a *attacker) undo(c *ColumnResult) {
	u := undoing{slices.Clone(a.column.Released), ones(len(a.column.Released))}
	by := 0 // the last of links that exchanges values, plus 1
	p := make([]float64, len(u.value))
	for k := len(a.links) - 1; k >= 0; k-- {
		l := &a.links[k]
		switch {
		case l.trivial:
		case l.back != nil:
			if l.back(&u) && by == 0 {
				by = k + 1
			}
		default:
			for i := range p {
				p[i] = 1
			}
			if l.kind == Rounding {
				for i := range p {
					p[i] = min(1, a.grid/l.step)
				}
			} else if l.certain != nil {
				l.certain(u.value, p)
			}
			for i, v := range p {
				u.chance[i] *= v
			}
		}
	}
	if by == 0 {
		return
	}
	g := &claims{file: file{int32(by), ExchangedBack}, certainty: 1, deterministic: true}
	claimed := func(i int) bool {
		y, x := a.column.Released[i], a.column.Original[i]
		return x == x && u.value[i] == u.value[i] && !(math.Abs(u.value[i]-y) <= a.grid/2) && u.chance[i] >= a.confidence
	}
	for i := range u.value {
		if claimed(i) {
			g.add(a.near(u.value[i], a.column.Original[i]), u.chance[i], 0)
		}
	}
	if a.judge(c, g); g.fails {
		for i := range u.value {
			a.disclosed[i] = a.disclosed[i] || claimed(i) && a.near(u.value[i], a.column.Original[i])
		}
	}
}

// back undoes a swap: in groups of few records it takes the most probable value among those that the records of the
// group have; elsewhere the record's own, with the probability that it was not moved.
func (g *swapGroups) back(u *undoing, grid float64, unmoved []float32) bool {
	before := undoing{slices.Clone(u.value), slices.Clone(u.chance)}
	for r := range u.chance {
		u.chance[r] *= float64(unmoved[r])
	}
	type origin struct{ value, chance float64 }
	var origins []origin
	for _, records := range g.few {
		sizes := g.sizesOf(records)
		rate := g.partners(sizes)
		for _, t := range records {
			origins = origins[:0]
			stay := 1.0
			for _, j := range records {
				if g.combo[j] == g.combo[t] {
					continue
				}
				p := rate(g.alike[g.combo[t]], g.alike[g.combo[j]])
				stay -= p
				origins = append(origins, origin{before.value[j], p * before.chance[j]})
			}
			origins = append(origins, origin{before.value[t], stay * before.chance[t]})
			u.value[t], u.chance[t] = before.value[t], stay*before.chance[t]
			for _, o := range origins {
				chance := 0.0
				for _, q := range origins {
					if math.Abs(q.value-o.value) <= grid/2 {
						chance += q.chance
					}
				}
				if chance > u.chance[t]+1e-9 {
					u.value[t], u.chance[t] = o.value, chance
				}
			}
		}
	}
	return len(g.few) > 0
}

// ranksBack returns the undoing of a rank swap. Its released values are those of the original, so that the intruder
// knows the original of each rank, and how probable each exchange of two ranks is.
func ranksBack(m transform.RankExchange, grid float64) func(u *undoing) bool {
	return func(u *undoing) bool {
		r := ranksOf(m, grid, u.value)
		if r == nil {
			return false
		}
		if r.origins == nil {
			for i := range u.chance {
				u.chance[i] = 0 // any of many
			}
			return false
		}
		for i, v := range u.value {
			at, ok := r.rank(v)
			if !ok {
				u.chance[i] = 0 // a mean at an end
				continue
			}
			x, chance := r.origins.Likeliest(at)
			u.value[i] = x
			u.chance[i] *= chance
		}
		return true
	}
}

// ranked are the values of a column that a rank swap has exchanged.
type ranked struct {
	inner   []float64              // in ascending order, without those at the ends that became means
	origins *transform.RankOrigins // nil: the reach is too great
}

// ranksOf returns nil if nothing is exchanged.
func ranksOf(m transform.RankExchange, grid float64, released []float64) *ranked {
	sorted := slices.DeleteFunc(slices.Clone(released), func(v float64) bool { return v != v })
	slices.Sort(sorted)
	n := len(sorted)
	bottom, top := int(math.Floor(m.Bottom*float64(n))), int(math.Floor(m.Top*float64(n)))
	reach := int(math.Floor(m.P * float64(n)))
	if m.Correlation > 0 && n > 0 {
		reach = transform.CorrelatedReach(sorted, bottom, top, reach, m.Correlation)
	}
	if reach < 1 || bottom+top >= n {
		return nil
	}
	inner := sorted[bottom : n-top]
	return &ranked{inner, transform.NewRankOrigins(inner, reach, grid/2)}
}

// rank returns the first rank that has a value; false if it is none of the exchanged ones.
func (r *ranked) rank(v float64) (at int, ok bool) {
	at = sort.SearchFloat64s(r.inner, v)
	return at, v == v && at < len(r.inner) && r.inner[at] == v
}

// exchanges computes the shares of values that are stated by the law of a rank swap, the only mask of the column: false
// if it is not known, or not all released values are.
func (a *attacker) exchanges(b *believed, found []Exact) bool {
	changing := 0
	for _, l := range a.links {
		if !l.trivial {
			changing++
		}
	}
	if a.ranks == nil || changing != 1 || a.n > len(a.column.Released) {
		return false
	}
	r := ranksOf(*a.ranks, a.grid, a.column.Released)
	if r == nil || r.origins == nil {
		return false
	}
	n := 0.0
	expected, realised := make([]float64, len(found)), make([]float64, len(found))
	for i := range a.spread() {
		x := a.column.Original[i]
		if x != x {
			continue
		}
		n++
		at, ok := r.rank(a.column.Released[i])
		for k := range found {
			if !ok {
				expected[k] += found[k].Guess
				continue
			}
			claim, chance := r.origins.Within(at, found[k].Within, k > 0)
			expected[k] += chance
			if within(claim, x, found[k].Within) {
				realised[k]++
			}
		}
	}
	for k := range found {
		e := &found[k]
		p := max(expected[k]/n, e.Guess)
		e.Expected, e.Realised = &p, max(e.Realised, realised[k]/n)
		e.SE = a.ofSample(p, len(b.sorted))
		e.Found = min(1, max(p+2*e.SE, lessChance(e.Realised, n)))
	}
	return true
}
