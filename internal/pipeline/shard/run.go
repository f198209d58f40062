package shard

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/placed"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Run masks one shard and returns its state, which the caller writes. The shard is complete
// when its state is written. Its files have hidden names beside the release. pairs is the
// result of ReadPairs.
func Run(ctx context.Context, p *config.Pipeline, m *Manifest, shard int, pairs *Surveyed, o pipeline.Options) (*State,
	error) {
	if shard < 0 || shard >= len(m.Shards) {
		return nil, pipeline.DataErrorf("--shard must be 0 to %d, got %d", len(m.Shards)-1, shard)
	}
	ctx, o = o.Ready(ctx)
	j, err := resume(ctx, p, m, m.reads(shard), m.of(shard), o)
	if err != nil {
		return nil, err
	}
	defer j.source.Close()
	w := &worker{job: j, options: o, state: &State{Plan: m.id, Shard: shard, Reasons: map[string]int64{}}}
	var targets []pipeline.Sought
	if pairs != nil {
		if targets, err = w.receive(pairs, &m.Shards[shard]); err != nil {
			return nil, fmt.Errorf("%s: %w", pairs.path, err)
		}
	}
	if err := j.masked.Measure(); err != nil {
		return nil, err
	}
	j.masked.Exchange.Seek(targets)
	if w.parts, err = m.newAttempt(p.Sink.Config.Paths()[0]); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	if err := w.all(ctx, m); err != nil {
		return nil, errors.Join(err, w.parts.abandon(w.state.Files))
	}
	return w.state, nil
}

// all masks the parts of the shard and completes its state.
func (w *worker) all(ctx context.Context, m *Manifest) (err error) {
	j, chain, shard := w.job, w.masked.Chain, w.state.Shard
	w.options.Progress.Start("mask", m.Shards[shard].Records)
	for i, part := range m.Shards[shard].Parts {
		name := m.partName(shard, i, j.config.Sink.Abilities().Placed.Extension())
		if err := w.mask(ctx, part, name); err != nil {
			return err
		}
	}
	if w.state.Read != m.Shards[shard].Records {
		return fmt.Errorf("source: %d records were read, and %d were planned: plan again", w.state.Read,
			m.Shards[shard].Records)
	}
	// The files that were read must be unchanged since the plan, up to this moment.
	if err := m.same(ctx, j.source, m.of(shard)); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	for _, t := range chain.Touched() {
		w.state.Touched = append(w.state.Touched, t.Records)
	}
	w.state.Unidentified, w.state.Listed = chain.Unidentified(), chain.Listed()
	w.state.Verified, _ = chain.Verified()
	if at := placed.Of(j.source); at != nil {
		if w.state.Places, err = at.Places().Marshal(); err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	w.state.Sketch = w.ledger.Sketch()
	if j.masked.Measured != nil {
		w.state.assessed(j.masked.Measured)
	}
	if w.state.exchange, err = j.masked.Exchange.Marshal(); err != nil {
		return err
	}
	// This comes last, so that an attempt that fails earlier puts no file among those of others.
	if err := w.parts.complete(w.state.Files); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// worker masks the parts of a shard, one after another.
type worker struct {
	*job
	options pipeline.Options
	state   *State
	parts   attempt // where this attempt writes
}

// mask masks a part into a file of its own.
func (w *worker) mask(ctx context.Context, part connectors.Part, name string) error {
	name, path := w.parts.part(name)
	source, err := w.source.Abilities().Divisible.Part(part)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	plan := *w.masked.Plan
	plan.Source = source
	sink,
		err := w.config.Sink.Abilities().Placed.At(path).Create(ctx, connectors.Plan{Source: source, Layout: plan.Layout})
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	defer sink.Abort()
	pass := w.pass(ctx, &plan, sink)
	if err := pass.Run(ctx); err != nil {
		return err
	}
	if err := sink.Finish(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return w.keep(ctx, sink, name, path)
}

// pass masks, writes, counts and measures the records of a plan's source.
func (w *worker) pass(ctx context.Context, plan *pipeline.Plan, sink connectors.Sink) pipeline.Flow {
	source := plan.Source
	return pipeline.Flow{
		Source: source, Layout: plan.Layout, Cut: plan.Cut,
		Work: func(p *pipeline.Parcel) (err error) {
			if err := w.masked.Mask(p.Block); err != nil {
				return err
			}
			stream := p.Block.Stream
			defer func() { p.Block.Stream = stream }()
			p.Block.Stream = connectors.StoredIn(source, p.Block)
			if p.Encoded, err = pipeline.Restored(p.Block, func() (connectors.Encoded, error) {
				return sink.Encode(p.Block)
			}); err != nil {
				return fmt.Errorf("sink: %w", err)
			}
			return nil
		},
		Stages: []func(*pipeline.Parcel) error{
			func(p *pipeline.Parcel) error {
				if err := sink.Write(ctx, p.Encoded); err != nil {
					return fmt.Errorf("sink: %w", err)
				}
				p.Encoded, p.Raw = nil, nil
				w.count(source, p.Block)
				return nil
			},
			func(p *pipeline.Parcel) error {
				w.masked.Add(p.Block)
				w.ledger.Add(p.Block)
				return nil
			},
		},
	}
}

// keep enters the file that a finished sink has written at a path into the state.
func (w *worker) keep(ctx context.Context, sink connectors.Sink, name, path string) error {
	content, err := connectors.ContentOf(ctx, sink)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if content == nil || len(content.Files) != 1 {
		return errors.New("sink: the part of a release is not one file")
	}
	upload, err := w.parts.keep(sink, path)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	w.state.Files = append(w.state.Files,
		StateFile{Name: name, Bytes: content.Files[0].Bytes, SHA256: content.Files[0].SHA256, Upload: upload})
	return nil
}

// count adds the outcome of a block's records to the state.
func (w *worker) count(source connectors.Source, b *microdata.Block) {
	s := w.state
	all := report.Records{Counts: s.Counts, Reasons: s.Reasons}
	account.Count(&all, b)
	s.Counts = all.Counts
	w.options.Progress.Add(b.N)
	if w.config.Quarantine.JSONL != "" {
		s.Entries = append(s.Entries, quarantined.FileEntries(source, b)...)
	}
}
