package stream

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	leastPause    = 250 * time.Millisecond
	greatestPause = 15 * time.Second
	// stableAfter is how long a membership lasts after which pauses begin anew.
	stableAfter = time.Minute
)

// nextPause is how long to wait before the group is joined anew, after a membership that
// lasted so long: twice the pause before it (0: there was none), or the least one where
// the stream is ending and has little time left.
func nextPause(before, lasted time.Duration, draining bool) time.Duration {
	if draining || lasted > stableAfter {
		return leastPause
	}
	return min(max(2*before, leastPause), greatestPause)
}

// varied is between half of a pause and the whole, so that not all instances come back at
// the same moment.
func varied(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }

// awaitPause waits so long, or until the stream is told to end, which is no error; that ctx
// has ended is one.
func awaitPause(ctx context.Context, pause time.Duration, ending <-chan struct{}) error {
	over := time.NewTimer(pause)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ending:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
