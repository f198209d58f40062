package linkage

import (
	"context"
	"math"
)

// Result says how many targets an intruder finds, in the form of "linkage" in the
// program's output, and record by record.
type Result struct {
	Distance Distance `json:"distance" doc:"how the nearness of two records is measured"`
	// ExpectedCorrect is the number of targets that are linked to their own record
	// when each takes its nearest, one at random where several are.
	ExpectedCorrect float64 `json:"expected_correct" doc:"targets linked to their own record, ties sharing the credit"`
	CorrectShare    float64 `json:"correct_share" doc:"of the targets"`
	// OneToOneCorrect is the same for the assignment of every target to a record
	// of its own at the least sum of distances; absent if it was not asked for.
	OneToOneCorrect *float64 `json:"one_to_one_correct,omitempty" doc:"the same for the optimal assignment of each target to a record of its own"`

	// Constant names the keys, numeric ones first, in which no two records differ,
	// or, by ranks, of which nobody has a value to rank among, and which are therefore
	// left out.
	Constant []int `json:"-"`

	// One value a target:
	Linked  []float64 `json:"-"` // its share of ExpectedCorrect: 1/ties if its own record is among the nearest, or 0
	Ties    []int     `json:"-"` // how many released records are the nearest
	Nearest []float64 `json:"-"` // the distance of those, +Inf if no key can be compared
	// Own is the distance of the target's own record, NaN if the release has none.
	Own []float64 `json:"-"`
	// Rank is the place of its own record among the released ones by distance,
	// from 1, the mean place where several are as far (the nearest of three tied
	// has 2); 0 where the release has none. Nil if it was not asked for.
	Rank []float64 `json:"-"`
}

// Link links each target to the released record that is nearest to it by the keys.
//
// Distances are equal when the computed sums of their terms are, which they are
// for equal records always and for integers in most cases; no tolerance decides.
// Keys in which no two released records differ (for Gower: no two of all) are
// left out; if none is left, all records are tied.
//
// It returns an error if the keys do not fit each other or the distance, or if
// the context ends. With standardised, Gower and Ranks distance a key that a target
// misses is left out; for one that a record misses, the mean of the terms of the
// records that have it stands, so that lacking a value makes a record neither nearer
// nor farther.
//
// It copies the keys, 8 bytes a value, and needs up to three times as much for the
// tree: 121 MB for 1,000,000 records of four keys.
func Link(ctx context.Context, targets, released Keys, o Options) (*Result, error) {
	if err := check(targets, released, &o); err != nil {
		return nil, err
	}
	s, err := newSpace(targets, released, &o)
	if err != nil {
		return nil, err
	}
	m := targets.Len()
	r := &Result{
		Distance: o.Distance, Constant: s.constant,
		Linked: make([]float64, m), Ties: make([]int, m), Nearest: make([]float64, m), Own: make([]float64, m),
	}
	if o.Ranked {
		r.Rank = make([]float64, m)
	}
	if o.OneToOne {
		correct, err := oneToOne(ctx, s, released.Len(), m, &o)
		if err != nil {
			return nil, err
		}
		r.OneToOneCorrect = &correct
	}
	if s.width() == 0 {
		r.allTied(released.Len(), &o)
	} else if err := r.search(ctx, s, &o); err != nil {
		return nil, err
	}
	var correct exactSum
	for _, share := range r.Linked {
		correct.add(share)
	}
	r.ExpectedCorrect = correct.total()
	if m > 0 {
		r.CorrectShare = r.ExpectedCorrect / float64(m)
	}
	return r, nil
}

// allTied is what comes of keys in which no two records differ.
func (r *Result) allTied(records int, o *Options) {
	for i := range r.Linked {
		r.Ties[i] = records
		if o.truth(i) < 0 {
			r.Own[i] = math.NaN()
			continue
		}
		r.Linked[i] = 1 / float64(records)
		if o.Ranked {
			r.Rank[i] = (float64(records) + 1) / 2
		}
	}
}

func (r *Result) search(ctx context.Context, s *space, o *Options) error {
	m := len(r.Linked)
	own := make([]float64, m)
	for i := range own {
		own[i] = s.own(i, o)
	}
	ix := newIndex(s, o.method, m)
	return each(ctx, m, func(from, to int, queries []query) {
		for i := range queries {
			queries[i].aim(s, from+i, own[from+i])
		}
		ix.nearest(queries)
		if o.Ranked {
			ix.rank(queries)
		}
		for i := range queries {
			q, at := &queries[i], from+i
			r.Ties[at], r.Nearest[at], r.Own[at] = int(q.ties), s.measured(q.best), math.NaN()
			if o.truth(at) < 0 {
				continue
			}
			r.Own[at] = s.measured(q.own)
			if q.own == q.best {
				r.Linked[at] = 1 / float64(q.ties)
			}
			if o.Ranked {
				r.Rank[at] = float64(q.nearer) + (float64(q.level)+1)/2
			}
		}
	})
}
