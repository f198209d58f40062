package project

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// A number above may be that of one record of its group, in the order of the file or by size, may be of a part of the
// group, or of the sum by how many there are; and a number of one table may stand in another one of the same persons.

// mostFigures is the number of columns of each kind here that are looked at: those whose columns go most together.
const mostFigures = 8

// pick is the record of each group that has a place in it; −1: none.
type pick struct {
	word string
	row  []int32
}

// picks returns the first and the last record of each of n groups, if the order of records is seen, and the one in the
// middle by a number.
func (m *member) picks(c *shown, group []int32, n int) (list []pick) {
	groups := members(group, n)
	add := func(word string, of func(rows []int32) int32) {
		p := pick{word, make([]int32, n)}
		for g, rows := range groups {
			if p.row[g] = -1; len(rows) > 0 {
				p.row[g] = of(rows)
			}
		}
		list = append(list, p)
	}
	if m.ordered(m.every) {
		add("first", func(rows []int32) int32 { return rows[0] })
		add("last", func(rows []int32) int32 { return rows[len(rows)-1] })
	}
	add("middle", func(rows []int32) int32 {
		if len(rows) < 3 || len(rows)%2 == 0 {
			return -1
		}
		bySize := bySize(rows, c.Values)
		return bySize[len(rows)/2]
	})
	return list
}

// members returns the records of each of n groups, in their order.
func members(group []int32, n int) [][]int32 {
	groups := make([][]int32, n)
	for i, p := range group {
		if p >= 0 {
			groups[p] = append(groups[p], int32(i))
		}
	}
	return groups
}

// bySize returns records in the order of their values.
func bySize(rows []int32, values []float64) []int32 {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	return rows
}

// byPlace takes a number a above for that of the record of c which is the first of its group, the last, or the one in
// the middle.
func byPlace(m *member, c, a *shown, above string, group []int32) (list []pair) {
	for _, p := range m.picks(c, group, len(a.Values)) {
		of := slices.Repeat([]float64{math.NaN()}, len(a.Values))
		for g, row := range p.row {
			if row >= 0 {
				of[g] = c.Values[row]
			}
		}
		list = append(list, pair{above + " as the " + p.word + " " + c.named("").Name, correlated(a.Values, of),
			func(i int, g int32) float64 {
				if p.row[g] == int32(i) {
					return a.Values[g]
				}
				return c.Values[i]
			}})
	}
	return list
}

// fewOf says which records have one value of a column with few.
type fewOf struct {
	by, words string
	has       []bool
}

// partsOf returns the parts of a table's records, by columns in their order.
func partsOf(m *member) (list []fewOf) {
	for _, by := range m.own() {
		for l, level := range levelsOf(by.Values) {
			f := fewOf{by.Name, fmt.Sprintf("%d of %s", l+1, by.Name), make([]bool, len(by.Values))}
			for i, v := range by.Values {
				f.has[i] = v == level
			}
			if len(list) < mostByLevel {
				list = append(list, f)
			}
		}
	}
	return list
}

// byPart takes a number a above for the sum of c over those of a group that are of one part of the records.
func byPart(parts []fewOf, c, a *shown, above string, group []int32) (list []pair) {
	for _, part := range parts {
		if part.by == c.Name {
			continue
		}
		within, ones := slices.Clone(group), make([]float64, len(group))
		for i, has := range part.has {
			if ones[i] = 1; !has {
				within[i] = -1
			}
		}
		n, sum := sums(ones, within, len(a.Values)), sums(c.Values, within, len(a.Values))
		list = append(list, pair{fmt.Sprintf("%s less %s (%s), by head", above, c.named("").Name, part.words),
			correlated(a.Values, sum), func(i int, p int32) float64 {
				if within[i] < 0 {
					return 0
				}
				return (a.Values[p] - sum[p]) / n[p]
			}})
	}
	return list
}

// two numbers: of a table and of the one to which its records refer, or of another one that refers to the same.
type two struct {
	c, a *shown
	sum  []float64 // of c, by group
	near float64
}

// mostTwos is the number of pairs of numbers of which figures are made: of those whose sums go most together.
const mostTwos = 64

