package eventually

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// failing records the messages of a failing test instead of failing.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

func TestTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, tries := time.Now(), 0
		f := &failing{TB: t}
		True(f, "three tries", func() bool { tries++; return tries == 3 })
		if took := time.Since(begin); f.text != "" || tries != 3 || took != 3*time.Millisecond {
			t.Errorf("%q after %d tries and %v", f.text, tries, took)
		}
		// A condition that is met at the last moment counts as met.
		begin = time.Now()
		Within(f, time.Second, "a second", func() bool { return time.Since(begin) >= time.Second })
		if f.text != "" {
			t.Error(f.text)
		}
		begin = time.Now()
		Within(f, time.Second, "the moon is green", func() bool { return false })
		if took := time.Since(begin); f.text != "after 1s still not so: the moon is green" || took < time.Second ||
			took > 1100*time.Millisecond {
			t.Errorf("%q after %v", f.text, took)
		}
	})
}

func TestElapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		Elapse(t, time.Hour)
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("an hour takes %v", took)
		}
	})
	var begin time.Time
	t.Run("ends", func(t *testing.T) {
		begin = time.Now()
		done := make(chan struct{})
		go func() { defer close(done); Elapse(t, time.Hour) }()
		t.Cleanup(func() { <-done }) // the context ends before
	})
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the test is over, and %v go by", took)
	}
}
