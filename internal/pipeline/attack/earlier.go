package attack

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// together counts the combinations of the keys as this release and all earlier ones of the ledger have them: the
// snooper knows which records of the releases are of one respondent. alone is the result for this release; nil
// without a ledger, or if no rule is about such combinations.
func together(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs, alone *assess.Identity) (*assess.Identity, error) {
	ledger, not := pl.FromLedger()
	switch {
	case !ledger || !pl.JudgesCounts():
		return nil, nil
	case not != "":
		id := assess.Unmeasured()
		id.Uncounted = not
		return id, nil
	case len(pl.EarlierReleases()) == 0:
		return alone, nil
	}
	d := dataOf(pl, chain, p)
	o, err := optionsOf(pl, &d)
	if err != nil || o.Uniqueness == nil {
		return nil, err
	}
	d.Counted = append(slices.Clone(d.Counted), earlierKeys(pl, p)...)
	r, err := attack.Run(ctx, d, attack.Options{Targets: o.Targets, Uniqueness: counting(o.Uniqueness)})
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	id := r.Identity()
	id.BySubset = nil // of some keys a snooper has what all releases say of each, which are several columns: not counted
	return id, nil
}

// earlierKeys returns the keys as earlier releases have them.
func earlierKeys(pl *pipeline.Plan, p assess.Pairs) (list []attack.CategoricalColumn) {
	for _, before := range p.Earlier {
		if !before.Before {
			continue
		}
		i := slices.IndexFunc(p.Earlier, func(c assess.EarlierPairs) bool { return !c.Before && c.Release == before.Release && c.Of == before.Of })
		n := len(before.Values)
		both := uniqueness.Codes(slices.Concat(assess.Known(before.Values), assess.Known(p.Earlier[i].Values)))
		c := attack.CategoricalColumn{Name: p.Earlier[i].Name, Original: both[:n:n], Released: both[n:]}
		e := pl.EarlierReleases()[slices.IndexFunc(pl.EarlierReleases(), func(e *pipeline.EarlierRelease) bool { return e.Number == int64(before.Release) })]
		if why := e.Uncounted(before.Of); why != "" {
			c.Known = &attack.Known{Not: why}
		} else if codes, same := uniqueness.Coded(c.Original, c.Released); same {
			c.Known = &attack.Known{Codes: codes}
		} else {
			c.Known = &attack.Known{Not: "was drawn at random, and the posterior by several releases is not computed"}
		}
		if !slices.ContainsFunc(list, func(o attack.CategoricalColumn) bool {
			return slices.Equal(o.Released, c.Released) && slices.Equal(o.Original, c.Original)
		}) {
			list = append(list, c)
		}
	}
	return list
}
