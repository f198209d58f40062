package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Pass walks through the records of an input, chunk by chunk and stream by stream.
type Pass struct {
	Input *Input
	Split Split          // where records end
	Cut   connectors.Cut // how many make a chunk
	// Head reads what lies between a byte order mark and the first record of a stream,
	// and lets the chunks continue with Split and Cut; nil: there is nothing. An error
	// gets its place.
	Head func(chunks *Chunks, index int) error
	// TooLong says what ErrTooLong most likely comes from; "" where nothing does.
	TooLong string
	// Part is what is read alone; nil: everything.
	Part *connectors.Part

	index  int // of the stream being read
	stream *Stream
	chunks *Chunks
}

// Next returns the next chunk and the index of its stream; io.EOF after the last.
func (p *Pass) Next(ctx context.Context) (c *Chunk, stream int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if p.Part != nil && p.index < p.Part.Stream {
			p.index = p.Part.Stream
		}
		if p.index == p.Input.streams() || p.Part != nil && p.index > p.Part.Stream {
			return nil, 0, io.EOF
		}
		if p.chunks == nil {
			if p.stream, err = p.Input.openPart(ctx, p.index, p.Part); err != nil {
				return nil, 0, err
			}
			if err = p.begin(); err != nil {
				return nil, 0, p.at(err)
			}
		}
		c, err := p.chunks.Next()
		switch {
		case err == nil:
			return c, p.index, nil
		case err != io.EOF:
			return nil, 0, p.at(err)
		}
		if err := p.Close(); err != nil {
			return nil, 0, err
		}
		p.index++
	}
}

// begin makes the chunks of the stream that was just opened. A part that does not begin
// with its stream has neither mark nor head.
func (p *Pass) begin() error {
	if p.Part != nil && p.Part.From > 0 {
		p.chunks = NewChunks(p.stream, nil, p.Split, p.Cut, p.stream.Stored)
		p.chunks.Begin(p.Part.First, p.Part.From)
		return nil
	}
	start, skipped, err := SkipMark(p.stream)
	if err != nil {
		return err
	}
	p.chunks = NewChunks(p.stream, start, p.Split, p.Cut, p.stream.Stored)
	p.chunks.Begin(0, skipped)
	if p.Head == nil {
		return nil
	}
	return p.Head(p.chunks, p.index)
}

// at gives an error its place.
func (p *Pass) at(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &connectors.RecordError{Stream: p.Input.Streams()[p.index], Reason: "cannot be read on", Err: err}
	if p.chunks != nil {
		e.Record = p.chunks.Read() + 1
	}
	if errors.Is(err, ErrTooLong) && p.TooLong != "" {
		e.Reason, e.Err = p.TooLong+", or "+err.Error(), nil
	}
	return e
}

// Close ends the pass.
func (p *Pass) Close() error {
	if p.chunks != nil {
		p.chunks.Close()
		p.chunks = nil
	}
	if p.stream == nil {
		return nil
	}
	err := p.stream.Close()
	p.stream = nil
	return err
}

// Survey has workers look at every chunk of a pass, which it closes, and returns the
// number of records. look is called by one goroutine for each worker, of which there
// are Workers; number counts the chunks from 0. An input that was changed meanwhile is
// an error.
func (p *Pass) Survey(ctx context.Context, look func(worker int, c *Chunk, number int64)) (records int64, err error) {
	type numbered struct {
		*Chunk
		number int64
	}
	group, ctx := errgroup.WithContext(ctx)
	chunks := make(chan numbered, Workers())
	for w := range Workers() {
		group.Go(func() error {
			defer bug.Guard()
			for c := range chunks {
				look(w, c.Chunk, c.number)
				c.Release()
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(chunks)
		defer p.Close()
		defer bug.Guard()
		for i := int64(0); ; i++ {
			c, _, err := p.Next(ctx)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			records += int64(c.Records)
			select {
			case chunks <- numbered{c, i}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return records, p.Input.unchanged()
}

// Workers is the number of workers of a Survey.
func Workers() int { return runtime.GOMAXPROCS(0) }

// CheckLayout returns an error where numbers are wanted of a column of another type.
func CheckLayout(layout *microdata.Layout, schema *microdata.Schema) error {
	for _, w := range layout.Read {
		if f := schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return fmt.Errorf("column %s: is of type %s, and masks need numbers", f.Name, TypeName(f.Type))
		}
	}
	return nil
}

// ByteOrderMark is what UTF-8 text may begin with.
const ByteOrderMark = "\xef\xbb\xbf"

// SkipMark reads the first three bytes and returns them unless they are a byte order
// mark, and how many bytes that takes.
func SkipMark(r io.Reader) (start []byte, skipped int64, err error) {
	start = make([]byte, len(ByteOrderMark))
	n, err := io.ReadFull(r, start)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	start = start[:n]
	if string(start) == ByteOrderMark {
		return nil, int64(len(ByteOrderMark)), err
	}
	return start, 0, err
}
