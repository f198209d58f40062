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

// undo goes back through the masks, from the last to the first. Where a mask exchanges values, the value before it is the
// most probable one among those of the records, or ranks, with which the value can have been exchanged. It claims the
// values that are not the record's own released one.
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

// back undoes a swap: in groups of few records it takes the most probable value among those that the records of the group
// have; elsewhere the record's own, with the probability that it was not moved.
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

// ranksBack returns the undoing of a rank swap. Its released values are those of the original, so that the intruder knows
// the original of each rank, and how probable each exchange of two ranks is.
func ranksBack(m transform.RankExchange, grid float64) func(u *undoing) bool {
	return func(u *undoing) bool {
		sorted := make([]float64, 0, len(u.value))
		for _, v := range u.value {
			if v == v {
				sorted = append(sorted, v)
			}
		}
		slices.Sort(sorted)
		n := len(sorted)
		bottom, top := int(math.Floor(m.Bottom*float64(n))), int(math.Floor(m.Top*float64(n)))
		reach := int(math.Floor(m.P * float64(n)))
		if m.Correlation > 0 && n > 0 {
			reach = transform.CorrelatedReach(sorted, bottom, top, reach, m.Correlation)
		}
		if reach < 1 || bottom+top >= n {
			return false
		}
		inner := sorted[bottom : n-top]
		origins := transform.NewRankOrigins(inner, reach, grid/2)
		if origins == nil {
			for i := range u.chance {
				u.chance[i] = 0 // any of many
			}
			return false
		}
		for i, v := range u.value {
			at := sort.SearchFloat64s(inner, v)
			if v != v || at == len(inner) || inner[at] != v {
				u.chance[i] = 0 // a mean at an end
				continue
			}
			x, chance := origins.Likeliest(at)
			u.value[i] = x
			u.chance[i] *= chance
		}
		return true
	}
}
