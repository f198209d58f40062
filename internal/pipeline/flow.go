package pipeline

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
	"github.com/sdlfilter/sdlfilter/transform"
)

// Flow is one pass over a source. A reader goroutine finds runs of records,
// workers decode and work on them, and the stages see the blocks in the order of
// the source, each stage in a goroutine of its own. Memory is bounded by the
// blocks in flight: the reader takes a block from a fixed stock before it reads,
// and the last stage puts it back.
type Flow struct {
	Source  connectors.Source
	Layout  *microdata.Layout
	Missing *microdata.Layout // the columns whose codes for missing values become missing values; nil: those of Layout
	Cut     connectors.Cut
	Reader  connectors.Reader     // if the pass is part of one that is already open; nil: Run opens and closes one
	Stock   chan *microdata.Block // kept from pass to pass; nil: made for this one
	Work    func(*Parcel) error   // parallel, in any order; may be nil
	Stages  []func(*Parcel) error // sequential, in order
}

// Parcel is a block on its way through a Flow.
type Parcel struct {
	Raw     connectors.Raw
	Block   *microdata.Block
	Encoded connectors.Encoded

	prepared transform.Prepared // of a survey
	ready    chan struct{}      // closed when a worker is done with it
}

// Run returns when every goroutine has ended, with the first error. The files of a source must
// not change during the pass.
func (f *Flow) Run(ctx context.Context) (err error) {
	reader := f.Reader
	if reader == nil {
		if err := connectors.Unchanged(f.Source); err != nil {
			return err
		}
		if reader, err = f.Source.Read(ctx, f.Layout, f.Cut); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, reader.Close()) }()
	}
	stock := f.Stock
	if stock == nil {
		stock = stockOf(blocksFor(f.Layout))
	}
	// There are never more parcels than blocks in the stock, so that a send into a channel of this
	// size never waits.
	toWork, inOrder := make(chan *Parcel, cap(stock)), make(chan *Parcel, cap(stock))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(toWork)
		defer close(inOrder)
		defer bug.Guard()
		return read(ctx, reader, stock, inOrder, toWork)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			defer bug.Guard()
			return f.worker(ctx, toWork)
		})
	}
	in := inOrder
	for i, stage := range f.Stages {
		from, out := in, make(chan *Parcel, cap(stock))
		g.Go(func() error {
			defer close(out)
			defer bug.Guard()
			return through(ctx, stage, i == 0, from, out)
		})
		in = out
	}
	g.Go(func() error {
		defer bug.Guard()
		for p := range in {
			stock <- p.Block
		}
		return nil
	})
	err = g.Wait()
	if f.Reader != nil || errors.Is(err, context.Canceled) {
		return err
	}
	// The workers read after the reader, so this check comes last. A changed source may be the
	// cause of a failed pass.
	return errors.Join(connectors.Unchanged(f.Source), err)
}

// read takes runs of records, each with a block from the stock, to the end of the
// source.
func read(ctx context.Context, reader connectors.Reader, stock chan *microdata.Block, inOrder,
	toWork chan<- *Parcel) error {
	for {
		var block *microdata.Block
		select {
		case block = <-stock:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		raw, err := reader.Next(ctx)
		if err != nil {
			stock <- block
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		p := &Parcel{Raw: raw, Block: block, ready: make(chan struct{})}
		inOrder <- p
		toWork <- p
	}
}

// worker decodes and works on parcels as they come.
func (f *Flow) worker(ctx context.Context, toWork <-chan *Parcel) error {
	for p := range toWork {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f.workOn(p); err != nil {
			return err
		}
		close(p.ready)
	}
	return nil
}

// through passes parcels through a stage; the first stage waits until a worker is done with them.
func through(ctx context.Context, stage func(*Parcel) error, first bool, from <-chan *Parcel,
	out chan<- *Parcel) error {
	for p := range from {
		if first {
			select {
			case <-p.ready:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := stage(p); err != nil {
			return err
		}
		out <- p
	}
	return nil
}

// NewStock makes the blocks of a pass.
func NewStock() chan *microdata.Block { return stockOf(blocksFor(nil)) }

// wideColumns is the number of columns above which the blocks in flight take much memory. There is
// then only one for each core, and one more, which waits.
const wideColumns = 16

// blocksFor returns how many blocks a pass has.
func blocksFor(layout *microdata.Layout) int {
	cores := runtime.GOMAXPROCS(0)
	if layout != nil && len(layout.Read) > wideColumns {
		return cores + 1
	}
	return 2*cores + 2
}

func stockOf(n int) chan *microdata.Block {
	stock := make(chan *microdata.Block, n)
	for range n {
		stock <- new(microdata.Block)
	}
	return stock
}

// workOn decodes a parcel and runs the pass's own work on it. A panic of a decoder on hostile
// input becomes an error, so that temporary files are removed.
func (f *Flow) workOn(p *Parcel) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error while working on %s, records from %d: %s",
				connectors.StreamName(f.Source, p.Block.Stream), p.Block.First+1, bug.Place(r))
		}
	}()
	if err := p.Raw.Decode(p.Block); err != nil {
		return err
	}
	if f.Missing != nil {
		f.Missing.ClearMissing(p.Block)
		microdata.FillDays(p.Block, f.Layout)
	} else {
		f.Layout.Fill(p.Block)
	}
	if f.Work == nil {
		return nil
	}
	return f.Work(p)
}
