package group

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/mdav"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// aggregation is the arithmetic of Microaggregate.
type aggregation struct {
	k                  int
	univariate, median bool
	strata             bool // whether there are any
	demand             core.Contributors
}

// Most implements Masker.
func (a *aggregation) Most() int { return gathered.MaxCells }

func (a *aggregation) Takes() (record, value int64) { return 50, 32 }

func (a *aggregation) MaskAll(g *gathered.Data) *decision.Refusal {
	if err := g.CheckColumns(nil, gathered.Digest{}); err != nil {
		return err
	}
	// strata that are too small are found before any value is changed.
	strata := g.RowsByStratum()
	plans, refusals := make([]aggregationPlan, len(strata)), make([]*decision.Refusal, len(strata))
	cores.Each(len(strata), func(i int) {
		if g.Stop.Now() {
			return
		}
		plan := aggregationPlan{aggregation: a, g: g, rows: strata[i]}
		if a.univariate {
			g.ByTies(plan.rows) // among equal values, the order decides which comes into the lower group
			refusals[i] = plan.byColumn()
		} else {
			g.InOrder(plan.rows) // among records at equal distance the first is taken, which must not depend on the file's order
			refusals[i] = plan.together()
		}
		plans[i] = plan
	})
	if g.Stop.Now() {
		return nil
	}
	if err := gathered.FirstRefusal(refusals); err != nil {
		return err
	}
	if err := a.judge(g, plans); err != nil {
		return err
	}
	cores.Each(len(plans), func(i int) { plans[i].write() })
	return nil
}

// aggregationPlan holds the groups of one stratum and the values that replace those of their
// records.
type aggregationPlan struct {
	*aggregation
	g      *gathered.Data
	rows   []int32 // indexes in g of the stratum's records
	groups []aggregateGroup
	joins  []joining
}

// aggregateGroup is a group of records that get the same values in some columns.
type aggregateGroup struct {
	rows    []int32
	columns []int
	values  []float64 // what replaces the values, by index in columns
}

// joining is a record of which fewer than k records have values in the same columns: it takes
// the values of a group of other records.
type joining struct {
	row     int32
	columns []int
	group   int
}

// tooFew is the error that a stratum, or the data as a whole, have fewer than k records with
// values.
func (p *aggregationPlan) tooFew(n int, column string) *decision.Refusal {
	of := "the data have"
	change := "lower k"
	if p.strata {
		of, change = "a stratum has", "name fewer columns in by, make their categories coarser, or lower k"
	}
	return &decision.Refusal{Path: "k",
		Text: fmt.Sprintf("must be at most the records with a value%s: %s %d, got %d; %s", column, of, n, p.k, change)}
}

// byColumn groups each column by itself.
func (p *aggregationPlan) byColumn() *decision.Refusal {
	for k, values := range p.g.Values {
		var rows []int32
		var x []float64
		for _, r := range p.rows {
			if v := values[r]; v == v {
				rows, x = append(rows, r), append(x, v)
			}
		}
		switch {
		case len(rows) == 0:
			continue
		case len(rows) < p.k:
			return p.tooFew(len(rows), fmt.Sprintf(" in columns[%d]", k))
		}
		group, n := mdav.Sorted(x, p.k, p.g.Stop)
		if p.g.Stop.Now() {
			return nil
		}
		p.add(rows, []int{k}, group, n)
	}
	return nil
}

// add adds n groups of rows that were formed by some columns; group is that of each row.
func (p *aggregationPlan) add(rows []int32, columns []int, group []int32, n int) {
	first := len(p.groups)
	p.groups = append(p.groups, make([]aggregateGroup, n)...)
	sizes := make([]int32, n)
	for _, g := range group {
		sizes[g]++
	}
	all := make([]int32, 0, len(rows))
	for g := range n {
		at := len(all)
		all = all[:at+int(sizes[g])]
		p.groups[first+g] = aggregateGroup{rows: all[at:at:len(all)], columns: columns}
	}
	for i, g := range group {
		to := &p.groups[first+int(g)]
		to.rows = append(to.rows, rows[i])
	}
	values := make([]float64, n*len(columns))
	var buf []float64
	for g := first; g < len(p.groups); g++ {
		to := &p.groups[g]
		to.values, values = values[:len(columns):len(columns)], values[len(columns):]
		for j, k := range columns {
			buf = buf[:0]
			for _, r := range to.rows {
				buf = append(buf, p.g.Values[k][r])
			}
			to.values[j] = p.aggregate(buf)
		}
	}
}

