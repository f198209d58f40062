package joint

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// feature is a number made of the values of a record.
type feature struct {
	column int
	from   []int // columns of which it is made, if it is made of several
	values []float64
	whole  bool // whether it is a column's own value, not an indicator
	others bool // whether it is made of other records' values
}

// grouping is a partition of the records by the values of a column, or of several.
type grouping struct {
	columns []int
	of      []int32 // by row; −1: no value
	groups  int
	// identifies says that the values may be those of units: categories or whole numbers, too many
	// for indicators.
	identifies bool
}

// ofFew reports whether the groups may be units of a few of so many records.
func (g *grouping) ofFew(rows int) bool { return g.identifies && g.groups*leastPart > rows }

// level is a value of a column, and how many records of the sample have it.
type level struct {
	value float64
	count int
}

// whole reports whether a level is a whole number, but for what tells apart texts with one number in them.
func (l level) whole() bool {
	return math.Abs(l.value-math.Round(l.value)) <= 1e-9*math.Abs(l.value)
}

// prepare makes the features of a column that do not depend on what is sought.
func (f *Frame) prepare(i int) {
	c := &f.columns[i]
	levels, of, missing := f.levels(c.Values)
	numeric := f.numbers(i)
	if share := float64(missing) / float64(max(f.rows, 1)); !c.GroupOnly && share > 0.001 && share < 0.999 {
		f.indicator(i, func(v float64) bool { return v != v })
	}
	if len(levels) < 2 {
		return
	}
	if len(levels) <= mostLevels && !c.GroupOnly {
		common := slices.MaxFunc(levels, func(a, b level) int { return a.count - b.count }).value
		for _, l := range levels {
			if (l.value != common || numeric) && l.count >= max(5, f.rows/1000) {
				f.indicator(i, func(v float64) bool { return v == l.value })
			}
		}
	}
	if len(levels) > f.rows*9/10 && !c.GroupOnly {
		return // nearly every record has a value of its own
	}
	g := grouping{columns: []int{i}, of: of, groups: len(levels)}
	g.identifies = c.GroupOnly || len(levels) > mostLevels &&
		(!numeric || !slices.ContainsFunc(levels, func(l level) bool { return !l.whole() }))
	f.groups = append(f.groups, g)
}

// levels returns the different values of the sample in ascending order, the place among them of each
// row's value (−1: none, or not a value of the sample), and how often the sample has none.
func (f *Frame) levels(values []float64) (levels []level, of []int32, missing int) {
	order := make([]int32, 0, f.rows)
	for i, v := range values[:f.rows] {
		if v == v {
			order = append(order, int32(i))
		}
	}
	missing = f.rows - len(order)
	rank.Order(order, values, nil)
	of = make([]int32, len(values))
	for i := range of {
		of[i] = -1
	}
	for _, i := range order {
		v := values[i]
		if n := len(levels); n == 0 || levels[n-1].value != v {
			levels = append(levels, level{value: v})
		}
		levels[len(levels)-1].count++
		of[i] = int32(len(levels) - 1)
	}
	for i := f.rows; i < len(values); i++ {
		at, there := slices.BinarySearchFunc(levels, values[i], func(l level, v float64) int {
			return cmp.Compare(l.value, v)
		})
		if there {
			of[i] = int32(at)
		}
	}
	return levels, of, missing
}

// numbers adds a column's values as a feature if at least half of them are numbers, and reports
// whether they are; the mean stands for what is missing or no number.
func (f *Frame) numbers(column int) bool {
	c := &f.columns[column]
	sum, n, others := 0.0, 0.0, 0.0
	for _, v := range c.Values[:f.rows] {
		switch {
		case v >= cell.Categories:
			others++
		case v == v:
			sum, n = sum+v, n+1
		}
	}
	if c.GroupOnly || n == 0 || others > n {
		return false
	}
	c.numbers = c.Values
	if others > 0 {
		c.numbers = slices.Clone(c.Values)
		for i, v := range c.numbers {
			if v >= cell.Categories {
				c.numbers[i] = math.NaN()
			}
		}
	}
	values := c.numbers
	if slices.ContainsFunc(values, func(v float64) bool { return v != v }) {
		values = slices.Clone(values)
		for i, v := range values {
			if v != v {
				values[i] = sum / n
			}
		}
	}
	f.features = append(f.features, feature{column: column, values: values, whole: true})
	return true
}

