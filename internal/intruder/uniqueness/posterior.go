package uniqueness

import (
	"context"
	"errors"
	"slices"
)

// ErrPairs is returned if the posterior would take too long.
var ErrPairs = errors.New("too many pairs of distinct keys agree for the posterior of randomly masked keys: count fewer keys, or a sample")

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
		a := agreeing{missing: r.missing, group: ids[:len(t.classes):len(t.classes)], start: make([]int32, groups+1), rows: make([]int32, len(of))}
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
// for one respondent after another; then done. With random keys, mean is the mean likelihood of
// each released tuple.
func (m *meeting) visit(ctx context.Context, mean []float64, each func(t, r int32, odds float64), done func(t int32)) error {
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
					if mean != nil {
						if w *= m.likelihood(k, r) / mean[r]; !(w > 0) {
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

// means returns for each released tuple its mean likelihood over the respondents whom it does
// not contradict by the exact keys; nil without random keys.
func (m *meeting) means(ctx context.Context) ([]float64, error) {
	if len(m.random) == 0 {
		return nil, nil
	}
	sum, n := make([]float64, len(m.r.count)), make([]float64, len(m.r.count))
	ones := make([]float64, len(sum))
	for r := range ones {
		ones[r] = 1
	}
	alpha := m.s.alpha
	m.s.alpha = 1
	defer func() { m.s.alpha = alpha }()
	err := m.visit(ctx, nil, func(t, r int32, _ float64) {
		count := float64(m.t.count[t])
		sum[r] += count * m.likelihood(t, r)
		n[r] += count
	}, nil)
	if err != nil {
		return nil, err
	}
	for r := range sum {
		if sum[r] > 0 {
			ones[r] = sum[r] / n[r]
		}
	}
	return ones, nil
}

// posterior returns k as the reciprocal of the probability of the best claim, and its weighted
// form; nil without weights.
func (m *meeting) posterior(ctx context.Context) (f, F []float64, err error) {
	mean, err := m.means(ctx)
	if err != nil {
		return nil, nil, err
	}
	f = make([]float64, len(m.t.count))
	if m.s.weighted {
		F = make([]float64, len(f))
	}
	sum, weight, most := 0.0, 0.0, 0.0
	err = m.visit(ctx, mean, func(_, r int32, odds float64) {
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
