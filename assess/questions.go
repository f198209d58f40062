package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
)

// questions returns what is to be computed from every replicate, and the planner of the subsets.
func (r *reckoning) questions() ([]replicate.Question, *replicate.Planner) {
	o := &r.a.opts
	p := &replicate.Planner{Of: r.a.layout, Data: r.data,
		By: max(0, slices.IndexFunc(o.Columns, func(c Column) bool { return c.Masked }))}
	var questions []replicate.Question
	for c := range o.Columns {
		targets, masked := r.targets[c]
		if !masked || r.expected[c] != nil && !o.Columns[c].Undoing.moves() {
			continue
		}
		q := replicate.Question{Column: c, Targets: r.a.targets, Between: r.copies(c) > 1}
		n := len(cell.Present(r.data.Original(c)))
		for _, f := range targets {
			q.Index = append(q.Index, f.record)
			if f.record != nil {
				p.Tracked = append(p.Tracked, f.record)
			}
			if r.partial {
				q.Quantile = append(q.Quantile, (float64(f.target.Rank(n))-0.5)/float64(max(n, 1)))
			}
		}
		if r.partial {
			for _, e := range []*sample.Edge{&r.a.columns[c].bottom, &r.a.columns[c].top} {
				e.Prune()
				for i := range e.Entries {
					p.Tracked = append(p.Tracked, &e.Entries[i])
				}
			}
		}
		q.Fitted.Fit(r.data.Released(c))
		questions = append(questions, q)
	}
	return questions, p
}

// split plans the subsets for a number of replicates.
func (r *reckoning) split(p *replicate.Planner, limit, replicates int) []*replicate.Subset {
	o := &r.a.opts
	size := partOf
	if limit > 0 {
		size = limit
	}
	var subsets []*replicate.Subset
	switch {
	case !r.partial, o.Mixes && (limit == 0 || r.data.N <= limit):
		subsets = p.Whole()
	case o.Mixes:
		subsets = p.Random(limit)
	default:
		subsets = p.Systematic(max(1, min((r.data.N+size-1)/size, replicates)))
	}
	r.setSubsets(subsets)
	return subsets
}

func (r *reckoning) setSubsets(subsets []*replicate.Subset) {
	r.subsets = len(subsets)
	records := 0
	for _, s := range subsets {
		records += s.Size
	}
	r.share = float64(records) / float64(len(subsets)) / float64(r.data.Records)
}

// sort stores the answers by column.
func (r *reckoning) sort(answers [][]replicate.Answer, questions []replicate.Question) {
	for k, q := range questions {
		if q.Class != nil {
			continue
		}
		list := make([]replicate.Answer, len(answers))
		for m := range answers {
			list[m] = answers[m][k]
		}
		r.answers[q.Column] = list
		if r.partial {
			r.bias[q.Column] = r.biasOf(q.Column)
		}
	}
}

// partOf is approximately the number of sampled records in one replicate of a
// sampled column: 200 replicates of four columns then take about a tenth of a
// second, and together they still use every sampled record.
const partOf = 10_000
