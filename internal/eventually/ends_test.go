package eventually

import (
	"context"
	"errors"
	"testing"
)

// A context ends at its nth check, of either kind, and stays ended; derived contexts end as well.
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
	if e.Questions() != 4 {
		t.Errorf("%d questions", e.Questions())
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

// A context performs an action once, at its nth check of either kind, and continues.
func TestAtQuestion(t *testing.T) {
	done := 0
	a := AtQuestion(t.Context(), 2, func() { done++ })
	if a.Err() != nil || done != 0 {
		t.Fatalf("done %d times at the first question", done)
	}
	select {
	case <-a.Done():
		t.Fatal("it has ended")
	default:
	}
	if done != 1 || a.Err() != nil || done != 1 || a.Questions() != 3 {
		t.Errorf("done %d times, %d questions", done, a.Questions())
	}
	if never := AtQuestion(t.Context(), 0, nil); never.Err() != nil || never.Questions() != 1 {
		t.Error("it does something at no question")
	}
}
