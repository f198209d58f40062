package stream

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	leastPause    = 250 * time.Millisecond
	greatestPause = 15 * time.Second
	// stableAfter is how long a membership must last for the pauses to begin at the least one
	// again.
	stableAfter = time.Minute
)

// nextPause is how long to wait before the stream joins the group again, after a membership
// that lasted for the given time: twice the pause before it (0: there was none); the least
// pause if the stream is ending and has little time left.
func nextPause(before, lasted time.Duration, draining bool) time.Duration {
	if draining || lasted > stableAfter {
		return leastPause
	}
	return min(max(2*before, leastPause), greatestPause)
}

// varied is a random time between half of a pause and the whole, so that instances do not all
// come back at the same moment.
func varied(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }

// awaitPause waits for the pause to end, or until the stream is told to end, both of which
// return nil. It returns the cause if ctx has ended.
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
