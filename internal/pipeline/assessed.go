package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// assessOptions returns the options of the assessment that runs beside the masking.
func (pl *Plan) assessOptions(key keystream.Key, chain *transform.Chain) (assess.Options, error) {
	masks := pl.measured()
	replicate, err := pl.newReplicate(masks, key)
	if err != nil {
		return assess.Options{}, err
	}
	repeated, err := pl.newRepeated(masks, key)
	if err != nil {
		return assess.Options{}, err
	}
	a := pl.Config.Assess
	o := assess.Options{
		Columns: pl.Assessed, Carry: slices.Concat(pl.Carry, pl.Intruder.Carried, pl.weight.carry),
		Released: slices.Concat(pl.Intruder.Released, pl.weight.released), Key: key,
		Record: true, Coded: pl.Coded, Watched: pl.Watched, Same: transform.SameValues, Beside: pl.Beside, Unseen: pl.Unseen,
		Sample: int(a.Sample), Replicates: a.Replicates, Targets: a.Targets,
		Replicate: replicate, Persons: pl.persons, Repeated: repeated, Law: LawOf(chain),
		Keeping: keepingOf(chain, !pl.Config.Streaming()),
		Gated:   pl.Config.Gate.Judges(), AllowUnchanged: pl.Config.Gate.AllowUnchanged,
		Shuffled: pl.Config.Sink.Shuffled(), Together: Together(pl.Config.Masks),
	}
	o.Draws = chain.DrawsFor
	o.Earlier = pl.earlierOptions()
	o.Mixes = transform.AnyMixesRecords(masks)
	o.Entire = transform.AnyDependsOnNumber(masks)
	if o.Entire && !chain.Draws() {
		o.Replicate = nil // each replicate would equal the release
	}
	if pl.Config.Streaming() {
		o.OrderBins = streamOrderBins
	}
	return o, nil
}

// Together is what masks move between records.
func Together(masks []transform.Spec) (list []assess.MovedTogether) {
	for _, e := range transform.MovesTogether(masks) {
		list = append(list, assess.MovedTogether(e))
	}
	return list
}

// measured returns the masks that replicates apply, with their labels: all except masks of
// whole datasets that decide about categories only, since no number depends on those.
func (pl *Plan) measured() []transform.Spec {
	var list []transform.Spec
	for i, m := range pl.Config.Masks {
		about := func(name string) bool {
			return slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == name })
		}
		if transform.Weighs(m.Params) {
			continue
		}
		if transform.ScopeOf(m.Params) != transform.ScopeDataset || !transform.OnCategories(m.Params) ||
			slices.ContainsFunc(m.Params.Masks(), about) {
			list = append(list, transform.Spec{Name: transform.Label(pl.Config.Masks, i), Params: m.Params})
		}
	}
	return list
}

// Measures reports whether there is anything to measure: a numeric column that is sensitive or a key, a masked one, or
// categories that an intruder may know.
func (pl *Plan) Measures() bool {
	return len(pl.Assessed) > 0 || len(pl.Joins) > 0 || len(pl.Intruder.Carried) > 0 || len(pl.Coded) > 0 ||
		len(pl.Watched) > 0
}

// LawOf gives the assessment the law that a chain has for each column as a whole.
func LawOf(chain *transform.Chain) func(column string) assess.Law {
	return func(column string) assess.Law {
		if law, ok := chain.ColumnLaw(column); ok {
			return law
		}
		return nil
	}
}

// streamOrderBins bounds what a stream keeps about the order of its records, which is part of
// the state of each partition.
const streamOrderBins = 2048

// keepingOf returns the function that tells the assessment how many values the masks leave
// unchanged. whole: all records have been masked when the assessment calls it. A stream goes
// on, and may have begun in another process.
func keepingOf(chain *transform.Chain, whole bool) func(string, float64) assess.Keeping {
	return func(column string, typical float64) assess.Keeping {
		law := chain.Keeping(column, typical, whole)
		return assess.Keeping{Share: law.Share, Most: law.Most, Changes: law.Changes}
	}
}
