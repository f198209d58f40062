// Package eventually gives tests waits for conditions in place of pauses: a test that
// pauses is slow where the machine is fast and fails where it is busy.
package eventually

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what takes a few tenths of a second on a
// machine at rest. Only a test that fails waits that long.
const Patience = 3 * time.Minute

// True waits until a condition is met, and ends the test where that does not happen
// within Patience; what says what the condition is. It is to be called by the test's own
// goroutine.
func True(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	Within(tb, Patience, what, met)
}

// Within is True with a patience of its own.
func Within(tb testing.TB, patience time.Duration, what string, met func() bool) {
	tb.Helper()
	if !Waits(patience, met) {
		tb.Fatalf("after %v still not so: %s", patience, what)
	}
}

// Waits waits until a condition is met, and reports whether that happened in time. It
// may be called by any goroutine.
func Waits(patience time.Duration, met func() bool) bool {
	pause := time.Millisecond
	for end := time.Now().Add(patience); !met(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Elapse lets time go by where time itself is what a test is about: how long brokers
// are away, how fast records come in. It is no wait for something to happen; for that
// there is True. It ends early with the test.
func Elapse(tb testing.TB, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-tb.Context().Done():
	}
}
