package shard

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// pieces is the number of parts per shard into which a source is cut, if possible, so that
// shards have about the same size.
const pieces = 16

// Plan decides the parts of at most n shards: fewer if the source cannot be cut into so many.
// It reads what a run reads before it masks: what the masks must know about the columns is
// found once, here. It writes nothing.
func Plan(ctx context.Context, p *config.Pipeline, path string, set []string, n int, o pipeline.Options) (*Manifest,
	error) {
	if n < 1 {
		return nil, pipeline.DataErrorf("--shards must be at least 1, got %d", n)
	}
	ctx, o = o.Ready(ctx)
	if err := account.Probe(ctx, p); err != nil {
		return nil, err
	}
	j, err := open(ctx, p, nil, nil, o)
	if err != nil {
		return nil, err
	}
	defer j.source.Close()
	m := &Manifest{
		Schema: ManifestSchema, Version: o.Version, Config: path, Set: set, Loosened: o.AllowLoosening,
		ConfigSHA256: p.SHA256(), KeyID: j.key.ID(), Columns: settledColumns(j.masked.Plan),
		Correlations: settledCorrelations(j.masked.Plan),
		Pairs:        j.paired(),
	}
	if m.Files, err = fingerprints(ctx, j.source, every); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if m.Survey, err = surveyOf(j.source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	total := int64(0)
	for _, f := range m.Files {
		total += f.Bytes
	}
	parts, err := j.source.Abilities().Divisible.Divide(ctx, max(1, total/int64(n*pieces)), j.masked.Plan.Cut)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	m.Shards = deal(parts, n)
	if m.Earlier, err = entered.Planned(ctx, p, j.key, o.Log); err != nil {
		return nil, err
	}
	if err := connectors.Unchanged(j.source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return m, nil
}

// deal gives every shard consecutive parts, such that there are as many shards as possible, none
// is empty, and the largest is as small as possible. The consecutive parts of one stream become
// one part: a shard writes one file for each stream.
func deal(parts []connectors.Part, n int) []Shard {
	n = min(n, len(parts))
	most := largest(parts, n)
	shards := make([]Shard, 0, n)
	var s Shard
	for i, p := range parts {
		if last := len(s.Parts) - 1; last >= 0 && s.Parts[last].Stream == p.Stream {
			s.Parts[last].Records += p.Records
			s.Parts[last].To = p.To
		} else {
			s.Parts = append(s.Parts, p)
		}
		s.Records += p.Records
		left, wanted := parts[i+1:], n-1-len(shards)
		if len(left) == 0 || wanted > 0 && (s.Records+left[0].Records > most || len(left) <= wanted) {
			shards = append(shards, s)
			s = Shard{}
		}
	}
	return shards
}

// largest returns the least possible size in records of the largest of n shards of consecutive
// parts.
func largest(parts []connectors.Part, n int) int64 {
	records := int64(0)
	for _, p := range parts {
		records += p.Records
	}
	return int64(sort.Search(int(records), func(most int) bool {
		shards, held := 1, int64(0)
		for _, p := range parts {
			if p.Records > int64(most) {
				return false
			}
			if held += p.Records; held > int64(most) {
				shards, held = shards+1, p.Records
			}
		}
		return shards <= n
	}))
}

// job is the common beginning of all commands.
type job struct {
	config *config.Pipeline
	key    keystream.Key
	source connectors.Source
	masked *pipeline.Release
	ledger *entered.Ledger // nil without one
}

// open opens the source, checks that shards can run the configuration, and makes the masks ready: by what a manifest
// has of the data if the files that look selects are unchanged, or, without one, by reading them.
func open(ctx context.Context, p *config.Pipeline, m *Manifest, look func(stream int) bool, o pipeline.Options) (_ *job,
	err error) {
	j := &job{config: p}
	if j.key, err = pipeline.Admit(p, o); err != nil {
		return nil, err
	}
	if j.source, err = pipeline.OpenSource(ctx, p); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer func() {
		if err != nil {
			j.source.Close()
		}
	}()
	of := pipeline.Job{
		Config: p, Source: j.source, Carries: p.Sink.Config.Carries(j.source), Key: j.key, Check: check, Parts: true,
		Log: o.Log, Progress: o.Progress,
	}
	if m != nil {
		j.ledger = entered.Part(p, j.key, m.Earlier, o.Log)
		of.Tell = j.ledger.Tell
		of.Found = func(pl *pipeline.Plan) error { return m.found(ctx, j, pl, look) }
	}
	j.masked, err = of.Masks(ctx)
	if err == nil && m != nil && j.paired() != m.Pairs {
		err = pipeline.DataErrorf("the manifest is damaged: plan again")
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// resume is open for a planned job. It opens the streams of the source that read selects, and the first.
func resume(ctx context.Context, p *config.Pipeline, m *Manifest, read, look func(stream int) bool,
	o pipeline.Options) (*job, error) {
	switch {
	case m.Version != o.Version:
		return nil, pipeline.DataErrorf("the manifest was made by the program's version %s, and this is %s: plan again",
			m.Version, o.Version)
	case m.ConfigSHA256 != p.SHA256():
		return nil,
			pipeline.DataErrorf(
				"the configuration, with the environment's settings, is not the one that was planned with: plan again")
	}
	knowing := *p
	knowing.Source.Config = knowingOf(p.Source.Config, m.Survey, read)
	return open(ctx, &knowing, m, look, o)
}

// found gives a plan what the manifest's plan has found, if the key and the files that look selects are those of then.
func (m *Manifest) found(ctx context.Context, j *job, pl *pipeline.Plan, look func(stream int) bool) error {
	if m.KeyID != j.key.ID() {
		return pipeline.DataErrorf("the key is not the one that was planned with: it is %s, and was %s", j.key.ID(), m.KeyID)
	}
	if err := m.same(ctx, j.source, look); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if err := m.settle(pl); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

// surveyOf returns what a source has learnt about its data by reading the values; nil if it has read none.
func surveyOf(src connectors.Source) (json.RawMessage, error) {
	if found := src.Abilities().Survey; found != nil {
		return found()
	}
	return nil, nil
}

// knowingOf is the configuration of a source with what an earlier process has learnt of its values, of which only some
// streams will be read; unchanged where the source has no use for knowing it.
func knowingOf(c connectors.SourceConfig, survey json.RawMessage,
	needed func(stream int) bool) connectors.SourceConfig {
	if with := c.Abilities().WithSurvey; with != nil && len(survey) > 0 {
		c = with(survey)
	}
	if with := c.Abilities().WithStreams; with != nil {
		c = with(needed)
	}
	return c
}
