package uniqueness

import (
	"context"
	"errors"
	"slices"
)

// ErrPairs is returned if the posterior would take too long.
var ErrPairs = errors.New(
	"too many pairs of distinct keys agree for the posterior of randomly masked keys: count fewer keys, or a sample")

// agreeing is the released tuples of a bundle that agree with respondents of a bundle by the
// exact keys.
type agreeing struct {
	missing uint64  // exact keys that the released tuples lack
	group   []int32 // of each respondent, −1 if no tuple agrees
	start   []int32 // of each group in rows
	rows    []int32 // released tuples, by group
}

// agreements returns what agrees with the respondents of t, by bundle of released tuples.
func (m *meeting) agreements(t bundle) []agreeing {
	list := make([]agreeing, len(m.r.bundles))
	for b, r := range m.r.bundles {
		ids, groups := m.group(t, r)
		of := ids[len(t.classes):]
		a := agreeing{missing: r.missing, group: ids[:len(t.classes):len(t.classes)], start: make([]int32, groups+1),
			rows: make([]int32, len(of))}
		for _, id := range of {
			a.start[id+1]++
		}
		for id := range groups {
			a.start[id+1] += a.start[id]
		}
		fill := slices.Clone(a.start[:groups])
		for at, id := range of {
			a.rows[fill[id]] = r.classes[at]
			fill[id]++
		}
		list[b] = a
	}
	return list
}

// likelihood returns Π P(y | x) over the random keys, for a tuple of respondents and one of
// released records; a key that either lacks has the factor 1.
func (m *meeting) likelihood(t, r int32) float64 {
	p := 1.0
	bt, br := m.t.base[t], m.r.base[r]
	for _, j := range m.random {
		if row, y := m.s.t.keys[j].codes[bt], m.s.r.keys[j].codes[br]; row >= 0 && y >= 0 {
			if p *= m.s.laws[j].of(row, y); p == 0 {
				return 0
			}
		}
	}
	return p
}

// visit calls each for the released tuples that can be those of a respondent, with their odds,
// for one respondent after another; then done. With random keys, all has the likelihoods of each
// released tuple.
func (m *meeting) visit(ctx context.Context, all *likelihoods, each func(t, r int32, odds float64),
	done func(t int32)) error {
	for _, t := range m.t.bundles {
		list := m.agreements(t)
		for at, k := range t.classes {
			if at&1023 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			for b := range list {
				a := &list[b]
				rows := a.rows[a.start[a.group[at]]:a.start[a.group[at]+1]]
				if m.s.pairs -= int64(len(rows)); m.s.pairs < 0 {
					return ErrPairs
				}
				odds := 1.0
				if a.missing&^t.missing != 0 {
					odds = m.s.alpha
				}
				for _, r := range rows {
					w := odds
					if all != nil {
						if w *= all.odds(r, m.likelihood(k, r)); !(w > 0) {
							continue
						}
					}
					each(k, r, w)
				}
			}
			if done != nil {
				done(k)
			}
		}
	}
	return nil
}

// likelihoods holds for each released tuple the sum of its likelihoods over the respondents whom
// it does not contradict by the exact keys, and their number.
type likelihoods struct{ sum, n []float64 }

// surely bounds the odds of a record that can be nobody else's.
const surely = 1e9

// odds returns the likelihood of a released tuple as that of one respondent, divided by its mean as that
// of another.
func (l *likelihoods) odds(r int32, own float64) float64 {
	if own == 0 {
		return 0
	}
	others := 0.0
	if l.n[r] > 1 {
		others = (l.sum[r] - own) / (l.n[r] - 1)
	}
	return own / max(others, own/surely)
}

// likelihoods returns nil without random keys.
func (m *meeting) likelihoods(ctx context.Context) (*likelihoods, error) {
	if len(m.random) == 0 {
		return nil, nil
	}
	all := &likelihoods{make([]float64, len(m.r.count)), make([]float64, len(m.r.count))}
	alpha := m.s.alpha
	m.s.alpha = 1
	defer func() { m.s.alpha = alpha }()
	err := m.visit(ctx, nil, func(t, r int32, _ float64) {
		count := float64(m.t.count[t])
		all.sum[r] += count * m.likelihood(t, r)
		all.n[r] += count
	}, nil)
	return all, err
}

// posterior returns k as the reciprocal of the probability of the best claim, and its weighted
// form; nil without weights.
func (m *meeting) posterior(ctx context.Context) (f, F []float64, err error) {
	all, err := m.likelihoods(ctx)
	if err != nil {
		return nil, nil, err
	}
	f = make([]float64, len(m.t.count))
	if m.s.weighted {
		F = make([]float64, len(f))
	}
	sum, weight, most := 0.0, 0.0, 0.0
	err = m.visit(ctx, all, func(_, r int32, odds float64) {
		sum += odds * float64(m.r.count[r])
		if m.s.weighted {
			weight += odds * m.r.weight[r]
		}
		most = max(most, odds)
	}, func(t int32) {
		f[t] = max(1, sum/most)
		if !(most > 0) {
			f[t] = 1
		}
		if F != nil && most > 0 {
			F[t] = weight / most
		}
		sum, weight, most = 0, 0, 0
	})
	if err != nil {
		return nil, nil, err
	}
	return f, F, nil
}
