package csv

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// codebook is the file beside a release that says what its codes stand for. It gets its name after the release.
type codebook struct {
	choice labels.Choice
	codes  *labels.Collector
	file   *publish.File
	ended  bool
}

// newCodebook returns nil if the configuration has none.
func (c *SinkConfig) newCodebook(plan connectors.Plan) (*codebook, error) {
	if c.Codebook == "" {
		return nil, nil
	}
	if err := connectors.Spare(plan.Source, c.Codebook); err != nil {
		return nil, err
	}
	b := &codebook{choice: c.Labels, codes: labels.Collect(plan.Layout)}
	if b.codes == nil {
		return nil, fmt.Errorf("codebook: the source has no labels")
	}
	var err error
	b.file, err = publish.Create(c.Codebook, publish.Public)
	return b, err
}

// Finish implements connectors.Sink.
func (s *sink) Finish(ctx context.Context) error {
	if err := s.Output.Finish(ctx); err != nil || s.book == nil || s.book.ended {
		return err
	}
	text, err := labels.Codebook(s.labels())
	if err == nil {
		_, err = s.book.file.Write(text)
	}
	if err != nil {
		return err
	}
	s.book.ended = true
	return s.book.file.Stage()
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	can := s.Output.Abilities()
	can.Labels = s.labels
	return can
}

func (s *sink) labels() []microdata.Said {
	if s.book == nil {
		return nil
	}
	return s.book.codes.Released(s.book.choice)
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error {
	if err := s.Output.Commit(); err != nil || s.book == nil {
		return err
	}
	return s.book.file.Complete()
}

// Abort implements connectors.Sink.
func (s *sink) Abort() error {
	err := s.Output.Abort()
	if s.book != nil {
		err = errors.Join(err, s.book.file.Abort())
	}
	return err
}
