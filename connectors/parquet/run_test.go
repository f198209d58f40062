package parquet

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// release is a small pipeline: a source, workers that call Decode and Encode, and Write in order.
type release struct {
	from    SourceConfig
	to      SinkConfig
	layout  func(*microdata.Schema) *microdata.Layout
	mask    func(b *microdata.Block) // nil: none
	cut     connectors.Cut
	workers int // 0: 2
}

func (r release) run(ctx context.Context) error {
	src, err := r.from.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	layout := r.layout(src.Schema())
	sink, err := r.to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		return err
	}
	defer sink.Abort()
	if err := r.pump(ctx, src, sink, layout); err != nil {
		return err
	}
	if err := sink.Finish(ctx); err != nil {
		return err
	}
	return sink.Commit()
}

func (r release) pump(ctx context.Context, src connectors.Source, sink connectors.Sink,
	layout *microdata.Layout) error {
	in, err := src.Read(ctx, layout, r.cut)
	if err != nil {
		return err
	}
	defer in.Close()
	type job struct {
		raw connectors.Raw
		out chan connectors.Encoded
	}
	workers := max(r.workers, 2)
	jobs, ordered := make(chan job), make(chan chan connectors.Encoded, workers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(jobs)
		defer close(ordered)
		for {
			raw, err := in.Next(ctx)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			j := job{raw, make(chan connectors.Encoded, 1)}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case ordered <- j.out:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	for range workers {
		g.Go(func() error {
			b := new(microdata.Block)
			for j := range jobs {
				if err := j.raw.Decode(b); err != nil {
					return err
				}
				if r.mask != nil {
					r.mask(b)
				}
				e, err := sink.Encode(b)
				if err != nil {
					return err
				}
				j.out <- e
			}
			return nil
		})
	}
	g.Go(func() error {
		for out := range ordered {
			select {
			case e := <-out:
				if err := sink.Write(ctx, e); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// layoutOf reads and masks the named columns as numbers, releases all others unchanged, and omits
// the columns in drop.
func layoutOf(masked, drop []string) func(*microdata.Schema) *microdata.Layout {
	return func(s *microdata.Schema) *microdata.Layout {
		l := &microdata.Layout{Schema: s}
		has := func(names []string, n string) bool {
			for _, x := range names {
				if x == n {
					return true
				}
			}
			return false
		}
		for i, f := range s.Fields {
			o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
			if has(masked, f.Name) {
				o.Column, o.Masked = len(l.Read), true
				as := microdata.Numbers
				if !f.Numeric() {
					as = microdata.Array
				}
				l.Read = append(l.Read, microdata.Want{Field: i, As: as})
			}
			if !has(drop, f.Name) {
				l.Release = append(l.Release, o)
			}
		}
		return l
	}
}
