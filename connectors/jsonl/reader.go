package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	carry := s.carried.Load()
	for _, o := range layout.Release {
		carry = carry || o.Column < 0
	}
	for _, w := range layout.Read {
		if f := s.schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s: is of type %s, and masks need numbers", f.Name, text.TypeName(f.Type))
		}
	}
	return &reader{source: s, layout: layout, cut: cut, plan: s.tree.Plan(layout, carry, false)}, nil
}

type reader struct {
	*source
	layout *microdata.Layout
	cut    connectors.Cut
	plan   *members.Plan
	index  int // of the stream being read
	stream *text.Stream
	chunks *text.Chunks
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	c, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	return &raw{reader: r, chunk: c, stream: r.index}, nil
}

func (r *reader) next(ctx context.Context) (*text.Chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.index == len(r.Streams()) {
			return nil, io.EOF
		}
		if r.chunks == nil {
			st, err := r.input.Open(ctx, r.index)
			if err != nil {
				return nil, err
			}
			r.stream = st
			start, err := skipBOM(st)
			if err != nil {
				return nil, r.at(err)
			}
			r.chunks = text.NewChunks(st, start, split, r.cut, st.Stored)
		}
		c, err := r.chunks.Next()
		switch {
		case err == nil:
			return c, nil
		case err != io.EOF:
			return nil, r.at(err)
		}
		if err := r.end(); err != nil {
			return nil, err
		}
		r.index++
	}
}

// at gives an error its place.
func (r *reader) at(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &connectors.RecordError{Stream: r.Streams()[r.index], Reason: "cannot be read on", Err: err}
	if r.chunks != nil {
		e.Record = r.chunks.Read() + 1
	}
	return e
}

func (r *reader) end() error {
	if r.chunks != nil {
		r.chunks.Close()
		r.chunks = nil
	}
	if r.stream == nil {
		return nil
	}
	err := r.stream.Close()
	r.stream = nil
	return err
}

// Close implements connectors.Reader.
func (r *reader) Close() error { return r.end() }
