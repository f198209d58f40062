package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Exploration is a grid of masks that are tried on data which are not released:
// the points of an R-U map.
type Exploration struct {
	Points int

	// Replicate returns the masks of replicate m, one for each point. They are
	// used one after another by one goroutine and may share their draws; it is
	// called from several. Draws that the points have in common make R and U
	// smooth along the grid.
	Replicate func(m int) []Masker

	From, Replicates int // replicates From … From+Replicates−1, From ≥ 1

	// By lists Block.Columns, assessed or carried ones: R and U are also given
	// for each group of records that have the same values there. Records without
	// one of the values are in no group.
	By []int

	// Exchange tells, by point, what swaps do to records known by their index; Replicate is
	// then of the masks which move nothing. It may be nil.
	Exchange []Exchange

	// Law returns the law of what the masks of a point make of a column, nil where it is
	// not known. It serves as Options.Law does for Measure; it may be nil.
	Law func(point int, column string) Law

	Done func(points int) // called after a replicate of so many points, from several goroutines; may be nil
}

// Explored is what was found of one masked column at one point. The realised R
// and U are NaN: nothing was released.
type Explored struct {
	Column  string
	Utility Utility
	Risk    []Risk
	Groups  []ExploredGroup // as many for each point, in the same order
}

// ExploredGroup is one group of records.
type ExploredGroup struct {
	// Codes are the values of the columns that Exploration.By lists: numbers, or
	// of a carried column in array form the codes that Code gives.
	Codes   []float64
	Records int // of the sample
	Utility Utility
	Risk    []Risk
}

// answersAtOnce bounds what is kept of the replicates, of a few hundred bytes
// each: where there are many groups, the points are taken in parts, for each of which
// the draws are made again.
const answersAtOnce = 400_000

// Explore replicates the masks of every point on what has been added, of which
// the released values are left aside, and returns by point what was found of every
// masked column. Where the sample holds all records, R and U are those that
// Measure would find of a release with the same replicates. Where it does not, they
// are what Measure finds with the same laws; groups are then groups of the sample, and
// approximate. Masks that move values between records need the whole data.
func (a *Accumulator) Explore(ctx context.Context, e Exploration) ([][]Explored, error) {
	r := a.reckon(true)
	switch {
	case e.Points < 1 || e.Replicates < 2 || e.From < 1:
		return nil, fmt.Errorf("assess: explore: needs at least 1 point and 2 replicates from number 1 on, got %d, %d and %d", e.Points, e.Replicates, e.From)
	case r.data.n == 0:
		return nil, fmt.Errorf("assess: explore: there are no records")
	case a.opts.Mixes && !r.data.complete:
		return nil, fmt.Errorf("assess: explore: masks that move values between records need all records in the sample")
	}
	out := make([][]Explored, e.Points)
	r.partial = !r.data.complete
	unknown := false
	for point := range out {
		found, err := r.lawful(ctx, &e, point)
		if err != nil {
			return nil, err
		}
		out[point] = found
		unknown = unknown || found == nil
	}
	if !unknown && len(e.By) == 0 {
		return out, nil
	}
	questions, p := r.questions()
	var subsets []*subset
	if len(e.By) > 0 {
		subsets = p.whole() // so that every group is in every replicate
		r.setSubsets(subsets)
	} else {
		subsets = r.split(p, 0, e.Replicates)
	}
	groups, err := r.groups(e.By)
	if err != nil {
		return nil, err
	}
	all := len(questions)
	for _, g := range groups {
		for _, q := range questions[:all] {
			of := question{column: q.column, targets: q.targets, group: g}
			of.fitted.fit(g.x[q.column])
			questions = append(questions, of)
		}
	}
	r.before = map[int][]float64{}
	for _, q := range questions[:all] {
		for _, s := range subsets {
			r.before[q.column] = append(r.before[q.column], s.originalVariance(q.column))
		}
	}
	at := max(1, answersAtOnce/(e.Replicates*len(questions)))
	var answers [][][]answer
	for point := range out {
		if point%at == 0 {
			part := e
			part.Points = min(at, e.Points-point)
			part.Replicate = func(m int) []Masker { return e.Replicate(m)[point : point+part.Points] }
			answers = nil // so that there is memory for the next
			if answers, err = replicates(ctx, &a.opts, &part, subsets, questions); err != nil {
				return nil, err
			}
		}
		answers := answers[point%at]
		r.answers, r.bias = map[int][]answer{}, map[int]bias{}
		r.sort(answers, questions)
		if e.Exchange != nil {
			r.exchange = e.Exchange[point]
		}
		for k, q := range questions[:all] {
			found := Explored{Column: a.opts.Columns[q.column].Name, Utility: r.utility(q.column), Risk: r.risks(q.column)}
			for i, g := range groups {
				list := make([]answer, e.Replicates)
				for m := range list {
					list[m] = answers[m][all+i*all+k]
				}
				found.Groups = append(found.Groups, r.ofGroup(g, q.column, list))
			}
			if len(out[point]) == k {
				out[point] = append(out[point], found)
			}
			out[point][k].Groups = found.Groups
		}
	}
	return out, nil
}

