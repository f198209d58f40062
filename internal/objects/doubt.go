package objects

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
)

// NamedError is the error of an object that could not be taken back after an attempt to give it its
// name: it has the name (Known), or may have it.
type NamedError struct {
	Known bool
	Err   error
}

func (e *NamedError) Error() string {
	if e.Known {
		return "it has its name, although the server did not say so: " + e.Err.Error()
	}
	return "whether it has its name is not known: " + e.Err.Error()
}

// There reports whether the name is there for certain. It tells this error from all others (there is no
// Unwrap: what the server said last of an object says nothing of who else has written it).
func (e *NamedError) There() bool { return e.Known }

type doubtKey struct{}

// doubting returns a context in which protocols note attempts whose outcome is not known (Attempted).
func doubting(ctx context.Context) (context.Context, *atomic.Bool) {
	doubt := new(atomic.Bool)
	return context.WithValue(ctx, doubtKey{}, doubt), doubt
}

// Attempted notes what came of one attempt of a request, for every protocol and every attempt. The server
// has not done what it has refused in so many words, and what it was never asked; of everything else it may
// have done it.
func Attempted(ctx context.Context, answer *http.Response, err error) {
	doubt, asked := ctx.Value(doubtKey{}).(*atomic.Bool)
	if !asked {
		return
	}
	var op *net.OpError
	switch {
	case err != nil && errors.As(err, &op) && op.Op == "dial":
	case err == nil && answer.StatusCode >= 300 && answer.StatusCode < 500 &&
		answer.StatusCode != http.StatusRequestTimeout:
	default:
		doubt.Store(true)
	}
}

// Doer sends a request once.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Watched is a Doer that notes each attempt.
type Watched struct{ Doer }

// Do implements Doer.
func (w Watched) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.Doer.Do(r)
	Attempted(r.Context(), answer, err)
	return answer, err
}
