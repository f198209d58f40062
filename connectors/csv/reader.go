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
	carry := s.carried.Load()
	for _, o := range layout.Release {
		carry = carry || o.Column < 0
	}
	for _, w := range layout.Read {
		if f := s.schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s: is of type %s, and masks need numbers", f.Name, text.TypeName(f.Type))
		}
	}
	return &reader{source: s, layout: layout, cut: cut, carry: carry}, nil
}

type reader struct {
	*source
	layout *microdata.Layout
	cut    connectors.Cut
	carry  bool
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
		if r.index == len(r.heads) {
			return nil, io.EOF
		}
		if r.chunks == nil {
			if err := r.begin(ctx); err != nil {
				return nil, err
			}
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

// begin opens the next stream and skips its header.
func (r *reader) begin(ctx context.Context) error {
	st, err := r.input.Open(ctx, r.index)
	if err != nil {
		return err
	}
	r.stream = st
	start, _, err := skipBOM(st)
	if err != nil {
		return r.at(err)
	}
	if !r.config.header() {
		r.chunks = text.NewChunks(st, start, r.dialect.split, r.cut, st.Stored)
		return nil
	}
	r.chunks = text.NewChunks(st, start, r.headSplit, connectors.Cut{Records: 1, Exact: true}, st.Stored)
	c, err := r.chunks.Next()
	if err == io.EOF {
		err = errors.New("the header that was there before is gone")
	}
	if err != nil {
		return r.at(err)
	}
	same := r.sameHeader(c.Data)
	c.Release()
	if !same {
		return r.at(fmt.Errorf("%w: its header is not the one that was there before", files.ErrChanged))
	}
	r.chunks.Continue(r.dialect.split, r.cut)
	return nil
}

// sameHeader holds the header of this pass against the one that the columns were
// taken from: a file that was rewritten with its columns in another order must not
// be released by the places that they had.
func (r *reader) sameHeader(line []byte) bool {
	fields, err := r.dialect.splitRecord(text.Chomp(bytes.TrimLeft(line, "\r\n")))
	return err == nil && slices.EqualFunc(fields, r.heads[r.index].fields, bytes.Equal)
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
	if errors.Is(err, text.ErrTooLong) {
		e.Reason, e.Err = "a quoted field is not closed, or "+err.Error(), nil
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

// raw is a chunk on its way to a block.
type raw struct {
	*reader
	chunk  *text.Chunk
	stream int
}

func (w *raw) Bytes() int64 { return w.chunk.Stored }

// carried is what a block keeps of its text: Block.Carried.
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
	// The block is used again: what it carried is not needed any more.
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
func (w *raw) numbers(b *microdata.Block, col *microdata.Column, c *carried, want microdata.Want, field microdata.Field) {
	f := want.Field
	v := col.Alloc(b.N, false)
	data, values := c.chunk.Data, v.Values
	plain := field.Type.ID() == arrow.FLOAT64 && len(w.nulls.others) == 0 && w.source.numbers.usual()
	stride := c.fields
	var buf []byte
	var scratch [64]byte
	for r := range values {
		k := r*stride + f
		start := c.starts[r]
		end := c.ends[k]
		if f > 0 {
			start = min(c.ends[k-1]+1, end)
		}
		p := data[start:end]
		if plain {
			if x, ok := text.ParseFloat(p); ok {
				values[r] = x
				continue
			}
		}
		values[r] = 0
		if b.Rejected(r) {
			continue
		}
		if w.nulls.has(p) || w.nulls.empty && len(p) == 2 && p[0] == w.dialect.quote {
			if v.Valid == nil {
				v = col.Alloc(b.N, true) // the same values, and now a bitmap
			}
			v.Valid.Clear(r)
			continue
		}
		content, _ := w.dialect.bare(p, buf)
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
	var buf []byte
	var scratch [64]byte
	quotedNull := w.nulls.empty && field.Type.ID() != arrow.STRING
	for r := range b.N {
		start, end := c.field(r, f)
		p := c.chunk.Data[start:end]
		if w.nulls.has(p) || b.Rejected(r) || quotedNull && len(p) == 2 && p[0] == w.dialect.quote {
			build.Null()
			continue
		}
		content, _ := w.dialect.bare(p, buf)
		content = w.source.numbers.content(content, scratch[:0], field.Type)
		if reason := build.Append(content); reason != "" {
			b.Reject(r, field.Name, reason)
		}
	}
	col.Array = build.Array()
}
