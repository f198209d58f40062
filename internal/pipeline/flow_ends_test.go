package pipeline

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// changing is a source without records whose files are found changed from the n-th question on, of which asked counts.
type changing struct {
	connectors.Source
	n, asked int
}

var errChanged = errors.New("changed")

func (c *changing) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{Unchanged: func() error {
		if c.asked++; c.asked >= c.n {
			return errChanged
		}
		return nil
	}}
}

func (c *changing) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return c, nil
}
func (c *changing) Next(context.Context) (connectors.Raw, error) { return nil, io.EOF }
func (c *changing) Close() error                                 { return nil }

// A source is asked whether it has changed before a pass and after it; in a pass that is a part of another, neither.
func TestPassOfAChangedSource(t *testing.T) {
	for n, want := range map[int]error{1: errChanged, 2: errChanged, 3: nil} {
		if err := (&Flow{Source: &changing{n: n}}).Run(t.Context()); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("changed at question %d: %v", n, err)
		}
	}
	c := &changing{n: 1}
	if err := (&Flow{Source: c, Reader: c}).Run(t.Context()); err != nil || c.asked != 0 {
		t.Errorf("a part of a pass: asked %d times, %v", c.asked, err)
	}
}

// If the run is cancelled, everything that handles parcels returns the reason, changes no parcel
// and passes none on: a worker, a stage that waits for workers, and a later stage.
func TestWhoIsEndedSaysWhy(t *testing.T) {
	why := errors.New("the disk is full")
	ctx, end := context.WithCancelCause(t.Context())
	end(why)
	for name, of := range map[string]func(from <-chan *Parcel, out chan<- *Parcel) error{
		"a worker": func(from <-chan *Parcel, _ chan<- *Parcel) error {
			f := &Flow{Work: func(*Parcel) error { t.Error("a worker continues after the end of the context"); return nil }}
			return f.worker(ctx, from)
		},
		"the first stage": func(from <-chan *Parcel, out chan<- *Parcel) error {
			return through(ctx, func(*Parcel) error {
				t.Error("the first stage continues after the end of the context")
				return nil
			}, true, from, out)
		},
		"another stage": func(from <-chan *Parcel, out chan<- *Parcel) error {
			return through(ctx, func(*Parcel) error {
				t.Error("another stage continues after the end of the context")
				return nil
			}, false, from, out)
		},
	} {
		from, out := make(chan *Parcel, 1), make(chan *Parcel, 1)
		p := &Parcel{ready: make(chan struct{})}
		from <- p
		close(from)
		if err := of(from, out); err != why {
			t.Errorf("%s: error %v, want the cause of the context's end", name, err)
		}
		select {
		case <-p.ready:
			t.Errorf("%s: the parcel is marked as ready after the end of the context", name)
		case <-out:
			t.Errorf("%s: the parcel was passed on after the end of the context", name)
		default:
		}
	}
}
