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
	// All are the keys as all releases of the ledger have them. Without one, and where the earlier ones are this one
	// draw by draw, they are Tuples.
	All attack.Tuples
	// Earlier is what earlier releases show, but for columns that this one shows with the same values.
	Earlier []assess.Seen
	// Releases are the earlier ones that are told from today's records.
	Releases []*pipeline.EarlierRelease
	// NotAll says why it is not known what all releases of the table tell beside others; "" if it is.
	NotAll string
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
	j.All = j.Tuples
	for _, index := range pl.Joins {
		j.Joins = append(j.Joins, originalOf(pl, p, index))
	}
	j.Shown, j.Whole, j.Unseen = shownBy(pl, p), p.Complete, pl.Unseen
	j.together(&union{pl: pl, chain: chain, p: p, d: d})
	if invertible(pl) {
		j.pl, j.chain, j.acc = pl, chain, acc
	}
	return j
}

// together adds what earlier releases of the ledger have of the records.
func (j *Joined) together(u *union) {
	pl := u.pl
	switch ledger, not := pl.FromLedger(); {
	case !ledger:
		return
	case not != "":
		j.NotAll, j.All = not, attack.Tuples{Not: not}
		return
	case len(pl.Totals())+len(pl.Counts()) > 0:
		j.NotAll = "what the tables in the ledger tell beside the records of other tables is not computed"
	}
	j.Releases = pl.EarlierReleases()
	for _, before := range u.p.Earlier {
		if before.Before || before.Piece > 0 || slices.Contains(pl.Config.Joins, before.Of) {
			continue
		}
		seen := assess.Seen{Name: before.Name, Values: assess.Known(before.Values)}
		same := func(o assess.Seen) bool { return sameValues(o.Values, seen.Values) }
		if !slices.ContainsFunc(j.Shown, func(o assess.Seen) bool { return o.Name == before.Of && same(o) }) &&
			!slices.ContainsFunc(j.Earlier, same) {
			j.Earlier = append(j.Earlier, seen)
		}
	}
	if j.Not != "" {
		return
	}
	if j.All.Not = u.besideTotals(); j.All.Not != "" {
		return
	}
	d := u.shown()
	d.Counted = slices.Clone(d.Counted)
	for _, k := range u.keys() {
		e := u.release(k.before.Release)
		joins := slices.Contains(pl.Config.Joins, k.before.Of) && transform.Renames(e.Config.Masks, k.before.Of)
		if c := u.category(k); !joins && pl.IsKey(e, k.before.Of) && !counted(d.Counted, &c) {
			d.Counted = append(d.Counted, c)
		}
	}
	j.All = d.Tuples()
}

// counted reports whether a key is among others, with the same categories.
func counted(list []attack.CategoricalColumn, c *attack.CategoricalColumn) bool {
	return slices.ContainsFunc(list, func(o attack.CategoricalColumn) bool {
		return slices.Equal(o.Released, c.Released) && slices.Equal(o.Original, c.Original)
	})
}