// together returns the numbers of a table with those of the one above; or, if theirs are the groups of its records,
// with those of another table.
func together(m, other *member, group, theirs []int32) (list []two) {
	n := 0
	for _, p := range slices.Concat(group, theirs) {
		n = max(n, int(p)+1)
	}
	for _, a := range other.own() {
		if !a.numbers() {
			continue
		}
		values := a.Values
		if theirs != nil {
			values = sums(a.Values, theirs, n)
		} else {
			n = len(values)
		}
		for _, c := range m.own() {
			if c.numbers() {
				sum := sums(c.Values, group, n)
				list = append(list, two{&c, &a, sum, correlated(values, sum)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b two) int { return cmp.Compare(b.near, a.near) })
	return list[:min(len(list), mostTwos)]
}

// byHowMany takes a number a above for the sum of c times a factor of its own for each size of a group, as that of an
// income by equivalent heads, if the two go together more than without.
func byHowMany(c, a *shown, above string, n, sum []float64) []pair {
	as, cs := map[float64]float64{}, map[float64]float64{}
	for g, v := range a.Values {
		if v == v && n[g] > 0 {
			as[n[g]], cs[n[g]] = as[n[g]]+v, cs[n[g]]+sum[g]
		}
	}
	scaled := make([]float64, len(a.Values))
	for g, v := range a.Values {
		if scaled[g] = v * cs[n[g]] / as[n[g]]; math.IsInf(scaled[g], 0) {
			scaled[g] = math.NaN()
		}
	}
	near := correlated(scaled, sum)
	if near <= correlated(a.Values, sum) {
		return nil
	}
	return []pair{{above + " by how many, less " + c.named("").Name + ", by head", near,
		func(_ int, p int32) float64 { return (scaled[p] - sum[p]) / n[p] }}}
}

// further returns figures beyond those of beside that go most together with numbers of a table.
func (r *run) further(m *member) (list []shown) {
	for key := range r.config.Keys {
		switch k := &r.config.Keys[key]; m.table.Name {
		case k.Table:
			list = append(list, r.lessShift(m, key)...)
			list = append(list, r.placed(m, key)...)
			list = append(list, r.matched(m, key)...)
		case k.Of:
			list = append(list, r.figures(m, key)...)
		}
	}
	return list
}

// shiftBy is by how much the dates of a person are shifted, as another date tells.
type shiftBy struct {
	word string
	of   func(p int32) float64
}

// lessShift returns shifted dates less the shift that other dates of the same person tell: some of them have another
// date beside them that is not shifted alike, and all are moved by as much. What such a date is from its own is of one
// person the shift but for an error: on average, in the middle of the least and the greatest, or for one of them, as
// the first.
func (r *run) lessShift(m *member, key int) []shown {
	k := &r.config.Keys[key]
	shifted := map[string]bool{}
	for _, spec := range m.table.pipeline.Masks {
		if d, ok := spec.Params.(*transform.Date); ok && d.Shift != nil && d.By == k.Column {
			for _, name := range d.Columns {
				shifted[name] = true
			}
		}
	}
	if len(shifted) == 0 {
		return nil
	}
	group, n := r.parents(key), r.members[k.Of].part.Joined.Records
	beside := slices.Concat(lifted(r.view(r.members[k.Of], key, true), group), r.matched(m, key))
	for _, c := range m.own() {
		if !shifted[c.Name] {
			beside = append(beside, c)
		}
	}
	var pairs []pair
	for _, c := range m.own() {
		if !shifted[c.Name] || !c.numbers() {
			continue
		}
		for _, d := range beside {
			if !d.numbers() {
				continue
			}
			off := make([]float64, len(group))
			for i, v := range c.Values {
				off[i] = v - d.Values[i]
			}
			sum, there := sums(off, group, n), make([]float64, len(group))
			for i, v := range off {
				if v == v {
					there[i] = 1
				}
			}
			of, least, most := sums(there, group, n), extremes(off, group, n, -1), extremes(off, group, n, 1)
			ways := []shiftBy{
				{"mean", func(p int32) float64 { return sum[p] / of[p] }},
				{"middle", func(p int32) float64 { return (least[p] + most[p]) / 2 }},
				{"least", func(p int32) float64 { return least[p] }},
				{"greatest", func(p int32) float64 { return most[p] }},
			}
			for _, pick := range m.picks(&c, group, n) {
				at := taken(off, pick.row)
				ways = append(ways, shiftBy{pick.word, func(p int32) float64 { return at[p] }})
			}
			for _, way := range ways {
				value := func(i int, p int32) float64 { return c.Values[i] - way.of(p) }
				values := make([]float64, len(group))
				for i, p := range group {
					if values[i] = math.NaN(); p >= 0 {
						values[i] = value(i, p)
					}
				}
				pairs = append(pairs, pair{c.named("").Name + " less the " + way.word + " shift from " + d.named("").Name,
					correlated(c.Values, values), value})
			}
		}
	}
	return nearest(pairs, group)
}

// placed returns what the numbers of the record above are for one if they are those of its place in its group, of its
// part of the group, or of all of it by how many they are.
func (r *run) placed(m *member, key int) []shown {
	parent, group := r.members[r.config.Keys[key].Of], r.parents(key)
	n := sums(slices.Repeat([]float64{1}, len(group)), group, parent.part.Joined.Records)
	if !slices.ContainsFunc(n, func(v float64) bool { return v > 1 }) {
		return nil
	}
	var pairs []pair
	parts := partsOf(m)
	for _, two := range together(m, parent, group, nil) {
		c, a := two.c, two.a
		above := parent.table.Name + "." + a.Name
		pairs = slices.Concat(pairs, byPlace(m, c, a, above, group), byPart(parts, c, a, above, group),
			byHowMany(c, a, above, n, two.sum))
	}
	list := nearest(pairs, group)
	for i := range list {
		setApart(list[i].Values, group)
	}
	return list
}

// nearest returns the columns of those pairs whose numbers go most together, by the records of a group.
func nearest(pairs []pair, group []int32) (list []shown) {
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.near, a.near) })
	for _, p := range pairs[:min(len(pairs), mostFigures)] {
		values := make([]float64, len(group))
		for i, g := range group {
			if values[i] = math.NaN(); g >= 0 {
				values[i] = p.value(i, g)
			}
		}
		list = append(list, shown{assess.Seen{Name: p.name, Values: values}, asNothing, ""})
	}
	return list
}

