package kafka

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Flush waits until everything produced has been taken by the brokers, or something was
// not.
func (s *Stream) Flush(ctx context.Context) error {
	if err := await(ctx, "writing", func(ctx context.Context) error {
		return flushed(ctx, s.client, s.failure)
	}); err != nil {
		return err
	}
	return s.failure()
}

// End ends the open transaction and returns whether it was committed. Where it
// was not, nothing of it is released, and its records are read again. An error
// leaves the outcome open: Leave, and Join anew. With at_least_once there is
// nothing to take back: commit commits the offsets, abort reads the records again.
func (s *Stream) End(ctx context.Context, commit bool) (committed bool, err error) {
	defer s.client.AllowRebalance()
	defer func() {
		if committed {
			s.committed, s.lostBefore = maps.Clone(s.at), maps.Clone(s.lost)
			s.refused.committed(s.at)
			return
		}
		s.at, s.lost = maps.Clone(s.committed), maps.Clone(s.lostBefore)
		if err == nil || Refused(err) {
			err = errors.Join(s.learnRefused(ctx), err)
		}
	}()
	if s.session == nil {
		return s.endGroup(ctx, commit)
	}
	if commit {
		// A message that no broker takes must not be left out of the release.
		if err := s.Flush(ctx); err != nil {
			commit = false
			if ctx.Err() != nil || Final(err) {
				// If the abort fails, the broker ends the transaction when it times out.
				abortCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
				defer cancel()
				_, endErr := s.session.End(abortCtx, kgo.TryAbort)
				return false, errors.Join(err, endErr)
			}
			s.config.Log.Warn().Err(err).Msg("the transaction is aborted and its records are read again")
			// What is left may wait for something that does not come.
			within, cancel := context.WithTimeoutCause(ctx, abortPatience, errStuck)
			defer cancel()
			ctx = within
		}
	}
	// The session asks the group's coordinator whether this is still a member of the
	// group, in a heartbeat. Where it has been thrown out no heart beats any more: the
	// client waits to say that partitions are lost, which waits for AllowRebalance.
	patience := time.AfterFunc(endPatience, s.client.AllowRebalance)
	err = await(ctx, "ending a transaction", func(ctx context.Context) (err error) {
		committed, err = s.session.End(ctx, kgo.TransactionEndTry(commit))
		patience.Stop()
		if err == nil && commit && !committed {
			err = s.verifyAborted(ctx)
		}
		return err
	})
	if err != nil {
		if taken := s.rival(err); taken != nil {
			err = taken
		}
		if errors.Is(context.Cause(ctx), errStuck) {
			err = errors.Join(errStuck, err)
		}
		return false, explainError(err, "ending a transaction")
	}
	if s.outbox.strange.Load() {
		return committed, errStrange
	}
	return committed, nil
}

// drained waits until the client has said of all messages what has become of them: without transactions
// nothing else tells that.
func (s *Stream) drained(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, abortPatience, errStuck)
	defer cancel()
	return s.client.Flush(ctx)
}

// learnRefused is refusals.learn after an abort. If a topic takes less than it did, the member joins anew,
// with a client that makes smaller batches.
func (s *Stream) learnRefused(ctx context.Context) error {
	topics, err := s.refused.learn()
	if err != nil {
		return err
	}
	changed := false
	for _, topic := range topics {
		changed = s.findLimits(ctx, topic) || changed
	}
	if changed {
		return errLimits
	}
	return nil
}

var (
	errLimits  = errors.New("a topic of the sink takes other messages than before")
	errStuck   = errors.New("the client does not let go of what has failed")
	errStrange = errors.New("a topic could not be learnt")
)

// endGroup is End without transactions.
func (s *Stream) endGroup(ctx context.Context, commit bool) (bool, error) {
	err := s.failure()
	if commit {
		err = s.Flush(ctx)
	}
	if Refused(err) {
		err = errors.Join(err, s.drained(ctx))
	}
	switch {
	case !commit || err == nil:
	case Final(err) || ctx.Err() != nil:
		return false, err
	default:
		// Without transactions nothing gives the client another id when the brokers have
		// refused it one, or revives one that they have ended.
		if _, _, lost := s.client.ProducerID(ctx); lost != nil || s.outbox.strange.Load() {
			return false, err
		}
		commit = false
	}
	if !commit {
		s.client.SetOffsets(s.client.CommittedOffsets())
		return false, nil
	}
	if err := await(ctx, "committing offsets", s.client.CommitUncommittedOffsets); err != nil {
		if Final(err) {
			return false, explainError(err, "committing offsets")
		}
		s.config.Log.Warn().Err(err).Msg("offsets could not be committed; records are read again")
		s.client.SetOffsets(s.client.CommittedOffsets())
		return false, nil
	}
	return true, nil
}
