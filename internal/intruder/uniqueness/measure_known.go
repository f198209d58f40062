package uniqueness

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// measureKnown is Measure from the snooper's side.
func measureKnown(ctx context.Context, g *grouper, data *Data, o *Options) (*Result, error) {
	s := newSnooper(g, data, o.Alpha)
	all := make([]int, len(data.Keys))
	r := newResult(data, o)
	for j := range all {
		all[j] = j
		if s.laws[j] != nil {
			r.Posterior = append(r.Posterior, data.Keys[j].Name)
		}
	}
	f, F, err := s.counts(ctx, g, all)
	if err != nil {
		return nil, err
	}
	r.fill(data, o, s.t, f, F)
	if len(data.Sensitive) > 0 {
		if r.LDiversity, r.LDiversityMulti, err = s.diversity(ctx, g, all, data.Sensitive, o.RecursiveC); err != nil {
			return nil, err
		}
	}
	if o.SUDA2 != nil {
		if r.SUDA2, err = s.suda2(ctx, g, data, r.Keys, *o.SUDA2); err != nil {
			return nil, err
		}
	}
	// Keys that are drawn seldom make anyone unique, and take the time of all pairs.
	sets := slices.DeleteFunc(keySets(len(all), min(o.Combinations, len(all))), func(set []int) bool {
		return slices.ContainsFunc(set, func(j int) bool { return s.laws[j] != nil })
	})
	table, err := s.bySets(ctx, sets, o.Estimator)
	if err != nil {
		return nil, err
	}
	for i, found := range table {
		r.Combinations = append(r.Combinations, Combination{Keys: namesOf(r.Keys, sets[i]), Uniques: found.uniques})
	}
	r.Subsets, err = s.subsets(ctx, o, r.Keys, sets, table)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func namesOf(keys []string, set []int) []string {
	names := make([]string, len(set))
	for at, j := range set {
		names[at] = keys[j]
	}
	return names
}

// Subset holds the least k and the greatest individual risk over all sets of Size keys, or of
// all keys if there are fewer.
type Subset struct {
	Size              int      `json:"size" doc:"number of keys of each set; all keys if there are fewer"`
	Sets              int      `json:"sets" doc:"number of sets"`
	MinFrequency      float64  `json:"min_k" doc:"least k over all sets of this many keys"`
	Keys              []string `json:"keys" doc:"the set of keys with the least k"`
	MaxIndividualRisk float64  `json:"max_individual_risk" doc:"greatest probability of re-identification of a record, over all these sets"`
	PersonK           float64  `json:"person_min_k,omitempty" doc:"least joined k over all these sets; at least that by all keys, which stands for it where there are too many sets"`
	PersonRisk        float64  `json:"person_max_risk,omitempty" doc:"greatest probability that a person is re-identified by all records together, over all these sets"`
}

// bySet is what is found by a set of keys.
type bySet struct {
	uniques   int
	least     float64
	mostRisky float64
}

// bySets counts by each of several sets of keys. Its only errors are that of ctx and ErrPairs.
func (s *snooper) bySets(ctx context.Context, sets [][]int, e Estimator) ([]bySet, error) {
	table := make([]bySet, len(sets))
	err := eachOf(len(sets), func(g *grouper, n int) func(i int) error {
		own := *s // with a count of pairs of its own
		own.pairs /= int64(n)
		return func(i int) (err error) {
			table[i], err = own.bySet(ctx, g, sets[i], e)
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	return table, nil
}

// eachOf calls, for each of so many things, the function that worker returns for one of n that work beside one another,
// each with a grouper of its own. The error is the first of one of them, which ends then.
func eachOf(things int, worker func(g *grouper, n int) func(i int) error) error {
	errs := make([]error, workers())
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range errs {
		wait.Go(func() {
			defer bug.Guard()
			do := worker(&grouper{workers: 1}, len(errs))
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= things {
					return
				}
				errs[w] = do(i)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *snooper) bySet(ctx context.Context, g *grouper, set []int, e Estimator) (bySet, error) {
	f, F, err := s.counts(ctx, g, set)
	if err != nil {
		return bySet{}, err
	}
	b := bySet{least: f[0]}
	for k, n := range s.t.count {
		if f[k] < 2 {
			b.uniques += int(n)
		}
		b.least = min(b.least, f[k])
		b.mostRisky = max(b.mostRisky, e.Risk(f[k], F[k]))
	}
	return b, nil
}

// subsets finds the least k and the greatest risk over the sets of each size of o.Subsets. sets
// are those of which the results are there already.
func (s *snooper) subsets(ctx context.Context, o *Options, names []string, sets [][]int, done []bySet) (list []Subset,
	err error) {
	for _, size := range o.Subsets {
		wanted := setsOf(len(s.laws), min(size, len(s.laws)))
		w := Subset{Size: size, Sets: len(wanted)}
		at := slices.IndexFunc(sets, func(set []int) bool { return len(set) == len(wanted[0]) })
		var table []bySet
		if at >= 0 && len(sets)-at >= len(wanted) && len(sets[at+len(wanted)-1]) == len(wanted[0]) {
			table = done[at : at+len(wanted)] // the sets of one size stand together, in the same order
		} else if table, err = s.bySets(ctx, wanted, o.Estimator); err != nil {
			return nil, err
		}
		for i, found := range table {
			if i == 0 || found.least < w.MinFrequency {
				w.MinFrequency, w.Keys = found.least, namesOf(names, wanted[i])
			}
			w.MaxIndividualRisk = max(w.MaxIndividualRisk, found.mostRisky)
		}
		list = append(list, w)
	}
	return list, nil
}

// releasedSubsets is subsets for frequencies that are counted from the released record.
func releasedSubsets(ctx context.Context, g *grouper, data Data, o *Options, names []string) ([]Subset, error) {
	for _, key := range data.Keys {
		data.Known = append(data.Known, key.Codes)
	}
	return newSnooper(g, &data, o.Alpha).subsets(ctx, o, names, nil, nil)
}