// matched returns the numbers of other tables that refer to the same records by a key, record by record: the first of a
// person with the first of the other table, in the order of the file, also of those with one value of a column that
// both tables have; and the greatest with the greatest.
func (r *run) matched(m *member, key int) []shown {
	of := r.config.Keys[key].Of
	parent, group := r.members[of], r.parents(key)
	n := parent.part.Joined.Records
	var pairs []pair
	for k := range r.config.Keys {
		if k == key || r.config.Keys[k].Of != of {
			continue
		}
		other, theirs := r.members[r.config.Keys[k].Table], r.parents(k)
		numbers := slices.DeleteFunc(other.own(), func(s shown) bool { return !s.numbers() })
		for _, w := range matchings(m, other, group, theirs, n) {
			for _, d := range numbers {
				values := taken(d.Values, w.row)
				near := 0.0
				for _, c := range m.own() {
					if c.numbers() {
						near = max(near, correlated(c.Values, values))
					}
				}
				pairs = append(pairs, pair{d.named(w.word).Name, near, func(i int, _ int32) float64 { return values[i] }})
			}
		}
		for _, two := range together(m, other, group, theirs) {
			c, d := two.c, two.a
			values := taken(d.Values, alongside(members(group, n), members(theirs, n), len(group), func(rows []int32) []int32 {
				return bySize(rows, c.Values)
			}, func(rows []int32) []int32 { return bySize(rows, d.Values) }))
			pairs = append(pairs, pair{d.named("by size with " + c.Name).Name, correlated(c.Values, values),
				func(i int, _ int32) float64 { return values[i] }})
		}
	}
	return nearest(pairs, group)
}

