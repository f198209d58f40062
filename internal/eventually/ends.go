package eventually

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Ending is a context that ends when it is asked for the nth time whether it has ended, by
// Err or Done: so that a test can end what it tests at each of its steps, without a clock.
type Ending struct {
	context.Context
	n     int64
	left  atomic.Int64
	done  chan struct{}
	close sync.Once
}

// Ends is a context that ends with its nth question, from 1.
func Ends(ctx context.Context, n int) *Ending {
	e := &Ending{Context: ctx, n: int64(n), done: make(chan struct{})}
	e.left.Store(int64(n))
	return e
}

// Ended reports whether it has ended; that does not count as a check.
func (e *Ending) Ended() bool { return e.left.Load() <= 0 }

// Questions are how many there have been.
func (e *Ending) Questions() int { return int(e.n - e.left.Load()) }

func (e *Ending) countQuestion() bool {
	if e.left.Add(-1) > 0 {
		return false
	}
	e.close.Do(func() { close(e.done) })
	return true
}

// Done implements context.Context.
func (e *Ending) Done() <-chan struct{} {
	e.countQuestion()
	return e.done
}

// Err implements context.Context.
func (e *Ending) Err() error {
	if e.countQuestion() {
		return context.Canceled
	}
	return nil
}

// Steps are numbers of questions to end at: the first ones, and then in growing steps up to
// many. Those for the race detector grow faster.
func Steps(yield func(n int) bool) {
	part := 8
	if racetest.Omits(true) {
		part = 4
	}
	for n := 1; n < 1<<20; n += 1 + n/part {
		if !yield(n) {
			return
		}
	}
}

// Hook is a context that calls a function the nth time that it is asked whether it has ended,
// and goes on. With it a test changes something at each step of what it tests.
type Hook struct {
	context.Context
	at    int64
	do    func()
	count atomic.Int64
}

// AtQuestion is a context that does something at its nth question, from 1; 0: never.
func AtQuestion(ctx context.Context, n int, do func()) *Hook {
	return &Hook{Context: ctx, at: int64(n), do: do}
}

// Questions are how many there have been.
func (a *Hook) Questions() int { return int(a.count.Load()) }

func (a *Hook) countQuestion() {
	if a.count.Add(1) == a.at {
		a.do()
	}
}

// Done implements context.Context.
func (a *Hook) Done() <-chan struct{} {
	a.countQuestion()
	return a.Context.Done()
}

// Err implements context.Context.
func (a *Hook) Err() error {
	a.countQuestion()
	return a.Context.Err()
}
