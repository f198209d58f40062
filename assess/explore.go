package assess

import (
	"context"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// Exploration is a grid of masks that are evaluated without a release: the points of an R-U
// map.
type Exploration struct {
	Points int

	// Replicate returns the masks of replicate m, one for each point. They are
	// used one after another by one goroutine and may share their draws; Replicate
	// itself is called from several goroutines. Common draws make R and U smooth
	// along the grid.
	Replicate func(m int) []Masker

	From, Replicates int // replicates From … From+Replicates−1, From ≥ 1

	// By lists Block.Columns, assessed or carried ones: R and U are also given
	// for each group of records that have the same values there. Records without
	// one of the values are in no group.
	By []int

	// Exchange gives, by point, the effect of swaps on records that are known by their index;
	// Replicate then returns only the masks that move no values. It may be nil.
	Exchange []Exchange

	// Law returns the law of a column under the masks of a point; nil if it is not known. It
	// serves as Options.Law does for Measure; it may be nil.
	Law func(point int, column string) Law

	Done func(points int) // called after a replicate of a number of points, from several goroutines; may be nil
}

// Explored is the result for one masked column at one point. The realised R and U are NaN,
// because nothing was released.
type Explored struct {
	Column  string
	Utility Utility
	Risk    []Risk
	Groups  []ExploredGroup // as many for each point, in the same order
}

// ExploredGroup is one group of records.
type ExploredGroup struct {
	// Codes are the values of the columns that Exploration.By lists: numbers, or,
	// for a carried column in array form, the codes that Code returns.
	Codes   []float64
	Records int // of the sample
	Utility Utility
	Risk    []Risk
}

// answersAtOnce bounds the results of replicates in memory, a few hundred bytes each. With
// many groups the points are taken in parts, and the draws are repeated for each part.
const answersAtOnce = 400_000

// Explore applies replicates of the masks of every point to the original values added so far,
// and returns the results by point for every masked column. If the sample holds all records, R
// and U are those that Measure would return for a release with the same replicates. Otherwise
// they are those of Measure with the same laws; groups are then groups of the sample, and
// approximate. Masks that move values between records need all records in the sample.
func (a *Accumulator) Explore(ctx context.Context, e Exploration) ([][]Explored, error) {
	r := a.reckon(true)
	switch {
	case e.Points < 1 || e.Replicates < 2 || e.From < 1:
		return nil, fmt.Errorf("assess: explore: needs at least 1 point and 2 replicates from number 1 on, got %d, %d and %d",
			e.Points, e.Replicates, e.From)
	case r.data.N == 0:
		return nil, fmt.Errorf("assess: explore: there are no records")
	case a.opts.Mixes && !r.data.Complete:
		return nil, fmt.Errorf("assess: explore: masks that move values between records need all records in the sample")
	}
	out := make([][]Explored, e.Points)
	r.partial, r.repeats = !r.data.Complete, r.repeated()
	unknown := false
	for point := range out {
		byLaw, err := r.lawful(ctx, &e, point)
		if err != nil {
			return nil, err
		}
		out[point] = byLaw
		unknown = unknown || byLaw == nil
	}
	if !unknown && len(e.By) == 0 {
		return out, nil
	}
	x, err := r.exploring(&e)
	if err != nil {
		return nil, err
	}
	at := max(1, answersAtOnce/(e.Replicates*len(x.questions)))
	var answers [][][]replicate.Answer
	for point := range out {
		if point%at == 0 {
			answers = nil // frees memory for the next part
			if answers, err = x.replicates(ctx, point, min(at, e.Points-point)); err != nil {
				return nil, err
			}
		}
		out[point] = x.completed(point, answers[point%at], out[point])
	}
	return out, nil
}

// exploring holds the subsets and questions that are the same for all points of an exploration.
type exploring struct {
	*reckoning
	of        *Exploration
	subsets   []*replicate.Subset
	groups    []*group
	questions []replicate.Question // of all records by column, then of each group
	columns   int                  // number of columns in questions
}

// exploring plans the subsets, forms the groups, and prepares questions for all records and for
// each group.
func (r *reckoning) exploring(e *Exploration) (*exploring, error) {
	x := &exploring{reckoning: r, of: e}
	questions, p := r.questions()
	if len(e.By) > 0 {
		x.subsets = p.Whole() // so that every group is in every replicate
		r.setSubsets(x.subsets)
	} else {
		x.subsets = r.split(p, 0, e.Replicates)
	}
	var err error
	if x.groups, err = r.formed(e.By); err != nil {
		return nil, err
	}
	x.columns = len(questions)
	for _, g := range x.groups {
		for _, q := range questions[:x.columns] {
			of := replicate.Question{Column: q.Column, Targets: q.Targets, Class: &g.Class, Between: q.Between}
			of.Fitted.Fit(g.X[q.Column])
			questions = append(questions, of)
		}
	}
	x.questions = questions
	r.before = map[int][]float64{}
	for _, q := range questions[:x.columns] {
		for _, s := range x.subsets {
			r.before[q.Column] = append(r.before[q.Column], s.OriginalVariance(q.Column))
		}
	}
	return x, nil
}

// replicates runs the replicates of a number of points, beginning with point.
func (x *exploring) replicates(ctx context.Context, point, points int) ([][][]replicate.Answer, error) {
	return replicate.Run(ctx, replicate.Trial{
		Of: x.a.layout, Mixes: x.a.opts.Mixes, Points: points, From: x.of.From, Replicates: x.of.Replicates, Done: x.of.Done,
		Each: func(m int) []replicate.Masker {
			list := make([]replicate.Masker, 0, points)
			for _, mask := range x.of.Replicate(m)[point : point+points] {
				list = append(list, mask)
			}
			return list
		},
	}, x.subsets, x.questions)
}

// completed adds to the results by a point's laws those of its replicates: for columns without
// a law, and for groups.
func (x *exploring) completed(point int, answers [][]replicate.Answer, results []Explored) []Explored {
	x.answers, x.bias = map[int][]replicate.Answer{}, map[int]bias{}
	x.sort(answers, x.questions)
	if x.of.Exchange != nil {
		x.exchange = x.of.Exchange[point]
	}
	for k, q := range x.questions[:x.columns] {
		explored := Explored{Column: x.a.opts.Columns[q.Column].Name, Utility: x.utility(q.Column), Risk: x.risks(q.Column)}
		for i, g := range x.groups {
			list := make([]replicate.Answer, x.of.Replicates)
			for m := range list {
				list[m] = answers[m][x.columns+i*x.columns+k]
			}
			explored.Groups = append(explored.Groups, x.ofGroup(g, q.Column, list))
		}
		if len(results) == k {
			results = append(results, explored)
		}
		results[k].Groups = explored.Groups
	}
	return results
}

// lawful returns the results for every masked column by the laws of a point's masks; nil if
// one of the laws is not known, or if replicates are made of all records.
func (r *reckoning) lawful(ctx context.Context, e *Exploration, point int) ([]Explored, error) {
	if !r.partial || e.Law == nil {
		return nil, nil
	}
	laws := r.laws(func(column string) Law { return e.Law(point, column) })
	if len(laws) < len(r.targets) {
		return nil, nil
	}
	defer func() { r.expected = nil }()
	if err := r.foresee(ctx, laws); err != nil {
		return nil, err
	}
	if len(r.expected) < len(r.targets) {
		return nil, nil
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

// ofGroup returns the results for a column in a group, computed as if the group were all of the
// data.
func (r *reckoning) ofGroup(g *group, column int, answers []replicate.Answer) ExploredGroup {
	x := g.moment[column]
	of := &reckoning{a: r.a, data: r.data, exchange: r.exchange, group: g, candidate: true, subsets: 1}
	out := ExploredGroup{Codes: g.codes, Records: len(g.Rows)}
	nothing := comoment.Pair{Mi: math.NaN()}
	out.Risk = of.risksOf(view{x: &x, y: &nothing, own: math.NaN(), targets: g.located[column], answers: answers,
		replicated: true, column: column})
	for i := range out.Risk {
		out.Risk[i].RealisedR = Float(math.NaN())
		out.Risk[i].Sampled = !r.data.Complete
		if !r.data.Complete { // the group is known from a sample only
			out.Risk[i].Approximate, out.Risk[i].Errs = true, ErrsEither
		}
	}
	stateErrors(out.Risk)
	out.Utility = Utility{RealisedU: Float(math.NaN()), U0: Float(estimate.Risk(x.Variance() / x.N))}
	if of := r.a.opts.Columns[column]; of.Fitted {
		out.Utility.expectFitted(answers, &x, of)
	} else {
		out.Utility.expect(answers, &x)
	}
	out.Utility.setEfficiency()
	return out
}
