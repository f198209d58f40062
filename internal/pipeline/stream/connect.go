package stream

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Connect reads the key, looks at the topics without joining the group, and checks the
// configuration against their columns. It opens every file that a stream writes, under a
// temporary name. The logger is that of ctx, if there is one.
func Connect(ctx context.Context, p *config.Pipeline) (err error) {
	key, err := p.Key.Resolve()
	if err != nil {
		return pipeline.DataErrorf("%v", err)
	}
	s := &stream{options: pipeline.Options{Log: *zerolog.Ctx(ctx), Progress: new(pipeline.Progress)}, key: key}
	if err := s.find(ctx, p, true); err != nil {
		return err
	}
	defer s.kafka.Close()
	if _, err := s.hold(ctx, p); err != nil {
		return err
	}
	files := []string{p.Quarantine.JSONL, p.Report.JSON, p.Report.HTML, p.Report.Board, p.Report.XLSX}
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
