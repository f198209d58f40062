package pipeline

import (
	"context"
	"errors"
	"testing"
)

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
			return through(ctx, func(*Parcel) error { t.Error("the first stage continues after the end of the context"); return nil }, true, from, out)
		},
		"another stage": func(from <-chan *Parcel, out chan<- *Parcel) error {
			return through(ctx, func(*Parcel) error { t.Error("another stage continues after the end of the context"); return nil }, false, from, out)
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
