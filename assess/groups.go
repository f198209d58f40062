package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// MaxGroups is the greatest number of groups of Exploration.By.
const MaxGroups = 1000

// ErrGroups is returned by Explore if Exploration.By forms more than MaxGroups groups.
var ErrGroups = fmt.Errorf("assess: explore: by: must form at most %d groups", MaxGroups)

// formed returns the groups in the order of their codes.
func (r *reckoning) formed(by []int) ([]*group, error) {
	if len(by) == 0 {
		return nil, nil
	}
	keys := make([][]float64, len(by))
	for i, index := range by {
		if keys[i] = r.at(index); keys[i] == nil {
			return nil, fmt.Errorf("assess: explore: by: column %d is neither assessed nor carried", index)
		}
	}
	rows := make([]int32, 0, r.data.N)
	for row := range int32(r.data.N) {
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
		g := &group{Class: replicate.Class{Rows: rows[from:to:to]}}
		for _, k := range keys {
			g.codes = append(g.codes, k[rows[from]])
		}
		r.look(g)
		groups = append(groups, g)
		from = to
	}
	return groups, nil
}

// at returns the sample's values or codes of a column, given by its index in blocks; nil if it has
// none.
func (r *reckoning) at(index int) []float64 {
	o := &r.a.opts
	if i := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Index == index }); i >= 0 {
		return r.data.Original(i)
	}
	if i := slices.Index(o.Carry, index); i >= 0 {
		return r.data.Values[r.a.layout.CarryAt(i)]
	}
	return nil
}

// look finds moments and targets of a group's masked columns.
func (r *reckoning) look(g *group) {
	g.X, g.Valid = map[int][]float64{}, map[int]microdata.Bitmap{}
	g.located, g.Holder, g.moment = map[int][]located{}, map[int][]int{}, map[int]comoment.Pair{}
	for c, column := range r.a.opts.Columns {
		if !column.Masked {
			continue
		}
		x := g.Of(r.data.Original(c), new([]float64))
		there := cell.Present(x)
		taus := orderstat.Percentiles(there, r.a.targets)
		for t, target := range r.a.targets {
			f := located{target: target, tau: taus[t], position: math.NaN(), sampled: !r.data.Complete}
			if len(there) > 0 && target.Minimum() {
				f.tau = slices.Min(there)
			} else if len(there) > 0 && target.Maximum() {
				f.tau = slices.Max(there)
			}
			holder := slices.Index(x, f.tau) // −1 for NaN
			if holder >= 0 {
				row := g.Rows[holder]
				f.record = &sample.Extreme{X: f.tau, From: r.data.From[row], Row: r.data.Row[row],
					Values: make([]float64, len(r.data.Values))}
			}
			g.located[c], g.Holder[c] = append(g.located[c], f), append(g.Holder[c], holder)
		}
		g.moment[c] = comoment.Of(there)
		g.Valid[c] = replicate.WithoutNaN(x)
		g.X[c] = x
	}
}
