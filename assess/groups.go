package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// MaxGroups bounds what a report of groups can mean.
const MaxGroups = 1000

// ErrGroups is returned by Explore where Exploration.By forms more than MaxGroups
// groups.
var ErrGroups = fmt.Errorf("assess: explore: by: must form at most %d groups", MaxGroups)

// groups forms the groups, in the order of their codes.
func (r *reckoning) groups(by []int) ([]*group, error) {
	if len(by) == 0 {
		return nil, nil
	}
	keys := make([][]float64, len(by))
	for i, index := range by {
		if keys[i] = r.at(index); keys[i] == nil {
			return nil, fmt.Errorf("assess: explore: by: column %d is neither assessed nor carried", index)
		}
	}
	rows := make([]int32, 0, r.data.n)
	for row := range int32(r.data.n) {
		if !slices.ContainsFunc(keys, func(k []float64) bool { return math.IsNaN(k[row]) }) {
			rows = append(rows, row)
		}
	}
	compare := func(a, b int32) int {
		for _, k := range keys {
			if k[a] != k[b] {
				if k[a] < k[b] {
					return -1
				}
				return 1
			}
		}
		return 0
	}
	slices.SortStableFunc(rows, compare)
	var groups []*group
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && compare(rows[from], rows[to]) == 0 {
			to++
		}
		if len(groups) == MaxGroups {
			return nil, ErrGroups
		}
		g := &group{class: class{rows: rows[from:to:to]}}
		for _, k := range keys {
			g.codes = append(g.codes, k[rows[from]])
		}
		r.look(g)
		groups = append(groups, g)
		from = to
	}
	return groups, nil
}

// at returns what the sample holds of a column of blocks, nil where it has none.
func (r *reckoning) at(index int) []float64 {
	o := &r.a.opts
	if i := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Index == index }); i >= 0 {
		return r.data.original(i)
	}
	if i := slices.Index(o.Carry, index); i >= 0 {
		return r.data.values[2*len(o.Columns)+i]
	}
	return nil
}

// look finds moments and targets of a group's masked columns.
func (r *reckoning) look(g *group) {
	g.x, g.valid = map[int][]float64{}, map[int]microdata.Bitmap{}
	g.found, g.holder, g.moment = map[int][]found{}, map[int][]int{}, map[int]comoment{}
	for c, column := range r.a.opts.Columns {
		if !column.Masked {
			continue
		}
		x := g.of(r.data.original(c), new([]float64))
		there := withValue(x)
		taus := percentiles(there, r.a.targets)
		for t, target := range r.a.targets {
			f := found{target: target, tau: taus[t], position: math.NaN(), sampled: !r.data.complete}
			if len(there) > 0 && target.minimum() {
				f.tau = slices.Min(there)
			} else if len(there) > 0 && target.maximum() {
				f.tau = slices.Max(there)
			}
			holder := slices.Index(x, f.tau) // −1 for NaN
			if holder >= 0 {
				row := g.rows[holder]
				f.record = &extreme{x: f.tau, from: r.data.from[row], row: r.data.row[row], values: make([]float64, len(r.data.values))}
			}
			g.found[c], g.holder[c] = append(g.found[c], f), append(g.holder[c], holder)
		}
		g.moment[c] = spreadAbout(there)
		g.valid[c] = withoutNaN(x)
		g.x[c] = x
	}
}

// originalVariance is s² of the original values in a subset, divisor n−1.
func (s *subset) originalVariance(column int) float64 {
	x := slices.Clone(s.values[column][:s.size])
	if valid := s.valid[column]; valid != nil {
		for i := range x {
			if !valid.Has(i) {
				x[i] = math.NaN()
			}
		}
	}
	c := spreadAbout(withValue(x))
	return c.variance()
}
