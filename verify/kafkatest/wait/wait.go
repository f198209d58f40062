// Package wait has the two ways in which the tests wait: until a condition is met, and for
// the duration of a fault. The tests pause nowhere else.
package wait

import (
	"context"
	"time"
)

// Until waits until a condition is met, and reports whether it was met before the
// context ended. The condition is evaluated at least once.
func Until(ctx context.Context, met func() bool) bool {
	pause := 2 * time.Millisecond
	for !met() {
		if !Elapse(ctx, pause) {
			return false
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
	return true
}

// Within is Until with a time limit instead of a context.
func Within(patience time.Duration, met func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return Until(ctx, met)
}

// Elapse waits for a duration where time itself matters: the moment and the length of a fault, the
// distance of samples, the rate of a feed. It does not wait for a condition. It reports whether the
// context is still active at its end.
func Elapse(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
