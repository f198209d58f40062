package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type sink struct {
	config *SinkConfig
	*text.Output
	writer  *members.Writer
	ordered bool // the records keep the order of their source
	carried bool // the source's records are carried
}

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	s, err := c.create(ctx, plan, true)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *SinkConfig) createRearranged(ctx context.Context, plan connectors.Plan) (connectors.Rearranged, error) {
	s, err := c.create(ctx, plan, false)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *SinkConfig) create(ctx context.Context, plan connectors.Plan, ordered bool) (*sink, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	s := &sink{config: c, ordered: ordered}
	streams := len(plan.Source.Streams())
	var tree *members.Tree
	// Files of several hands may write alike records otherwise, which would tell them apart in another order.
	if from, ok := plan.Source.(*source); ok && (ordered || streams == 1) {
		tree, s.carried = from.tree, true
		from.carried.Store(true)
	}
	if !ordered {
		streams = 1
	}
	var err error
	if s.writer, err = members.NewWriter(plan.Layout, tree, plan.Source.Abilities().JSONText); err != nil {
		return nil, err
	}
	s.Output, err = text.CreateOutput(text.OutputConfig{
		Path: c.Path, Extensions: append(slices.Clone(Kind.Extensions), ".json"), Codec: c.codec(), Stdout: c.Stdout,
		Streams: streams, Folder: connectors.Folder(plan.Source),
		Begin: func(int) []byte { return nil },
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// encoded is a block as text.
type encoded struct {
	text.Records
	stream int
	cells  members.Cells
}

var encodedPool = sync.Pool{New: func() any { return new(encoded) }}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	e := encodedPool.Get().(*encoded)
	e.Clear()
	e.stream = b.Stream
	if err := s.writer.Fill(&e.cells, b); err != nil {
		return nil, fmt.Errorf("%s: %w", s.config.Path, err)
	}
	dst := slices.Grow(e.Buf, s.writer.Size(&e.cells, b)+2*b.N)
	carried, _ := b.Carried.(*members.Records)
	if !s.carried {
		carried = nil
	}
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		dst = s.writer.Append(dst, &e.cells, r)
		if carried != nil && s.ordered && crlf(carried.Data, int(carried.Spans[r].End)) {
			dst = append(dst, '\r')
		}
		dst = append(dst, '\n')
		e.Ends = append(e.Ends, len(dst))
	}
	e.Buf = dst
	return e, nil
}

// crlf reports whether the line whose record ends at p[i] ends in CR and LF: line
// ends are not changed.
func crlf(p []byte, i int) bool {
	if i == len(p) || p[i] == '\n' {
		return false
	}
	k := bytes.IndexByte(p[i:], '\n')
	return k > 0 && p[i+k-1] == '\r'
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, enc connectors.Encoded) error {
	e := enc.(*encoded)
	if err := s.Output.Write(ctx, e.stream, e.Buf); err != nil {
		return err
	}
	encodedPool.Put(e)
	return nil
}

// Texts implements connectors.Rearranged.
func (s *sink) Texts(dst [][]byte, enc connectors.Encoded) [][]byte {
	return enc.(*encoded).Each(dst)
}

// Gather implements connectors.Rearranged.
func (s *sink) Gather(texts [][]byte) connectors.Encoded {
	e := encodedPool.Get().(*encoded)
	e.Clear()
	e.stream = 0
	for _, t := range texts {
		e.Buf = append(e.Buf, t...)
	}
	return e
}
