package entered

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Planned returns the releases by which a release in shards will be judged; nil without a ledger. The ledger is not
// made, and not held.
func Planned(ctx context.Context, p *config.Pipeline, key keystream.Key, log zerolog.Logger) ([]ledger.Listed, error) {
	if p.Ledger == "" {
		return nil, nil
	}
	l, err := Look(ctx, p, key, log)
	if errors.Is(err, fs.ErrNotExist) {
		return []ledger.Listed{}, nil
	}
	if err != nil {
		return nil, err
	}
	return l.releases, nil
}

// Part returns what a shard needs of a ledger: the releases that it was planned with, which it applies again, and the
// sketch that it makes. nil without a ledger.
func Part(p *config.Pipeline, key keystream.Key, planned []ledger.Listed, log zerolog.Logger) *Ledger {
	if p.Ledger == "" {
		return nil
	}
	return &Ledger{releases: planned, config: p, key: key, log: log}
}

// Hold takes the ledger for the commit of a release in shards with a plan, and the sketch of its shards, as Open does.
// It is a *pipeline.DataError if other releases are there than those that it was planned with. A release that an
// earlier commit of the plan has entered, and that counts as published, is this one.
func (l *Ledger) Hold(ctx context.Context, plan string, sketch *ledger.Sketch) error {
	if l == nil {
		return nil
	}
	now, err := Open(ctx, l.config, l.key, l.log)
	if err != nil {
		return err
	}
	l.held, l.plan, l.sketch = now.held, plan, sketch
	others := slices.DeleteFunc(now.releases, func(r ledger.Listed) bool {
		if r.Release.Plan == plan {
			l.number, l.settled, l.adopted = r.Number, r.Known, true
			return true
		}
		return false
	})
	if !slices.EqualFunc(others, l.releases, func(a, b ledger.Listed) bool { return a.SHA256 == b.SHA256 }) {
		err := pipeline.DataErrorf("ledger: other releases are in it than when the shards were planned: plan again")
		return errors.Join(err, l.Close())
	}
	return nil
}

// Sketch returns the sketch of the respondents so far; nil without a ledger, and without identity.
func (l *Ledger) Sketch() *ledger.Sketch {
	switch {
	case l == nil:
		return nil
	case l.sketch != nil:
		return l.sketch
	}
	return l.sketcher.Sketch()
}