// matchings are the ways in which records of two tables are told to be of one another by their order.
func matchings(m, other *member, group, theirs []int32, n int) (list []pick) {
	if !m.ordered(m.every) || !other.ordered(other.every) {
		return nil
	}
	same := func(rows []int32) []int32 { return rows }
	list = append(list, pick{"at its place", alongside(members(group, n), members(theirs, n), len(group), same, same)})
	for _, c := range m.own() {
		for _, d := range other.own() {
			levels := levelsOf(c.Values)
			if c.Name != d.Name || levels == nil || levelsOf(d.Values) == nil {
				continue
			}
			list = append(list, pick{"at its place by " + c.Name, alongside(leveled(c.Values, levels, group, n),
				leveled(d.Values, levels, theirs, n), len(group), same, same)})
		}
	}
	return list
}

// leveled returns the records of each group that have each of some values.
func leveled(values, levels []float64, group []int32, n int) [][]int32 {
	apart := slices.Repeat([]int32{-1}, len(group))
	for i, p := range group {
		if at := slices.Index(levels, values[i]); p >= 0 && at >= 0 {
			apart[i] = p*int32(len(levels)) + int32(at)
		}
	}
	return members(apart, n*len(levels))
}

// alongside returns, for each of n records of some groups, the one at its place in the same group of others, each group
// put into some order; −1: none.
func alongside(groups, others [][]int32, n int, order, otherOrder func([]int32) []int32) []int32 {
	at := slices.Repeat([]int32{-1}, n)
	for g, rows := range groups {
		theirs := otherOrder(others[g])
		for k, i := range order(rows) {
			if k < len(theirs) {
				at[i] = theirs[k]
			}
		}
	}
	return at
}

// taken returns values by the rows of which they are taken; NaN of none.
func taken(values []float64, rows []int32) []float64 {
	list := slices.Repeat([]float64{math.NaN()}, len(rows))
	for i, at := range rows {
		if at >= 0 {
			list[i] = values[at]
		}
	}
	return list
}

// figures returns further numbers that the records below amount to: the first, the last and the middle one, and how far
// they are apart; of those that go most together with a number of the table.
func (r *run) figures(m *member, key int) []shown {
	child, group := r.members[r.config.Keys[key].Table], r.parents(key)
	n := m.part.Joined.Records
	groups := members(group, n)
	if !slices.ContainsFunc(groups, func(rows []int32) bool { return len(rows) > 1 }) {
		return nil
	}
	var own []shown
	for _, a := range m.own() {
		if a.numbers() {
			own = append(own, a)
		}
	}
	var pairs []pair
	add := func(c *shown, word string, values []float64) {
		near := 0.0
		for _, a := range own {
			near = max(near, correlated(a.Values, values))
		}
		pairs = append(pairs, pair{c.named(word).Name, near, func(i int, _ int32) float64 { return values[i] }})
	}
	for _, c := range child.own() {
		if !c.numbers() {
			continue
		}
		for _, p := range child.picks(&c, group, n) {
			if p.word != "middle" {
				add(&c, p.word, taken(c.Values, p.row))
			}
		}
		middle, apart := make([]float64, n), make([]float64, n)
		for g, rows := range groups {
			middle[g], apart[g] = median(bySize(rows, c.Values), c.Values), deviation(rows, c.Values)
		}
		add(&c, "median", middle)
		add(&c, "standard deviation", apart)
	}
	return nearest(pairs, identity(n))
}

// identity returns 0, 1, … n−1.
func identity(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// median returns the median of the values of records in their order; NaN of none.
func median(rows []int32, values []float64) float64 {
	if len(rows) == 0 {
		return math.NaN()
	}
	return (values[rows[(len(rows)-1)/2]] + values[rows[len(rows)/2]]) / 2
}

// deviation returns the standard deviation of the values of records; NaN of fewer than two.
func deviation(rows []int32, values []float64) float64 {
	mean, square := 0.0, 0.0
	for _, i := range rows {
		mean += values[i] / float64(len(rows))
	}
	for _, i := range rows {
		square += (values[i] - mean) * (values[i] - mean)
	}
	return math.Sqrt(square / float64(len(rows)-1))
}
