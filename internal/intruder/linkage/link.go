package linkage

import (
	"context"
	"math"
)

// Result counts the targets that are linked correctly, in the form of "linkage" in the
// program's output, and holds the results of each target.
type Result struct {
	Distance Distance `json:"distance" doc:"the distance between two records"`
	// ExpectedCorrect is the expected number of targets that are linked to their own
	// record, if each target is linked to its nearest record, or to one of its nearest
	// records at random.
	ExpectedCorrect float64 `json:"expected_correct" doc:"number of targets linked to their own record; a tie of m records counts 1/m"`
	CorrectShare    float64 `json:"correct_share" doc:"expected_correct as a share of the targets"`
	// OneToOneCorrect is the same number for the assignment of targets to distinct
	// records with the least sum of distances; absent if it was not requested.
	OneToOneCorrect *float64 `json:"one_to_one_correct,omitempty" doc:"the number if the targets are assigned to different records with the least sum of distances"`

	// Constant holds the indices of the keys, numeric ones first, that are omitted
	// because no two records differ in them or, for Ranks, because one side has no
	// values to rank.
	Constant []int `json:"-"`

	// One value per target:
	Linked  []float64 `json:"-"` // its share of ExpectedCorrect: 1/ties if its own record is among the nearest, else 0
	Ties    []int     `json:"-"` // number of nearest released records
	Nearest []float64 `json:"-"` // their distance
	// Own is the distance of the target's own record, NaN if the release has none.
	Own []float64 `json:"-"`
	// Rank is the rank of the target's own record among the released records by
	// distance, from 1. Records at the same distance share the mean of their ranks
	// (three records tied at the least distance have rank 2). 0 if the release has no
	// such record. Nil if it was not requested.
	Rank []float64 `json:"-"`
}

// Link links each target to the released record with the least distance to it.
//
// Two distances are equal if the computed sums of their terms are equal, without a
// tolerance. This always holds for equal records, and in most cases for integers. Keys
// in which no two released records differ (for Gower: no two records on either side)
// are omitted; if no key remains, all records are tied.
//
// It returns an error if the keys do not fit each other or the distance, or if the
// context ends. With the standardised, Gower and Ranks distances, a key that a target
// lacks is omitted. For a key that a record lacks, the mean of the terms of the records
// that have it is used, so that a missing value makes a record neither nearer nor
// farther.
//
// Link copies the keys, 8 bytes per value, and needs up to three times as much for the
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

// allTied fills in the result if no two records differ in any key.
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
	ix := newIndex(s, o.method, m, false)
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
