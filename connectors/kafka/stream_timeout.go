package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// transactionTimeout is how long the broker waits for the end of a transaction whose owner has
// died. Readers of the released topic wait as long, so that it is short until transactions are found to
// take longer.
func (s *Stream) transactionTimeout() time.Duration {
	shortest := 15*time.Second + 3*s.interval()
	return max(shortest, min(shortest<<s.doubled.Load(), releaseTimeout))
}

// lengthen doubles the timeout of transactions if the brokers have ended one that took longer: its
// records are read again, take as long again, and nothing would ever be committed.
func (s *Stream) lengthen() {
	before := s.transactionTimeout()
	if !s.late.Swap(false) || before >= releaseTimeout {
		return
	}
	s.doubled.Add(1)
	s.config.Log.Warn().Stringer("timeout", s.transactionTimeout()).Msg(
		"a transaction took longer than the brokers wait for its end (" + before.String() + "); now they wait longer")
}

// errShort is returned where transactions take longer than the brokers allow.
var errShort = errors.New("transactions take longer than the brokers allow (transaction.max.timeout.ms); " +
	"fewer records in each (sink.commit.records) or a smaller assess.sample makes them shorter")

// shorten takes the last doubling back if the brokers refuse so long a timeout.
func (s *Stream) shorten(err error) error {
	if !errors.Is(err, kerr.InvalidTransactionTimeout) || s.doubled.Load() == 0 {
		return err
	}
	s.doubled.Add(-1)
	return errShort
}

// rival tells a process of the same instance, which has the same transactional id,
// from a transaction that has taken too long: either ends it by raising the
// producer's epoch. A transaction that is ended before its time was ended by
// another process. That may be one that was thawed and will learn so itself, or a
// broker's mistake; after so many times in a short while the two are taking turns,
// and this one gives way.
func (s *Stream) rival(err error) error {
	if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		return nil
	}
	if elapsed()-s.begunAt.Load() >= int64(s.transactionTimeout()) {
		s.late.Store(true)
		return nil
	}
	if s.config.Source.Instance == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Once a transaction, however many errors it has.
	if last := len(s.rivalries) - 1; last < 0 || s.rivalries[last].Before(began.Add(time.Duration(s.begunAt.Load()))) {
		s.rivalries = append(s.rivalries, time.Now())
	}
	if len(s.rivalries) > rivals {
		s.rivalries = s.rivalries[1:]
	}
	if len(s.rivalries) < rivals || time.Since(s.rivalries[0]) > rivalry {
		return nil
	}
	return &FinalError{Text: brokerReason(kerr.FencedInstanceID, subject{}), Err: err}
}
