package wait

import (
	"context"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	asked := 0
	if !Within(time.Minute, func() bool { asked++; return asked == 4 }) || asked != 4 {
		t.Errorf("asked %d times", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked = 0
	if Until(ctx, func() bool { asked++; cancel(); return false }) || asked != 1 {
		t.Errorf("a context that has ended: the condition was evaluated %d times", asked)
	}
	if !Until(ctx, func() bool { return true }) {
		t.Error("a condition that is met must be reported although the context has ended")
	}
	if Elapse(ctx, time.Hour) {
		t.Error("time went by after the end")
	}
	if !Elapse(t.Context(), time.Millisecond) {
		t.Error("time did not go by")
	}
}
