package placed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader decodes chunks before Next asks for them, since a record's place is not known before.
// Several chunks are decoded at once and returned in the order of the source.
type reader struct {
	source         *Source
	inner          connectors.Reader
	width          int // columns that are wanted; those behind them hold places
	stream, record int // indexes of the place's columns
	places         *Places

	ahead  chan *chunk // in the order of the source; nil before the first Next
	stop   context.CancelFunc
	done   sync.WaitGroup
	blocks sync.Pool

	current *chunk
	next    int // of the current chunk's runs
}

// chunk is what the source reads at once, decoded and cut into runs.
type chunk struct {
	block *microdata.Block
	runs  []run
	left  int // runs that are not handed on yet, under lock
	lock  sync.Mutex
	bytes int64
	err   error
	ready chan struct{}
}

// origin is what a block carries: the place where it was stored, and whether its records have
// places of their own.
type origin struct {
	stream int
	placed bool
}

// begin starts to read and decode ahead. A chunk is in memory from its reading on, so
// that there are never more of them than this allows.
func (r *reader) begin(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	n := runtime.GOMAXPROCS(0)
	r.ahead = make(chan *chunk, n)
	busy := make(chan struct{}, n)
	r.done.Go(func() {
		defer close(r.ahead)
		defer bug.Guard()
		for {
			raw, err := r.inner.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			c := &chunk{err: err, ready: make(chan struct{})}
			if err != nil {
				close(c.ready)
			} else {
				select {
				case busy <- struct{}{}:
				case <-ctx.Done():
					return
				}
				r.done.Go(func() {
					defer func() { <-busy; close(c.ready) }()
					defer bug.Guard()
					c.err = r.decode(c, raw)
				})
			}
			select {
			case r.ahead <- c:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
}

// decode decodes a chunk and finds its runs.
func (r *reader) decode(c *chunk, raw connectors.Raw) (err error) {
	defer func() {
		if recover() != nil { // on hostile input; the text of a panic could hold a value
			err = fmt.Errorf("%s: decoding records failed", r.source.Source.Streams()[0])
		}
	}()
	c.bytes = raw.Bytes()
	c.block, _ = r.blocks.Get().(*microdata.Block)
	if c.block == nil {
		c.block = new(microdata.Block)
	}
	if err := raw.Decode(c.block); err != nil {
		return err
	}
	if c.runs, err = r.cut(c.block); err != nil {
		return err
	}
	c.left = len(c.runs)
	c.block.Columns = c.block.Columns[:r.width]
	return nil
}

// Next implements connectors.Reader: the next run of a chunk.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if r.ahead == nil {
		r.begin(ctx)
	}
	for r.current == nil || r.next == len(r.current.runs) {
		var c *chunk
		var open bool
		select {
		case c, open = <-r.ahead:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !open {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			return nil, io.EOF
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if c.err != nil {
			return nil, c.err
		}
		r.current, r.next = c, 0
	}
	c, run := r.current, &r.current.runs[r.next]
	r.next++
	if run.placed {
		if err := r.places.add(run.stream, run.places); err != nil {
			return nil, fmt.Errorf("%s: %w: one of the second is among records %d to %d of the file (columns %s)",
				connectors.StreamName(r.source.Source, c.block.Stream), err, c.block.First+1, c.block.First+int64(c.block.N),
				and(r.source.columns.Names()))
		}
	}
	return &raw{reader: r, chunk: c, run: run}, nil
}

func and(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return names[0] + " and " + names[1]
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	if r.stop != nil {
		r.stop()
		r.done.Wait()
	}
	return r.inner.Close()
}

// raw is a run of a chunk.
type raw struct {
	reader *reader
	chunk  *chunk
	run    *run
}

// Bytes implements connectors.Raw: the run's share of what was read.
func (w *raw) Bytes() int64 {
	if w.run.rows == nil {
		return w.chunk.bytes
	}
	return w.chunk.bytes * int64(len(w.run.places)) / int64(max(1, w.chunk.block.N))
}

// Decode implements connectors.Raw. A chunk that is one run is handed over as it is.
func (w *raw) Decode(b *microdata.Block) error {
	c, o := w.chunk, origin{w.chunk.block.Stream, w.run.placed}
	if w.run.rows == nil {
		*b, *c.block = *c.block, *b
	} else if err := gather(b, c.block, w.run.rows); err != nil {
		return err
	}
	b.Stream, b.First, b.Places, b.Carried = w.run.stream, w.run.places[0], w.run.places, o
	if b.Places[b.N-1]-b.First == int64(b.N)-1 {
		b.Places = nil // they follow one another
	}
	c.lock.Lock()
	c.left--
	last := c.left == 0
	c.lock.Unlock()
	if last {
		w.reader.blocks.Put(c.block)
	}
	return nil
}
