package attack

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Joined are the released records of one table, for a verdict about persons whose records are in several.
type Joined struct {
	attack.Tuples
	Records int // entries of each column
	// the original values of the plan's columns of Joins, or the codes that stand for them; NaN if there is none
	Joins [][]float64
	Alpha float64       // the weight with which a missing key matches
	Shown []assess.Seen // what the release shows, by column
	Whole bool          // whether these are all records
	// Unseen names released columns of which nothing is held.
	Unseen []string

	pl    *pipeline.Plan
	chain *transform.Chain
	acc   *assess.Accumulator // nil if no rule, and no figure, rests on what other tables tell
}

// JoinedOf returns the records of an assessment, nil for one that has none. A pseudonym by which tables are joined is
// no key: what it joins is counted.
func JoinedOf(pl *pipeline.Plan, chain *transform.Chain, acc *assess.Accumulator) *Joined {
	j := &Joined{Alpha: 1}
	if u := pl.Config.Assess.Intruder; u != nil && u.Uniqueness != nil {
		j.Alpha = u.Uniqueness.Alpha
	}
	if acc == nil || acc.Records() == 0 {
		return j
	}
	p := acc.Pairs()
	d := dataOf(pl, chain, p)
	d.Counted = slices.DeleteFunc(slices.Clone(d.Counted), func(c attack.CategoricalColumn) bool {
		return slices.Contains(pl.Config.Joins, c.Name) && transform.Renames(pl.Config.Masks, c.Name)
	})
	d.Categorical = nil // Counted are all keys, also if there is none
	j.Tuples, j.Records = d.Tuples(), p.Len()
	switch in := pl.Config.Assess.Intruder; {
	case !p.Complete:
		j.Not = "a sample does not hold all records of a person (assess.sample: all)"
	case len(pl.Intruder.Left) > 0:
		j.Not = pl.Intruder.Unmeasured()
	case in != nil && in.Count == config.CountReleased:
		j.Not = "assess.intruder.count: released does not count what a snooper knows"
	}
	for _, index := range pl.Joins {
		j.Joins = append(j.Joins, originalOf(pl, p, index))
	}
	j.Shown, j.Whole, j.Unseen = shownBy(pl, p), p.Complete, pl.Unseen
	if invertible(pl) {
		j.pl, j.chain, j.acc = pl, chain, acc
	}
	return j
}
