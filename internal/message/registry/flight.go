package registry

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// absence is the time for which the answer that an object does not exist is cached.
const absence = 5 * time.Second

// maxAbsent is the greatest number of cached absences, because the writers of messages
// choose the numbers that are requested.
const maxAbsent = 4096

// flights caches answers that never change, and makes concurrent callers with the same
// key wait for one request. The zero value is ready for use.
type flights[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]V
	absent  map[K]cachedError
	flying  map[K]*flight[V]
}

type cachedError struct {
	err   error
	until time.Time
}

type flight[V any] struct {
	done chan struct{}
	v    V
	err  error
}

// get returns the answer for k, from ask if it is not cached. If the caller that sent
// the request gave up because of its own context, a waiting caller sends a new request.
func (f *flights[K, V]) get(ctx context.Context, k K, ask func(context.Context) (V, error)) (V, error) {
	for {
		f.mu.Lock()
		if v, ok := f.answers[k]; ok {
			f.mu.Unlock()
			return v, nil
		}
		if g, ok := f.absent[k]; ok {
			if time.Now().Before(g.until) {
				f.mu.Unlock()
				var none V
				return none, g.err
			}
			delete(f.absent, k)
		}
		if other, ok := f.flying[k]; ok {
			f.mu.Unlock()
			select {
			case <-other.done:
				if other.err == nil || isAnswer(other.err) {
					return other.v, other.err
				}
				continue
			case <-ctx.Done():
				var none V
				return none, context.Cause(ctx)
			}
		}
		own := &flight[V]{done: make(chan struct{})}
		if f.flying == nil {
			f.flying = make(map[K]*flight[V])
			f.answers = make(map[K]V)
			f.absent = make(map[K]cachedError)
		}
		f.flying[k] = own
		f.mu.Unlock()

		own.v, own.err = ask(ctx)

		f.mu.Lock()
		delete(f.flying, k)
		switch {
		case own.err == nil:
			f.answers[k] = own.v
		case IsNotFound(own.err):
			if len(f.absent) == maxAbsent {
				clear(f.absent)
			}
			f.absent[k] = cachedError{own.err, time.Now().Add(absence)}
		}
		f.mu.Unlock()
		close(own.done)
		return own.v, own.err
	}
}

// all returns a copy of the cached answers.
func (f *flights[K, V]) all() map[K]V {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.answers)
}

// isAnswer reports whether err is an answer of the registry, or its silence until the
// patience had passed, and not the end of a caller's context.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}
