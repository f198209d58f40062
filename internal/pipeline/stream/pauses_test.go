package stream

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Pauses double up to a maximum, start again after a successful membership, and are short while the
// stream is ending.
func TestPausesGrow(t *testing.T) {
	const ms = time.Millisecond
	pause := time.Duration(0)
	for i, want := range []time.Duration{250 * ms, 500 * ms, time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 15 * time.Second, 15 * time.Second} {
		if pause = nextPause(pause, 3*time.Second, false); pause != want {
			t.Fatalf("pause %d is %v, want %v", i, pause, want)
		}
	}
	for _, c := range []struct {
		lasted   time.Duration
		draining bool
		want     time.Duration
	}{
		{0, false, 15 * time.Second},
		{time.Minute, false, 15 * time.Second},
		{time.Minute + 1, false, 250 * ms},
		{0, true, 250 * ms},
		{time.Hour, true, 250 * ms},
	} {
		if got := nextPause(pause, c.lasted, c.draining); got != c.want {
			t.Errorf("pause after an attempt of %v (draining: %v) is %v, want %v", c.lasted, c.draining, got, c.want)
		}
	}
	// 2,000 draws all lie between half of the pause and the whole. The probability that none lies
	// in the first tenth of the range is 0.9²⁰⁰⁰ = 3e-92, and the same for the last tenth.
	low, high := time.Hour, time.Duration(0)
	for range 2000 {
		d := varied(time.Second)
		low, high = min(low, d), max(high, d)
	}
	if low < 500*ms || high >= time.Second || low > 550*ms || high < 950*ms {
		t.Errorf("pauses of a second vary from %v to %v, want half a second to a second", low, high)
	}
}

// A pause ends after its time, when the stream is told to end, or with the cause as an error when
// its context ends.
func TestPausesEnd(t *testing.T) {
	if err := awaitPause(t.Context(), time.Nanosecond, nil); err != nil {
		t.Errorf("after its time, awaitPause returns %v", err)
	}
	stop := make(chan struct{})
	close(stop)
	if err := awaitPause(t.Context(), time.Hour, stop); err != nil {
		t.Errorf("when told to stop, awaitPause returns %v", err)
	}
	why := errors.New("over")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	if err := awaitPause(ended, time.Hour, nil); !errors.Is(err, why) {
		t.Errorf("with an ended context, awaitPause returns %v, want the cause", err)
	}
}
