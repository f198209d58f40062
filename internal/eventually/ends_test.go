package eventually

import (
	"context"
	"errors"
	"testing"
)

// A context ends with its nth question, of either kind, and stays ended; what is derived of
// it ends as well.
func TestEnds(t *testing.T) {
	e := Ends(t.Context(), 3)
	if e.Err() != nil || e.Ended() {
		t.Fatal("ended at the first question")
	}
	select {
	case <-e.Done():
		t.Fatal("ended at the second question")
	default:
	}
	if e.Ended() || !errors.Is(e.Err(), context.Canceled) || !e.Ended() || !errors.Is(e.Err(), context.Canceled) {
		t.Error("it does not end with the third question")
	}
	<-e.Done()
	below, cancel := context.WithCancel(e)
	defer cancel()
	if <-below.Done(); !errors.Is(below.Err(), context.Canceled) {
		t.Error(below.Err())
	}
	last, count := 0, 0
	for n := range Steps {
		if n <= last {
			t.Fatalf("%d after %d", n, last)
		}
		if last, count = n, count+1; n > 100 {
			break
		}
	}
	if count < 15 || last > 120 {
		t.Errorf("%d steps up to %d", count, last)
	}
}