func (f *Frame) indicator(column int, is func(v float64) bool) {
	values := make([]float64, f.all)
	for i, v := range f.columns[column].Values {
		if is(v) {
			values[i] = 1
		}
	}
	f.features = append(f.features, feature{column: column, values: values})
}

const (
	// fewLevels is the number of values up to which a column is crossed with others.
	fewLevels = 200
	// mostPaired and mostTripled columns, those with the fewest values, are crossed with one another, in
	// twos and in threes.
	mostPaired  = 10
	mostTripled = 6
)

// crossings returns the partitions by two and by three columns with few values each. A partition with
// more groups than the records can show is left out.
func (f *Frame) crossings() []grouping {
	f.crossing.Do(func() {
		var few []*grouping
		for i := range f.groups {
			if g := &f.groups[i]; g.groups <= fewLevels && !f.columns[g.columns[0]].GroupOnly {
				few = append(few, g)
			}
		}
		slices.SortStableFunc(few, func(a, b *grouping) int { return cmp.Compare(a.groups, b.groups) })
		few = few[:min(len(few), mostPaired)]
		for i, a := range few {
			for j, b := range few[:i] {
				if a.groups*b.groups > 4*f.rows {
					continue
				}
				pair := f.cross(b, a)
				f.crossed = append(f.crossed, pair)
				for _, c := range few[:min(j, mostTripled)] {
					if i < mostTripled && pair.groups*c.groups <= f.rows {
						f.crossed = append(f.crossed, f.cross(c, &pair))
					}
				}
			}
		}
	})
	return f.crossed
}

// cross returns the partition by the columns of two.
func (f *Frame) cross(a, b *grouping) grouping {
	g := grouping{columns: slices.Concat(a.columns, b.columns), of: make([]int32, f.all), groups: a.groups * b.groups,
		identifies: a.identifies || b.identifies}
	for row := range g.of {
		if g.of[row] = -1; a.of[row] >= 0 && b.of[row] >= 0 {
			g.of[row] = a.of[row]*int32(b.groups) + b.of[row]
		}
	}
	return g
}

// groupMeans are the means of y over the records of a row's group, or over the others of them; the mean of all where
// there is none.
type groupMeans struct {
	of           *grouping
	y            []float64
	rows         int // of the sample
	others       bool
	sums, counts []float64
	mean         float64
}

// averaged returns the means over the records of a row's group.
func (f *Frame) averaged(g *grouping, y []float64) *groupMeans { return f.groupMeans(g, y, false) }

// ofOthers returns the same over the other records of a row's group.
func (f *Frame) ofOthers(g *grouping, y []float64) *groupMeans { return f.groupMeans(g, y, true) }

func (f *Frame) groupMeans(g *grouping, y []float64, others bool) *groupMeans {
	m := &groupMeans{of: g, y: y, rows: f.rows, others: others, sums: make([]float64, g.groups),
		counts: make([]float64, g.groups)}
	all, n := 0.0, 0.0
	for i := range f.rows {
		if v := y[i]; v == v {
			all, n = all+v, n+1
			if at := g.of[i]; at >= 0 {
				m.sums[at] += v
				m.counts[at]++
			}
		}
	}
	m.mean = all / max(n, 1)
	return m
}

func (m *groupMeans) at(row int) float64 {
	at := m.of.of[row]
	if at < 0 {
		return m.mean
	}
	sum, count := m.sums[at], m.counts[at]
	if v := m.y[row]; m.others && row < m.rows && v == v {
		sum, count = sum-v, count-1
	}
	if count > 0 {
		return sum / count
	}
	return m.mean
}

// all returns them by row.
func (m *groupMeans) all() []float64 {
	out := make([]float64, len(m.of.of))
	for i := range out {
		out[i] = m.at(i)
	}
	return out
}
