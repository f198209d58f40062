package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
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
	return &reader{source: s, layout: layout, carry: s.carried.Load() || layout.Carries(), pass: s.pass(cut)}, nil
}

type reader struct {
	*source
	layout *microdata.Layout
	carry  bool
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

// pass goes through the records: the chunks of a stream begin after its header.
func (s *source) pass(cut connectors.Cut) *text.Pass {
	p := &text.Pass{Input: s.Input, Part: s.part, Split: s.dialect.split, Cut: cut,
		TooLong: "a quoted field is not closed"}
	if s.config.header() {
		p.Head = func(chunks *text.Chunks, index int) error {
			if err := s.readHeader(chunks, index); err != nil {
				return err
			}
			chunks.Continue(p.Split, p.Cut)
			return nil
		}
	}
	return p
}

// readHeader reads the header of a stream and checks that it is the one from which the
// columns were determined.
func (s *source) readHeader(chunks *text.Chunks, index int) error {
	chunks.Continue(s.headSplit, connectors.Cut{Records: 1, Exact: true})
	c, err := chunks.Next()
	switch {
	case err == io.EOF:
		return errors.New("the header that was there before is gone")
	case err != nil:
		return err
	}
	defer c.Release()
	if !s.sameHeader(c.Data, index) {
		return fmt.Errorf("%w: its header is not the one that was there before", files.ErrChanged)
	}
	return nil
}

// sameHeader compares the header of this pass with the one from which the columns were
// determined: if a file was rewritten with its columns in another order, their previous
// places must not be used.
func (s *source) sameHeader(line []byte, stream int) bool {
	fields, err := s.dialect.splitRecord(text.Chomp(bytes.TrimLeft(line, "\r\n")))
	return err == nil && slices.EqualFunc(fields, s.heads[stream].fields, bytes.Equal)
}

// raw is a chunk on its way to a block.
type raw struct {
	*reader
	chunk  *text.Chunk
	stream int
}

func (w *raw) Bytes() int64 { return w.chunk.Stored }

// carried is the text of a block and the places of its fields: Block.Carried.
type carried struct {
	bounds
	chunk *text.Chunk
}

var carriedPool = sync.Pool{New: func() any { return new(carried) }}

func (c *carried) release() {
	c.chunk.Release()
	carriedPool.Put(c)
}

// Decode implements connectors.Raw.
func (w *raw) Decode(b *microdata.Block) error {
	// The block is reused: its previous text is not needed any more.
	if old, ok := b.Carried.(*carried); ok {
		old.release()
	}
	b.Reset(w.stream, w.chunk.First, w.chunk.Records, len(w.layout.Read))
	c := carriedPool.Get().(*carried)
	c.chunk = w.chunk
	w.dialect.tokenise(&c.bounds, w.chunk.Data, w.chunk.Records, w.chunk.Final)
	if c.truncated {
		return &connectors.RecordError{Stream: w.Streams()[w.stream], Record: w.chunk.First + int64(w.chunk.Records),
			Reason: "the file is truncated: " + c.malformed[len(c.malformed)-1].reason}
	}
	for _, m := range c.malformed {
		b.Reject(m.row, "", m.reason)
	}
	for i, want := range w.layout.Read {
		field := w.schema.Fields[want.Field]
		if want.As == microdata.Array {
			w.array(b, &b.Columns[i], c, want.Field, field)
		} else {
			w.numbers(b, &b.Columns[i], c, want, field)
		}
	}
	if w.carry {
		b.Carried = c
	} else {
		c.release()
	}
	return nil
}

// numbers decodes a field of every record to float64.
func (w *raw) numbers(b *microdata.Block, col *microdata.Column, c *carried, want microdata.Want,
	field microdata.Field) {
	f := want.Field
	v := col.Alloc(b.N, false)
	data, values := c.chunk.Data, v.Values
	whole := field.Type.ID() == arrow.INT64
	plain := (whole || field.Type.ID() == arrow.FLOAT64) && w.readsPlain()
	fields := c.column(data, f)
	var scratch [64]byte
	for r := 0; r < len(values); r++ {
		if plain {
			if r = fields.PlainFloats(values, r, whole); r == len(values) {
				break
			}
		}
		start, end := c.field(r, f)
		p := data[start:end]
		values[r] = 0
		if b.Rejected(r) {
			continue
		}
		if w.nulls.has(p) || w.nulls.empty && len(p) == 2 && p[0] == w.dialect.quote {
			if v.Valid == nil {
				v = col.Alloc(b.N, true) // keeps the values and adds a bitmap
			}
			v.Valid.Clear(r)
			continue
		}
		content, _ := w.dialect.bare(p)
		content = w.source.numbers.content(content, scratch[:0], field.Type)
		x, reason := text.ParseNumber(content, field.Type)
		if reason == text.TooWide && want.Measured {
			x, _ = text.ParseFloat(content)
			reason = ""
		}
		if reason != "" {
			b.Reject(r, field.Name, reason)
			continue
		}
		values[r] = x
	}
}

// array decodes a field of every record to Arrow.
func (w *raw) array(b *microdata.Block, col *microdata.Column, c *carried, f int, field microdata.Field) {
	size := 0
	if field.Type.ID() == arrow.STRING {
		for r := range b.N {
			start, end := c.field(r, f)
			size += int(end - start)
		}
	}
	build := text.NewBuilder(field.Type, b.N, size)
	var scratch [64]byte
	quotedNull := w.nulls.empty && field.Type.ID() != arrow.STRING
	for r := range b.N {
		start, end := c.field(r, f)
		p := c.chunk.Data[start:end]
		if w.nulls.has(p) || b.Rejected(r) || quotedNull && len(p) == 2 && p[0] == w.dialect.quote {
			build.Null()
			continue
		}
		content, _ := w.dialect.bare(p)
		content = w.source.numbers.content(content, scratch[:0], field.Type)
		if reason := build.Append(content); reason != "" {
			b.Reject(r, field.Name, reason)
		}
	}
	col.Array = build.Array()
}
