package jsonl

import (
	"context"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Read implements connectors.Source.
func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := text.CheckLayout(layout, s.schema); err != nil {
		return nil, err
	}
	plan := s.tree.Plan(layout, s.carried.Load() || layout.Carries(), false)
	return &reader{source: s, layout: layout, plan: plan, pass: s.pass(cut)}, nil
}

// pass walks through the records.
func (s *source) pass(cut connectors.Cut) *text.Pass {
	return &text.Pass{Input: s.Input, Part: s.part, Split: split, Cut: cut}
}

type reader struct {
	*source
	layout *microdata.Layout
	plan   *members.Plan
	pass   *text.Pass
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	c, stream, err := r.pass.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &raw{reader: r, chunk: c, stream: stream}, nil
}

// Close implements connectors.Reader.
func (r *reader) Close() error { return r.pass.Close() }
