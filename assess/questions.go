package assess

import "slices"

// questions says what is to be learnt from every replicate, and of which records
// all of them must have.
func (r *reckoning) questions() ([]question, *planner) {
	o := &r.a.opts
	p := &planner{of: r.a.layout, data: r.data,
		by: max(0, slices.IndexFunc(o.Columns, func(c Column) bool { return c.Masked }))}
	var questions []question
	for c := range o.Columns {
		targets, masked := r.targets[c]
		if !masked || r.expected[c] != nil {
			continue
		}
		q := question{column: c, targets: r.a.targets}
		n := len(withValue(r.data.original(c)))
		for _, f := range targets {
			q.index = append(q.index, f.record)
			if f.record != nil {
				p.tracked = append(p.tracked, f.record)
			}
			if r.partial {
				q.quantile = append(q.quantile, (float64(f.target.rank(n))-0.5)/float64(max(n, 1)))
			}
		}
		if r.partial {
			for _, e := range []*edge{&r.a.columns[c].bottom, &r.a.columns[c].top} {
				e.prune()
				for i := range e.entries {
					p.tracked = append(p.tracked, &e.entries[i])
				}
			}
		}
		q.fitted.fit(r.data.released(c))
		questions = append(questions, q)
	}
	return questions, p
}

// split plans the subsets for so many replicates.
func (r *reckoning) split(p *planner, limit, replicates int) []*subset {
	o := &r.a.opts
	size := PartOf
	if limit > 0 {
		size = limit
	}
	var subsets []*subset
	switch {
	case !r.partial, o.Mixes && (limit == 0 || r.data.n <= limit):
		subsets = p.whole()
	case o.Mixes:
		subsets = p.random(limit)
	default:
		subsets = p.systematic(max(1, min((r.data.n+size-1)/size, replicates)))
	}
	r.setSubsets(subsets)
	return subsets
}

func (r *reckoning) setSubsets(subsets []*subset) {
	r.subsets = len(subsets)
	records := 0
	for _, s := range subsets {
		records += s.size
	}
	r.share = float64(records) / float64(len(subsets)) / float64(r.data.records)
}

// sort keeps the answers by column.
func (r *reckoning) sort(answers [][]answer, questions []question) {
	for k, q := range questions {
		if q.class != nil {
			continue
		}
		list := make([]answer, len(answers))
		for m := range answers {
			list[m] = answers[m][k]
		}
		r.answers[q.column] = list
		if r.partial {
			r.bias[q.column] = r.biasOf(q.column)
		}
	}
}
