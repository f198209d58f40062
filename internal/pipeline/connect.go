package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Connect reads the key, opens the source and holds the configuration against
// its columns, and opens every output under its temporary name, without reading
// a record or leaving anything behind. The logger is that of ctx, if there is one.
func Connect(ctx context.Context, p *config.Pipeline) (err error) {
	key, err := p.Key.Resolve()
	if err != nil {
		return dataErrorf("%v", err)
	}
	if p.Streaming() {
		return connectStream(ctx, p, key)
	}
	src, err := openSource(ctx, p)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if _, err := loadProfile(p.Profile); err != nil {
		return err
	}
	pl, err := newPlan(p, src, carries(p, src))
	if err != nil {
		return err
	}
	sink, err := pl.createSink(ctx, key)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	defer func() { err = errors.Join(err, sink.Abort()) }()
	q, err := newQuarantine(p.Quarantine, src)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	defer func() { err = errors.Join(err, q.abort()) }()
	notes, err := openNotes(ctx, p)
	if err != nil {
		return err
	}
	if notes != nil {
		notes.Close()
	}
	var files reportFiles
	defer func() { err = errors.Join(err, files.abort()) }()
	if err := files.create(p.Report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// connectStream is Connect for a stream: its topics are looked at, and no group
// is joined.
func connectStream(ctx context.Context, p *config.Pipeline, key keystream.Key) (err error) {
	s := &stream{options: Options{Log: *zerolog.Ctx(ctx), Progress: new(Progress)}, key: key}
	if err := s.find(ctx, p, true); err != nil {
		return err
	}
	defer s.kafka.Close()
	if _, err := s.hold(ctx, p); err != nil {
		return err
	}
	files := []string{p.Quarantine.JSONL, p.Report.JSON, p.Report.HTML}
	for _, e := range p.Assess.Emit {
		files = append(files, e.JSONL)
	}
	for _, path := range files {
		if path == "" {
			continue
		}
		f, err := publish.Create(path, publish.Confidential)
		if err != nil {
			return err
		}
		if err := f.Abort(); err != nil {
			return err
		}
	}
	return nil
}
