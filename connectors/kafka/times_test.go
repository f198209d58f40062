package kafka

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The tests in this file use a fake clock (testing/synctest), so they can distinguish times one
// nanosecond apart.

// The fifth transaction within a minute that another process ends is an error, including the last
// moment of that minute. It does not count if the transaction has lasted for its maximum time.
func TestMomentsOfRivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			first, begun time.Duration // time before now
			want         bool
		}{
			{time.Minute, 0, true}, {time.Minute + 1, 0, false},
			// 15 s and three intervals
			{30 * time.Second, 18*time.Second - 1, true}, {30 * time.Second, 18 * time.Second, false},
		} {
			s := offline()
			s.config.Source.Instance = "i"
			for range rivals - 1 {
				s.rivalries = append(s.rivalries, time.Now().Add(-c.first))
			}
			s.begunAt.Store(elapsed() - int64(c.begun))
			if err := s.rival(kerr.ProducerFenced); (err != nil) != c.want {
				t.Errorf("the first %v ago, the last begun %v ago: %v", c.first, c.begun, err)
			}
		}
		// A fencing noted at the moment at which the open transaction began belongs to the previous
		// transaction.
		s := offline()
		s.config.Source.Instance = "i"
		s.begunAt.Store(elapsed())
		s.rivalries = []time.Time{time.Now()}
		if s.rival(kerr.ProducerFenced); len(s.rivalries) != 1 {
			t.Errorf("%d are noted of one transaction", len(s.rivalries))
		}
		if s.rivalries[0] = time.Now().Add(-1); s.rival(kerr.ProducerFenced) != nil || len(s.rivalries) != 2 {
			t.Errorf("%d are noted of two transactions", len(s.rivalries))
		}
	})
}

// A partition that was assigned and not entered is waited for during one session.
func TestMomentsOfAnAssignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline()
		s.onAssigned(t.Context(), nil, map[string][]int32{"in": {0}})
		time.Sleep(15*time.Second - 1)
		if s.Settled() {
			t.Error("settled within a session")
		}
		if time.Sleep(time.Nanosecond); !s.Settled() {
			t.Error("not settled after a session")
		}
	})
}

// A stream that shall end and is not told its assignment ends after five seconds, and a transaction
// ends when its time is over.
func TestMomentsOfAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline()
		s.Drain()
		time.Sleep(5 * time.Second)
		if s.Drained() {
			t.Error("drained at once")
		}
		if time.Sleep(time.Nanosecond); !s.Drained() {
			t.Error("not drained after five seconds")
		}
		s = offline()
		s.touched, s.deadline = true, time.Now().Add(time.Second)
		if got := s.pollWait(); got != time.Second {
			t.Errorf("a poll waits %v", got)
		}
		time.Sleep(time.Second - 1)
		if s.over() || s.pollWait() != time.Millisecond {
			t.Errorf("over %v before its time is up, a poll waits %v", s.over(), s.pollWait())
		}
		if time.Sleep(time.Nanosecond); !s.over() {
			t.Error("not over when its time is up")
		}
	})
}

// Messages that the client logs at each retry are logged once a minute.
func TestMomentsOfTheClientsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogger(zerolog.Nop()).(logger)
		for _, step := range []struct {
			after time.Duration
			again bool
		}{{0, false}, {0, true}, {time.Minute - 1, true}, {1, false}, {30 * time.Second, true}, {time.Minute, false}} {
			if time.Sleep(step.after); l.again(unreachable[0]) != step.again {
				t.Errorf("%v later: again is %v", step.after, !step.again)
			}
		}
		for range 2 {
			if l.again("something else") {
				t.Error("a new message counts as a repetition")
			}
		}
		if l.again(unreachable[1]) {
			t.Error("one message counts as another")
		}
	})
}

// A wait for the brokers ends exactly when the patience ends, during a try or between two tries.
// The end of the context takes precedence.
func TestMomentsOfPatience(t *testing.T) {
	never := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	closed := func(context.Context) error { return io.EOF }
	for name, ask := range map[string]func(context.Context) error{
		"await":                  func(ctx context.Context) error { return await(ctx, "asking", never) },
		"persist, no answer":     func(ctx context.Context) error { return persist(ctx, zerolog.Nop(), "asking", never) },
		"persist, between tries": func(ctx context.Context) error { return persist(ctx, zerolog.Nop(), "asking", closed) },
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := ask(WithPatience(t.Context(), time.Hour))
			if took := time.Since(began); !errors.Is(err, errImpatient) || took != time.Hour {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			ctx, cancel := context.WithTimeout(WithPatience(t.Context(), time.Hour), time.Hour-1)
			defer cancel()
			began = time.Now()
			err = ask(ctx)
			if took := time.Since(began); errors.Is(err, errImpatient) || !errors.Is(err, context.DeadlineExceeded) ||
				took != time.Hour-1 {
				t.Errorf("%s, with an end before it: %v after %v", name, err, took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := offline()
		ctx := WithPatience(t.Context(), time.Minute)
		for _, step := range []struct {
			after   time.Duration
			records bool
			// an offline stream has no broker to ask
		}{{0, false}, {time.Minute - 1, false}, {0, true}, {time.Minute - 1, false}} {
			time.Sleep(step.after)
			if err := s.hear(ctx, step.records); err != nil {
				t.Errorf("%v later: %v", step.after, err)
			}
		}
		if got := time.Since(s.lastContact); got != time.Minute-1 {
			t.Errorf("last heard %v ago", got)
		}
	})
}
