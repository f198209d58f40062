package project

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Beside a record a snooper has what the release tells elsewhere of the same person, household or visit: upward the
// columns of the records to which it refers, downward what the records that refer to it amount to, and sideways what
// the others amount to that refer to the same record.

// gathering is how a column of many records becomes one of the record to which they refer.
type gathering uint8

const (
	asItIs    gathering = iota // a column of a table: as its sum, mean, least and greatest
	asSum                      // a count or a sum: as its sum
	asLeast                    // a least: as its least
	asMost                     // a greatest: as its greatest
	asNothing                  // a mean, and what others of a group amount to
)

// shown is a column of some table by the records of another one.
type shown struct {
	assess.Seen
	by gathering
	of string // the table
}

// numbers reports whether a column has numbers.
func (s *shown) numbers() bool {
	n := 0
	for _, v := range s.Values {
		if v >= assess.Categories {
			return false
		}
		if v == v {
			n++
		}
	}
	return n > 0
}

// fewLevels is the number of values up to which the records that refer to one are also added up by them, as the parts
// of an income by their kind.
const fewLevels = 8

// mostByLevel is the number of columns up to which that is done.
const mostByLevel = 60

// own are the columns of a table that are no keys.
func (m *member) own() (list []shown) {
	columns := m.part.Joined.Shown
	if m.every {
		columns = slices.Concat(columns, m.part.Joined.Earlier)
	}
	for _, s := range columns {
		if !slices.Contains(m.joins, s.Name) {
			list = append(list, shown{s, asItIs, m.table.Name})
		}
	}
	return list
}

// parents returns for each record of the table with a key the record to which it refers; −1: none.
func (r *run) parents(key int) []int32 {
	if r.refer == nil {
		r.refer = map[int][]int32{}
	}
	if list, known := r.refer[key]; known {
		return list
	}
	k := &r.config.Keys[key]
	rows := r.members[k.Of].rows(k.References)
	var list []int32
	for _, v := range r.members[k.Table].values(k.Column) {
		at, there := rows[v]
		if !there {
			at = -1
		}
		list = append(list, int32(at))
	}
	r.refer[key] = list
	return list
}

// beside returns what the other tables tell of each record of one: upward, downward and sideways.
func (r *run) beside(m *member) (up, down []shown) {
	for key := range r.config.Keys {
		switch k := &r.config.Keys[key]; m.table.Name {
		case k.Table:
			up = append(up, r.above(m, key)...)
		case k.Of:
			down = append(down, r.below(key)...)
		}
	}
	return up, slices.Concat(down, r.byLevels(m, len(up)+len(down)))
}

// view returns the columns of a table and, beside them, of all others but those beyond a key.
func (r *run) view(m *member, except int, sideways bool) []shown {
	list := m.own()
	for key := range r.config.Keys {
		switch k := &r.config.Keys[key]; {
		case key == except:
		case k.Table == m.table.Name && sideways:
			list = append(list, r.above(m, key)...)
		case k.Table == m.table.Name:
			list = append(list, lifted(r.view(r.members[k.Of], key, false), r.parents(key))...)
		case k.Of == m.table.Name:
			list = append(list, r.below(key)...)
		}
	}
	return list
}

// above returns what is known of the record to which one refers, and of the others that refer to it, to whatever is
// above it.
func (r *run) above(m *member, key int) []shown {
	list := lifted(r.view(r.members[r.config.Keys[key].Of], key, true), r.parents(key))
	group := r.parents(key)
	for at := key; ; {
		parent := r.members[r.config.Keys[at].Of]
		list = append(list, others(m, parent, group)...)
		next := slices.IndexFunc(r.config.Keys, func(k Key) bool { return k.Table == parent.table.Name })
		if next < 0 {
			return list
		}
		group, at = through(group, r.parents(next)), next
	}
}

// through returns the records to which those of a list refer.
func through(list, parents []int32) []int32 {
	to := make([]int32, len(list))
	for i, p := range list {
		if to[i] = -1; p >= 0 {
			to[i] = parents[p]
		}
	}
	return to
}

// lifted returns columns of the records to which others refer, by the latter. Of a column that is another one for most
// of the records referred to, equal values say which records refer to the same one, which their key says already: those
// of numbers are set apart, and categories are left out.
func lifted(columns []shown, parents []int32) (list []shown) {
	for _, c := range columns {
		many, category := c.identifies()
		if many && category {
			continue
		}
		values := make([]float64, len(parents))
		for i, p := range parents {
			if values[i] = math.NaN(); p >= 0 {
				values[i] = c.Values[p]
			}
		}
		if c.Values = values; many {
			setApart(values, parents)
		}
		list = append(list, c.named(""))
	}
	return list
}

