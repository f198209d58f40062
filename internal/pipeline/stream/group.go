package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// AssessGroup reads the stored assessments of a consumer group's members, and returns the report
// of the whole stream: all partitions, whichever instance masked them. It reads no record of
// the stream.
func AssessGroup(ctx context.Context, p *config.Pipeline, group string, o pipeline.Options) (*report.Report, error) {
	ctx = o.Log.WithContext(ctx)
	started := time.Now()
	source, ok := p.Source.Config.(*kafka.SourceConfig)
	if !ok {
		return nil, config.Errors{p.Errorf("source", "must be kafka: a group reads topics")}
	}
	if group != "" {
		source.Group = group
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, pipeline.DataErrorf("%v", err)
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	f := inForce{config: p}
	if err := f.settle(ctx, src, key, zerolog.Nop(), &pipeline.Progress{}); err != nil {
		return nil, err
	}
	f.source = source.Stream()
	before, err := kafka.GroupArrivals(ctx, source, p.Name, o.Log)
	if err != nil {
		return nil, err
	}
	states, err := kafka.ReadStates(ctx, source, p.Name, o.Log)
	if err != nil {
		return nil, err
	}
	after, err := kafka.GroupArrivals(ctx, source, p.Name, o.Log)
	if err != nil {
		return nil, err
	}
	kept, err := f.load(states, resting(before, after), o.Log)
	if err != nil {
		return nil, err
	}
	measures, err := f.measure(ctx, kept.parts)
	if err != nil {
		return nil, err
	}
	rep := f.reportOf(o.Version, started, kept.totals.records, measures, kept.totals.effect, true)
	reportGaps(rep, kept.begun)
	return rep, nil
}

// measure returns the measures of all parts together; without parts they are empty.
func (f *inForce) measure(ctx context.Context, parts []*assess.Accumulator) (*assess.Measures, error) {
	if !f.measures || len(parts) == 0 {
		return &assess.Measures{}, nil
	}
	whole, err := assess.Merged(f.masked.Options, parts...)
	if err != nil {
		return nil, err
	}
	measures, err := whole.Measure(ctx)
	if err != nil {
		return nil, err
	}
	measures.Identity, err = f.inversionOf(ctx, whole)
	return measures, err
}

// keptGroup is what is kept of all partitions of a group.
type keptGroup struct {
	totals counted
	parts  []*assess.Accumulator // the assessments
	begun  []string              // partitions whose assessment has begun anew
}

// resting returns the partitions whose group's offset has not moved meanwhile: what is kept of the
// others is of another moment than their offset.
func resting(before, after map[kafka.Partition]kafka.Arrival) map[kafka.Partition]kafka.Arrival {
	maps.DeleteFunc(after, func(p kafka.Partition, a kafka.Arrival) bool {
		b, known := before[p]
		return !known || a.Next != b.Next || a.TopicID != b.TopicID
	})
	return after
}

// missing adds to what is kept of a partition how it differs from what is there.
func (f *inForce) missing(p kafka.Partition, k *keptStanding, a kafka.Arrival, known, stale bool, log zerolog.Logger) {
	g := f.gapFrom(k, a, known, stale, false)
	if g.anew != "" {
		log.Warn().Str("topic", p.Topic).Int32("partition",
			p.Number).Msg("what is kept is of another topic than is there now: " + g.anew)
		return
	}
	k.place.Lost += g.lost + max(0, a.First-a.Next)
	k.place.Repeated += g.repeated
	k.place.Unassessed += g.unassessed
}

// load reads the stored state of each partition, if it was made with this configuration, and compares
// it with what is there.
func (f *inForce) load(states kafka.States, there map[kafka.Partition]kafka.Arrival, log zerolog.Logger) (all keptGroup,
	err error) {
	stale := 0
	for p := range there { // all that is kept of a partition may be lost
		if of := (kafka.StateOf{Pipeline: f.config.Name, Partition: p}); states[of] == nil && states != nil {
			states[of] = map[string][]byte{}
		}
	}
	for _, of := range sortedStates(states) {
		if of.Pipeline != f.config.Name {
			continue
		}
		k, known, old, err := f.loadKept(states[of])
		if err != nil {
			return all, fmt.Errorf("the assessment that is kept of %s: %w", of.Partition, err)
		}
		if a, ok := there[of.Partition]; ok {
			f.missing(of.Partition, k, a, known, old, log)
		}
		all.totals.records = account.Sum(all.totals.records, k.place.gaps())
		if k.place.Begun > 0 {
			all.begun = append(all.begun, of.Partition.String())
		}
		if old {
			stale++
			continue
		}
		all.totals = all.totals.plus(counted{k.counts(), k.totals.whole.effect})
		if k.Standing != nil {
			all.parts = append(all.parts, k.Whole())
		}
	}
	if stale > 0 {
		log.Warn().Int("partitions", stale).Msg(
			"what is kept of some partitions is of other masks or columns than the configuration's, and is left out")
	}
	return all, nil
}

func sortedStates(states kafka.States) []kafka.StateOf {
	var all []kafka.StateOf
	for of := range states {
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b kafka.StateOf) int { return a.Partition.Compare(b.Partition) })
	return all
}
