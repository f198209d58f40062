package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// began is a moment before all others, by the monotonic clock.
var began = time.Now().Add(-time.Second)

// elapsed are nanoseconds that are not 0 and that no correction of the clock makes more or fewer.
func elapsed() int64 { return int64(time.Since(began)) }

// patienceKey is the key under which a context keeps its patience.
type patienceKey struct{}

// WithPatience bounds each wait for brokers that do not answer: it ends after that time with a
// *FinalError. With 0, and without WithPatience, a wait ends with the context alone.
func WithPatience(ctx context.Context, patience time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, patience)
}

func patienceOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(patienceKey{}).(time.Duration)
	return d
}

// startKey is the key under which a context keeps when the start of a run is over.
type startKey struct{}

// Starting is the context of a run that starts now: for the given time, topics that the brokers do not know
// are waited for, as they may just have been created.
func Starting(ctx context.Context, patience time.Duration) context.Context {
	return context.WithValue(ctx, startKey{}, time.Now().Add(patience))
}

// Started is the context of a run that has started: nothing is waited for any more.
func Started(ctx context.Context) context.Context {
	return context.WithValue(ctx, startKey{}, time.Time{})
}

// NotYet reports whether an error may be due to a topic that was created a moment ago, and a run starts, so
// that a repetition may help.
func NotYet(ctx context.Context, err error) bool { return err != nil && startLeft(ctx, err) > 0 }

// startLeft is how long an error may still be due to a topic that was created a moment ago.
func startLeft(ctx context.Context, err error) time.Duration {
	over, starts := ctx.Value(startKey{}).(time.Time)
	if !starts || !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.UnknownTopicID) {
		return 0
	}
	return time.Until(over)
}

// startTick is the greatest time between two looks for a topic at the start of a run.
const startTick = time.Second

// errImpatient is the cause with which a wait ends when its patience is over.
var errImpatient = errors.New("the brokers have not answered in time")

// bounded calls f, one wait for the brokers that began at the given time, with a context that
// ends when the patience does.
func bounded(ctx context.Context, since time.Time, f func(context.Context) error) error {
	patience := patienceOf(ctx)
	if patience <= 0 {
		return f(ctx)
	}
	within, cancel := context.WithDeadlineCause(ctx, since.Add(patience), errImpatient)
	defer cancel()
	err := f(within)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return errors.Join(errImpatient, err)
	}
	return err
}

// impatient is the error of a wait whose patience is over; last is the last failure.
func impatient(ctx context.Context, what string, last error) error {
	text := fmt.Sprintf("%s: no broker has answered for %v", what, patienceOf(ctx))
	if last != nil && !errors.Is(last, context.DeadlineExceeded) && !errors.Is(last, errImpatient) {
		text += ": " + last.Error()
	}
	return &FinalError{
		Text: text +
			"; are source.kafka.brokers and sink.kafka.brokers right, and can they be reached? (patience says how long they are waited for)", Err: errImpatient}
}

// await is one wait for the brokers during which the client itself repeats its requests.
func await(ctx context.Context, what string, f func(context.Context) error) error {
	err := bounded(ctx, time.Now(), f)
	if errors.Is(err, errImpatient) {
		return impatient(ctx, what, nil)
	}
	return err
}

// hear asks the brokers whether they are there, after no records have come for as long as the
// patience lasts: the client itself would try without end.
func (s *Stream) hear(ctx context.Context, records bool) error {
	patience := patienceOf(ctx)
	switch now := time.Now(); {
	case patience <= 0:
		return nil
	case records || s.lastContact.IsZero():
		s.lastContact = now
		return nil
	case now.Sub(s.lastContact) < patience:
		return nil
	}
	err := persist(ctx, s.config.Log, "asking whether the brokers are there", s.client.Ping)
	if err == nil {
		s.lastContact = time.Now()
	}
	return err
}