// aggregate returns the mean or the median of values, which it may reorder.
func (a *aggregation) aggregate(values []float64) float64 {
	if a.median {
		slices.Sort(values)
		middle := len(values) / 2
		if len(values)%2 == 1 {
			return values[middle]
		}
		return values[middle-1] + (values[middle]-values[middle-1])/2
	}
	// Differences from the first value are summed, so that the mean of equal values is exactly that value.
	var sum float64
	for _, v := range values[1:] {
		sum += v - values[0]
	}
	return values[0] + sum/float64(len(values))
}

// together groups records by all columns. Records that miss values in the same columns form
// groups of their own: otherwise a mean of fewer than k values could be released. If there are
// fewer than k of them, each takes the values of the nearest group that has values in all
// columns in which the record has one.
func (p *aggregationPlan) together() *decision.Refusal {
	centre, scale := p.standard()
	patterns, byPattern := p.patterns()
	most, some := 0, len(patterns) > 0
	for _, pattern := range patterns {
		rows := byPattern[pattern]
		most = max(most, len(rows))
		if len(rows) < p.k {
			continue
		}
		columns := columnsOf(pattern)
		points := make([]float64, 0, len(rows)*len(columns))
		for _, r := range rows {
			for _, k := range columns {
				points = append(points, (p.g.Values[k][r]-centre[k])*scale[k])
			}
		}
		group, n := mdav.Groups(points, len(columns), p.k, p.g.Stop)
		if p.g.Stop.Now() {
			return nil
		}
		p.add(rows, columns, group, n)
	}
	if some && most < p.k {
		return p.tooFew(most, " in the same columns")
	}
	formed := len(p.groups)
	for _, pattern := range patterns {
		if rows := byPattern[pattern]; len(rows) < p.k {
			for _, r := range rows {
				if p.g.Stop.Now() {
					return nil
				}
				if err := p.join(r, columnsOf(pattern), p.groups[:formed], scale); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// patterns divides the records by the columns in which they have values, one bit a column. It
// returns the patterns in the order in which they first occur, without that of no value, and the
// records of each.
func (p *aggregationPlan) patterns() (patterns []uint64, byPattern map[uint64][]int32) {
	byPattern = map[uint64][]int32{}
	for _, r := range p.rows {
		var pattern uint64
		for k, values := range p.g.Values {
			if v := values[r]; v == v {
				pattern |= 1 << k
			}
		}
		if _, known := byPattern[pattern]; !known && pattern != 0 {
			patterns = append(patterns, pattern)
		}
		byPattern[pattern] = append(byPattern[pattern], r)
	}
	return patterns, byPattern
}

func columnsOf(pattern uint64) (columns []int) {
	for k := range core.GreatestColumns {
		if pattern>>k&1 == 1 {
			columns = append(columns, k)
		}
	}
	return columns
}

// standard returns for each column its mean in the stratum and 1/SD; the latter is 0 for a
// column of equal values.
func (p *aggregationPlan) standard() (centre, scale []float64) {
	for _, values := range p.g.Values {
		var n, mean, squares float64
		for _, r := range p.rows {
			if v := values[r]; v == v {
				n++
				d := v - mean
				mean += d / n
				squares += float64(d * (v - mean))
			}
		}
		s := 0.0
		if squares > 0 { // of two records at least
			s = 1 / math.Sqrt(squares/(n-1))
		}
		centre, scale = append(centre, mean), append(scale, s)
	}
	return centre, scale
}

// join finds for a record the nearest of the groups that have values in all of its columns.
func (p *aggregationPlan) join(row int32, columns []int, groups []aggregateGroup, scale []float64) *decision.Refusal {
	best, least := -1, math.Inf(1)
	for g := range groups {
		of := &groups[g]
		var s float64
		has := true
		for _, k := range columns {
			at := slices.Index(of.columns, k)
			if has = at >= 0; !has {
				break
			}
			d := (of.values[at] - p.g.Values[k][row]) * scale[k]
			s += float64(d * d)
		}
		if has && s < least {
			best, least = g, s
		}
	}
	if best < 0 {
		return &decision.Refusal{
			Path: "columns",
			Text: fmt.Sprintf(
				"must not leave records alone: fewer than k = %d records have values in just the columns of one, and no group has all of these; "+
					"give columns that miss other values a mask of their own, or use method: univariate", p.k)}
	}
	p.joins = append(p.joins, joining{row, columns, best})
	return nil
}

// write replaces the records' values by those of their groups.
func (p *aggregationPlan) write() {
	for i := range p.groups {
		of := &p.groups[i]
		for j, k := range of.columns {
			for _, r := range of.rows {
				p.g.Values[k][r] = of.values[j]
			}
		}
	}
	for _, j := range p.joins {
		of := &p.groups[j.group]
		for _, k := range j.columns {
			p.g.Values[k][j.row] = of.values[slices.Index(of.columns, k)]
		}
	}
}
