package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/placed"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Run masks one shard and returns its state, which the caller writes: the shard is done
// when its state is there. Its files lie under hidden names beside the release.
func Run(ctx context.Context, p *config.Pipeline, m *Manifest, shard int, o pipeline.Options) (*State, error) {
	if shard < 0 || shard >= len(m.Shards) {
		return nil, pipeline.DataErrorf("--shard must be 0 to %d, got %d", len(m.Shards)-1, shard)
	}
	ctx, o = o.Ready(ctx)
	j, chain, err := resume(ctx, p, m, o)
	if err != nil {
		return nil, err
	}
	defer j.source.Close()
	dir := m.hidden(p.Sink.Config.Paths()[0])
	if err := privateFolder(dir); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	w := &worker{job: j, chain: chain, options: o, state: &State{Plan: m.id, Shard: shard, Reasons: map[string]int64{}}}
	if j.plan.Measures() {
		options, err := j.plan.AssessOptions(j.key, chain)
		if err != nil {
			return nil, err
		}
		if w.measured, err = assess.New(options); err != nil {
			return nil, err
		}
	}
	// An attempt writes in a folder of its own, so that others of the same shard may run
	// beside it; what it completes takes the place of what they have completed.
	if w.attempt, err = os.MkdirTemp(dir, ".attempt-"); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	defer os.RemoveAll(w.attempt)
	o.Progress.Start("mask", m.Shards[shard].Records)
	for i, part := range m.Shards[shard].Parts {
		name := m.partName(shard, i, connectors.PlacedOf(p.Sink.Config).Extension())
		if err := w.mask(ctx, part, name); err != nil {
			return nil, err
		}
	}
	for _, f := range w.state.Files {
		if err := os.Rename(filepath.Join(w.attempt, f.Name), filepath.Join(dir, f.Name)); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
	}
	if err := publish.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	if w.state.Read != m.Shards[shard].Records {
		return nil, fmt.Errorf("source: %d records were read, and %d were planned: plan again", w.state.Read, m.Shards[shard].Records)
	}
	// The whole of the source must be what was planned with, to the last moment.
	if err := m.same(ctx, j.source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	for _, t := range chain.Touched() {
		w.state.Touched = append(w.state.Touched, t.Records)
	}
	w.state.Unidentified = chain.Unidentified()
	if at := placed.Of(j.source); at != nil {
		if w.state.Places, err = at.Taken().Marshal(); err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
	}
	if w.measured != nil {
		if w.state.assessment, err = w.measured.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return w.state, nil
}

// privateFolder makes a folder for files without a name, of this user alone. Other
// shards of the plan may be making it too.
func privateFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || known && int64(st.Uid) != int64(os.Geteuid()) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: is not a folder of this user alone, made by a shard; look at it and remove it", dir)
	}
	return nil
}

// worker masks the parts of a shard, one after another.
type worker struct {
	*job
	chain    *transform.Chain
	options  pipeline.Options
	measured *assess.Accumulator // nil where nothing is measured
	state    *State
	attempt  string // the folder that this attempt writes in
}

// mask masks a part into a file of its own.
func (w *worker) mask(ctx context.Context, part connectors.Part, name string) error {
	path := filepath.Join(w.attempt, name)
	source, err := connectors.DivisibleOf(w.source).Part(part)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	plan := *w.plan
	plan.Source = source
	sink, err := connectors.PlacedOf(w.config.Sink.Config).At(path).Create(ctx, connectors.Plan{Source: source, Layout: plan.Layout})
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	defer sink.Abort()
	pass := pipeline.Flow{
		Source: source, Layout: plan.Layout, Cut: plan.Cut,
		Work: func(p *pipeline.Parcel) (err error) {
			if err := w.chain.Apply(p.Block); err != nil {
				return err
			}
			stream := p.Block.Stream
			defer func() { p.Block.Stream = stream }()
			p.Block.Stream = connectors.StoredIn(source, p.Block)
			if p.Encoded, err = sink.Encode(p.Block); err != nil {
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
				if w.measured != nil {
					w.measured.Add(p.Block)
				}
				return nil
			},
		},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	if err := sink.Finish(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	content, err := connectors.ContentOf(ctx, sink)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if content == nil || len(content.Files) != 1 {
		return errors.New("sink: the part of a release is not one file")
	}
	if err := errors.Join(sink.Commit(), os.Chmod(path, 0o600)); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	w.state.Files = append(w.state.Files, StateFile{name, content.Files[0].Bytes, content.Files[0].SHA256})
	return nil
}

// count takes in what became of a block's records.
func (w *worker) count(source connectors.Source, b *microdata.Block) {
	s := w.state
	s.Read += int64(b.N)
	s.Quarantined += int64(len(b.Rejects))
	for _, r := range b.Rejects {
		s.Reasons[account.ReasonOf(r)]++
	}
	w.options.Progress.Add(b.N)
	if w.config.Quarantine.JSONL == "" {
		return
	}
	for _, r := range quarantined.InOrder(b) {
		s.Entries = append(s.Entries, quarantined.FileEntryOf(source, b, r))
	}
}
