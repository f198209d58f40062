package kafka

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// If brokers are unreachable, or accept a connection and never answer, the program waits for the
// time of the patience, logs one line and ends the run with an error.
func TestPatienceEnds(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, address := range map[string]string{"silent": silent.Addr().String(), "closed": closed.Addr().String()} {
		var log bytes.Buffer
		c := &SourceConfig{Topics: []string{"a"}, Until: "latest", Group: "g"}
		c.Brokers, c.Patience = []string{address}, 1
		if got := c.Abilities().Topics.Patience; got != 1 {
			t.Errorf("patience %v", got)
		}
		const patience = 400 * time.Millisecond
		ctx := WithPatience(zerolog.New(&log).Level(zerolog.WarnLevel).WithContext(context.Background()), patience)
		begin := time.Now()
		_, err := c.Open(ctx)
		took := time.Since(begin)
		var final *FinalError
		if !errors.As(err, &final) || !strings.Contains(err.Error(), "no broker has answered for 400ms") {
			t.Errorf("%s: %v", name, err)
		}
		if took < patience/2 || took > 30*patience {
			t.Errorf("%s: ended after %v", name, took)
		}
		for _, what := range append([]string{"it is tried again"}, unreachable...) {
			if lines := strings.Count(log.String(), what); lines > 1 {
				t.Errorf("%s: %d lines of log\n%s", name, lines, log.String())
			}
		}
	}
}

func TestWaitsAreBounded(t *testing.T) {
	ctx := WithPatience(context.Background(), 50*time.Millisecond)
	never := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	var final *FinalError
	if err := await(ctx, "writing", never); !errors.As(err, &final) ||
		!strings.HasPrefix(err.Error(), "writing: no broker has answered for 50ms; are") {
		t.Error(err)
	}
	// Other errors and success are returned unchanged.
	broken := errors.New("broken")
	if err := await(ctx, "writing", func(context.Context) error { return broken }); err != broken {
		t.Error(err)
	}
	if err := await(ctx, "writing", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	// A cancelled run is not reported as the end of the patience.
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := await(over, "writing", never); errors.As(err, &final) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Without a patience only the context ends a wait.
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := await(short, "writing", never); errors.As(err, &final) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	// A wait that the network interrupts again and again ends too, and its error contains the last
	// network error.
	tries := 0
	err := persist(WithPatience(context.Background(), 300*time.Millisecond), zerolog.Nop(), "asking",
		func(context.Context) error { tries++; return broken })
	if !errors.As(err, &final) ||
		!strings.HasPrefix(err.Error(), "asking: no broker has answered for 300ms: broken; are") || tries < 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// A stream that receives nothing asks whether any broker is reachable.
func TestStreamHears(t *testing.T) {
	c := newCluster(t)
	s := &Stream{client: newClient(t, c), config: StreamConfig{Log: zerolog.Nop()}}
	ctx := WithPatience(context.Background(), 300*time.Millisecond)
	for range 3 { // the brokers answer
		if err := s.hear(ctx, false); err != nil {
			t.Fatal(err)
		}
		s.lastContact = time.Now().Add(-time.Hour)
	}
	c.Close()
	if err := s.hear(context.Background(), false); err != nil {
		t.Error("without a patience no broker is asked")
	}
	if err := s.hear(ctx, true); err != nil {
		t.Error("records have come")
	}
	s.lastContact = time.Now().Add(-time.Hour)
	var final *FinalError
	if err := s.hear(ctx, false); !errors.As(err, &final) {
		t.Errorf("no broker is reachable: %v", err)
	}
	// A patience of 1 ns counts as well.
	if err := s.hear(WithPatience(context.Background(), 1), false); !errors.As(err, &final) {
		t.Errorf("after a nanosecond: %v", err)
	}
}

// Messages that the client logs at each retry are logged once a minute, each message separately.
func TestClientDoesNotRepeatItself(t *testing.T) {
	var log bytes.Buffer
	l := newLogger(zerolog.New(&log))
	for range 3 {
		for _, msg := range unreachable {
			l.Log(kgo.LogLevelWarn, msg)
		}
		l.Log(kgo.LogLevelWarn, "another")
	}
	for _, msg := range unreachable {
		if n := strings.Count(log.String(), `"warn","from":"kafka client","message":"`+msg); n != 1 {
			t.Errorf("%q is logged %d times", msg, n)
		}
	}
	if n := strings.Count(log.String(), `"warn","from":"kafka client","message":"another`); n != 3 {
		t.Errorf("new messages are logged %d times of 3", n)
	}
}