// lawful returns what the laws of a point's masks say of every masked column; nil where
// one of them is not known, or where replicates are made of all records.
func (r *reckoning) lawful(ctx context.Context, e *Exploration, point int) ([]Explored, error) {
	if !r.partial || e.Law == nil {
		return nil, nil
	}
	defer func() { r.expected = nil }()
	r.expect(func(column string) Law { return e.Law(point, column) })
	if len(r.expected) < len(r.targets) {
		return nil, nil
	}
	if err := r.place(ctx); err != nil {
		return nil, err
	}
	var list []Explored
	for c, column := range r.a.opts.Columns {
		if column.Masked {
			list = append(list, Explored{Column: column.Name, Utility: r.utility(c), Risk: r.risks(c)})
		}
	}
	if e.Done != nil && len(e.By) == 0 {
		e.Done(e.Replicates)
	}
	return list, nil
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

// spreadAbout gives the moments of values that are all there.
func spreadAbout(x []float64) comoment {
	c := comoment{N: float64(len(x))}
	for i, v := range x {
		c.Mi += (v - c.Mi) / float64(i+1)
	}
	for _, v := range x {
		c.Cii += (v - c.Mi) * (v - c.Mi)
	}
	return c
}

// group is the records of the sample that have the same values in some columns.
type group struct {
	codes  []float64
	rows   []int32                  // in the sample
	x      map[int][]float64        // by masked column: original values, 0 where there is none
	valid  map[int]microdata.Bitmap // nil where every record has a value
	found  map[int][]found          // by masked column
	holder map[int][]int            // by masked column and target: the row of the group that holds it, −1: none
	moment map[int]comoment         // of the originals
}

// of gathers the group's values.
func (g *group) of(y []float64, buf *[]float64) []float64 {
	if cap(*buf) < len(g.rows) {
		*buf = make([]float64, len(g.rows))
	}
	out := (*buf)[:len(g.rows)]
	for i, row := range g.rows {
		out[i] = y[row]
	}
	return out
}

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
		g := &group{rows: rows[from:to:to]}
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

// ofGroup is what was found of a column in a group: the group is all there is.
func (r *reckoning) ofGroup(g *group, column int, answers []answer) ExploredGroup {
	x := g.moment[column]
	of := &reckoning{a: r.a, data: r.data, exchange: r.exchange, group: g, tried: true, subsets: 1}
	out := ExploredGroup{Codes: g.codes, Records: len(g.rows)}
	nothing := comoment{Mi: math.NaN()}
	out.Risk = of.risksOf(view{x: &x, y: &nothing, own: math.NaN(), targets: g.found[column], answers: answers, asked: true, column: column})
	for i := range out.Risk {
		out.Risk[i].RealisedR = Float(math.NaN())
		out.Risk[i].Sampled = !r.data.complete
		if !r.data.complete { // a group of the sample is not the group
			out.Risk[i].Approximate, out.Risk[i].Errs = true, ErrsEither
		}
	}
	out.Utility = Utility{RealisedU: Float(math.NaN()), U0: Float(riskOf(x.variance() / x.N))}
	out.Utility.expect(answers, &x)
	out.Utility.setEfficiency()
	return out
}
