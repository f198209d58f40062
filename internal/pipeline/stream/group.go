package stream

import (
	"context"
	"fmt"
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
	if err := f.settle(ctx, src, p.Sink.Config.Carries(src), key, &pipeline.Progress{}); err != nil {
		return nil, err
	}
	states, err := kafka.ReadStates(ctx, source, p.Name, o.Log)
	if err != nil {
		return nil, err
	}
	kept, err := f.load(states, o.Log)
	if err != nil {
		return nil, err
	}
	measures, err := f.measure(ctx, kept.parts)
	if err != nil {
		return nil, err
	}
	who := account.Reporter{Config: p, Version: o.Version, KeyID: key.ID(), Started: started, Plan: f.plan, Chain: f.chain, Interim: true, Total: true, Effect: &kept.totals.effect}
	rep := who.Report(kept.totals.records, measures)
	rep.Gate = fromFirstRecords(rep.Gate, kept.totals.records.Released)
	return rep, nil
}

// measure returns the measures of all parts together; without parts they are empty.
func (f *inForce) measure(ctx context.Context, parts []*assess.Accumulator) (*assess.Measures, error) {
	if !f.measures || len(parts) == 0 {
		return &assess.Measures{}, nil
	}
	whole, err := assess.Merged(f.assessOptions, parts...)
	if err != nil {
		return nil, err
	}
	return whole.Measure(ctx)
}

// keptGroup is what is kept of all partitions of a group.
type keptGroup struct {
	totals counted
	parts  []*assess.Accumulator // the assessments
}

// load reads the stored state of each partition, if it was made with this configuration.
func (f *inForce) load(states kafka.States, log zerolog.Logger) (all keptGroup, err error) {
	stale := 0
	for _, of := range sortedStates(states) {
		if of.Pipeline != f.config.Name {
			continue
		}
		entries := states[of]
		text := entries[totalsEntry]
		for _, own := range ownEntries {
			delete(entries, own)
		}
		k, err := f.loadLedger(entries)
		if err != nil {
			return all, fmt.Errorf("the assessment that is kept of %s: %w", of.Partition, err)
		}
		old := k.Ledger != nil && k.Stale()
		if !old {
			if old, err = k.totals.take(text, f.fingerprint); err != nil {
				return all, fmt.Errorf("the assessment that is kept of %s: %w", of.Partition, err)
			}
		}
		if old {
			stale++
			continue
		}
		all.totals = all.totals.plus(counted{k.counts(), k.totals.whole.effect})
		if k.Ledger != nil {
			all.parts = append(all.parts, k.Whole())
		}
	}
	if stale > 0 {
		log.Warn().Int("partitions", stale).Msg("what is kept of some partitions is of other masks or columns than the configuration's, and is left out")
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