// identifies reports whether most values of a column are different ones, and whether any of them is a category.
func (s *shown) identifies() (many, category bool) {
	different, n := map[float64]bool{}, 0
	for _, v := range s.Values {
		if v == v {
			different[v], category = true, category || v >= assess.Categories
			n++
		}
	}
	return 2*len(different) > n, category
}

// setApart makes equal numbers of a group different ones, by as little as numbers can differ: what they give of another
// number is the same, and no others have the same.
func setApart(values []float64, group []int32) {
	type number struct {
		group int32
		value float64
	}
	last := map[number]float64{}
	for i, p := range group {
		if v := values[i]; p >= 0 && v == v {
			at := number{p, v}
			if before, again := last[at]; again {
				values[i] = math.Nextafter(before, math.Inf(1))
			}
			last[at] = values[i]
		}
	}
}

// named returns the column with the name of its table, and of what is made of it.
func (s shown) named(made string) shown {
	if s.of != "" {
		s.Name, s.of = s.of+"."+s.Name, ""
	}
	if made != "" {
		s.Name += " (" + made + ")"
	}
	return s
}

// others returns what the records of a group that refer to the same one have of each number of a table, the others and
// all of them, and what each number of the record above them is for this one if it is their sum, or the greatest or the
// least of them.
func others(m, parent *member, group []int32) (list []shown) {
	n := sums(slices.Repeat([]float64{1}, len(group)), group, parent.part.Joined.Records)
	if !slices.ContainsFunc(n, func(v float64) bool { return v > 0 }) {
		return nil
	}
	several := slices.ContainsFunc(n, func(v float64) bool { return v > 1 })
	made := "others of one of " + parent.table.Name
	add := func(name string, value func(i int, p int32) float64) {
		values := make([]float64, len(group))
		for i, p := range group {
			if values[i] = math.NaN(); p >= 0 {
				values[i] = value(i, p)
			}
		}
		list = append(list, shown{assess.Seen{Name: name, Values: values}, asNothing, ""})
	}
	add(m.table.Name+" ("+made+")", func(_ int, p int32) float64 { return n[p] - 1 })
	var pairs []pair
	for _, c := range m.own() {
		if !c.numbers() {
			continue
		}
		sum := sums(c.Values, group, len(n))
		most, least := extremes(c.Values, group, len(n), 1), extremes(c.Values, group, len(n), -1)
		if several {
			add(c.named(made).Name, func(i int, p int32) float64 {
				if n[p] < 2 {
					return math.NaN()
				}
				return sum[p] - present(c.Values[i])
			})
			add(c.named("mean of one of "+parent.table.Name).Name, func(_ int, p int32) float64 { return sum[p] / n[p] })
			setApart(list[len(list)-1].Values, group)
		}
		for _, a := range parent.own() {
			if !a.numbers() {
				continue
			}
			above := parent.table.Name + "." + a.Name
			pairs = append(pairs, pair{above + " less " + c.named("").Name + ", by head", correlated(a.Values, sum),
				func(_ int, p int32) float64 { return (a.Values[p] - sum[p]) / n[p] }})
			if several {
				pairs = append(pairs, pair{above + " as " + c.named("").Name + " of the only one", correlated(a.Values, sum),
					func(i int, p int32) float64 {
						if n[p] == 1 {
							return a.Values[p]
						}
						return c.Values[i]
					}})
			}
			for _, e := range []struct {
				word string
				of   []float64
			}{{"greatest", most}, {"least", least}} {
				if several {
					pairs = append(pairs, pair{above + " as the " + e.word + " " + c.named("").Name, correlated(a.Values, e.of),
						func(i int, p int32) float64 {
							if c.Values[i] == e.of[p] {
								return a.Values[p]
							}
							return c.Values[i]
						}})
				}
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.near, a.near) })
	for _, p := range pairs[:min(len(pairs), mostPairs)] {
		add(p.name, p.value)
		setApart(list[len(list)-1].Values, group)
	}
	return list
}

// mostPairs is the number of columns that are made of one above and one of the records of its group: of those whose
// columns go most together.
const mostPairs = 24

// pair is made of a number above and one of the records of its group.
type pair struct {
	name  string
	near  float64 // how much the two go together
	value func(i int, p int32) float64
}

