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
	"github.com/sdlfilter/sdlfilter/internal/ledger"
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
	counts, parts, err := f.load(states, o.Log)
	if err != nil {
		return nil, err
	}
	measures, err := f.measure(ctx, parts)
	if err != nil {
		return nil, err
	}
	who := account.Reporter{Config: p, Version: o.Version, KeyID: key.ID(), Started: started, Plan: f.plan, Chain: f.chain, Interim: true}
	rep := who.Report(counts, measures)
	rep.Gate = fromFirstRecords(rep.Gate, counts.Released)
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

// load reads the stored state of each partition, if it was made with this configuration.
func (f *inForce) load(states kafka.States, log zerolog.Logger) (counts report.Records, parts []*assess.Accumulator, err error) {
	stale := 0
	for _, of := range sortedStates(states) {
		if of.Pipeline != f.config.Name {
			continue
		}
		entries := states[of]
		counted := entries[reasonsEntry]
		for _, own := range []string{manifestEntry, reasonsEntry, liveEntry} {
			delete(entries, own)
		}
		l, err := ledger.Load(f.assessOptions, f.fingerprint, maps.All(entries))
		if err != nil {
			return counts, nil, fmt.Errorf("the assessment that is kept of %s: %w", of.Partition, err)
		}
		if l.Stale() {
			stale++
			continue
		}
		released, _ := l.Counts()
		var r reasons
		if err := r.take(counted, f.fingerprint); err != nil {
			return counts, nil, fmt.Errorf("the assessment that is kept of %s: %w", of.Partition, err)
		}
		add := recordsOf(released)
		add.Reasons = r.whole
		counts = sum(counts, add)
		parts = append(parts, l.Whole())
	}
	if stale > 0 {
		log.Warn().Int("partitions", stale).Msg("what is kept of some partitions is of other masks or columns than the configuration's, and is left out")
	}
	return counts, parts, nil
}

func sortedStates(states kafka.States) []kafka.StateOf {
	var all []kafka.StateOf
	for of := range states {
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b kafka.StateOf) int { return a.Partition.Compare(b.Partition) })
	return all
}
