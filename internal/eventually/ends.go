package eventually

import (
	"context"
	"sync"
	"sync/atomic"
)

// Ending is a context that ends when it is asked for the nth time whether it has ended, by
// Err or Done: so that a test can end what it tests at each of its steps, without a clock.
type Ending struct {
	context.Context
	left  atomic.Int64
	done  chan struct{}
	close sync.Once
}

// Ends is a context that ends with its nth question, from 1.
func Ends(ctx context.Context, n int) *Ending {
	e := &Ending{Context: ctx, done: make(chan struct{})}
	e.left.Store(int64(n))
	return e
}

// Ended reports whether it has ended; that is no question.
func (e *Ending) Ended() bool { return e.left.Load() <= 0 }

func (e *Ending) asked() bool {
	if e.left.Add(-1) > 0 {
		return false
	}
	e.close.Do(func() { close(e.done) })
	return true
}

// Done implements context.Context.
func (e *Ending) Done() <-chan struct{} {
	e.asked()
	return e.done
}

// Err implements context.Context.
func (e *Ending) Err() error {
	if e.asked() {
		return context.Canceled
	}
	return nil
}

// Steps are numbers of questions to end at: the first ones, and then in growing steps up to
// many.
func Steps(yield func(n int) bool) {
	for n := 1; n < 1<<20; n += 1 + n/8 {
		if !yield(n) {
			return
		}
	}
}