// correlated returns the absolute correlation of two columns where both have numbers; 0 if there is none.
func correlated(a, b []float64) float64 {
	var x, y []float64
	for i := range a {
		if a[i] == a[i] && b[i] == b[i] {
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	if len(x) < 2 {
		return 0
	}
	if c := math.Abs(stat.Correlation(x, y, nil)); c == c {
		return c
	}
	return 0
}

// present is a number, 0 if there is none.
func present(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

// sums adds up numbers by group.
func sums(values []float64, group []int32, n int) []float64 {
	sum := make([]float64, n)
	for i, p := range group {
		if p >= 0 {
			sum[p] += present(values[i])
		}
	}
	return sum
}

// below returns what the records that refer to one by a key amount to: how many they are, and of each number the sum,
// the mean, the least and the greatest; if none is referred to by two, what they are.
func (r *run) below(key int) (list []shown) {
	k := &r.config.Keys[key]
	child, n, group := r.members[k.Table], r.members[k.Of].part.Joined.Records, r.parents(key)
	ones, single := slices.Repeat([]float64{1}, len(group)), true
	count := sums(ones, group, n)
	for _, v := range count {
		single = single && v <= 1
	}
	add := func(c shown, made string, by gathering, values []float64) {
		c = c.named(made)
		c.by, c.Values = by, values
		list = append(list, c)
	}
	add(shown{of: child.table.Name, Seen: assess.Seen{Name: "records"}}, "", asSum, count)
	for _, c := range r.view(child, key, false) {
		if single {
			values := slices.Repeat([]float64{math.NaN()}, n)
			for i, p := range group {
				if p >= 0 {
					values[p] = c.Values[i]
				}
			}
			add(c, "", c.by, values)
			continue
		}
		if !c.numbers() {
			continue
		}
		if c.by == asItIs || c.by == asSum {
			sum := sums(c.Values, group, n)
			add(c, "sum", asSum, sum)
			if c.by == asItIs {
				there := make([]float64, len(group))
				for i, v := range c.Values {
					if v == v {
						there[i] = 1
					}
				}
				mean := sums(there, group, n)
				for p, v := range mean {
					mean[p] = sum[p] / v
				}
				add(c, "mean", asNothing, mean)
			}
		}
		if c.by == asItIs || c.by == asLeast {
			add(c, "least", asLeast, extremes(c.Values, group, n, -1))
		}
		if c.by == asItIs || c.by == asMost {
			add(c, "greatest", asMost, extremes(c.Values, group, n, 1))
		}
	}
	return list
}

// extremes returns the greatest number by group, or with sign −1 the least; NaN where there is none.
func extremes(values []float64, group []int32, n int, sign float64) []float64 {
	list := slices.Repeat([]float64{math.NaN()}, n)
	for i, p := range group {
		if v := values[i]; p >= 0 && v == v && !(sign*v <= sign*list[p]) {
			list[p] = v
		}
	}
	return list
}

// byLevels returns what the records that refer to one amount to by the values of a column that has few.
func (r *run) byLevels(m *member, already int) (list []shown) {
	for key := range r.config.Keys {
		k := &r.config.Keys[key]
		if k.Of != m.table.Name {
			continue
		}
		child, group := r.members[k.Table], r.parents(key)
		n := m.part.Joined.Records
		own := child.own()
		for _, c := range r.byLevels(child, already+len(list)) {
			c = c.named("sum")
			c.Values = sums(c.Values, group, n)
			list = append(list, c)
		}
		for _, by := range own {
			levels := levelsOf(by.Values)
			for l, level := range levels {
				within := slices.Clone(group)
				for i, v := range by.Values {
					if v != level {
						within[i] = -1
					}
				}
				made := fmt.Sprintf("%d of %s", l+1, by.Name)
				add := func(c shown, values []float64) {
					if c = c.named(made); already+len(list) < mostByLevel {
						c.Values, c.by = values, asNothing
						list = append(list, c)
					}
				}
				add(shown{of: child.table.Name, Seen: assess.Seen{Name: "records"}},
					sums(slices.Repeat([]float64{1}, len(group)), within, n))
				for _, c := range own {
					if c.numbers() && c.Name != by.Name {
						add(c, sums(c.Values, within, n))
					}
				}
			}
		}
	}
	return list
}

// levelsOf returns the different values of a column in ascending order; none if they are one or many.
func levelsOf(values []float64) (levels []float64) {
	for _, v := range values {
		if at, there := slices.BinarySearch(levels, v); v == v && !there {
			if levels = slices.Insert(levels, at, v); len(levels) > fewLevels {
				return nil
			}
		}
	}
	if len(levels) < 2 {
		return nil
	}
	return levels
}
