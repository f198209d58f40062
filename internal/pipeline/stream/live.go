package stream

import (
	"context"

	"github.com/sdlfilter/sdlfilter/connectors/kafka"
)

// liveEntry is the entry of the state that holds what the live page has shown. It is stored with
// the first of this instance's partitions, and passes to the next owner with it.
const liveEntry = "live"

// keepLive adds to the open transaction the state that the page will have after the commit.
func (s *stream) keepLive(ctx context.Context) error {
	state, err := s.options.Monitor.State(s.snapshots.pageUpdate, s.fingerprint)
	if err != nil || len(state) == 0 {
		return err
	}
	if len(state) > mostState {
		s.options.Log.Debug().Int("bytes", len(state)).Msg("the live page's state is too large to be kept")
		return nil
	}
	s.mu.Lock()
	all := s.partitions()
	s.mu.Unlock()
	if len(all) > 0 {
		s.kafka.PutState(ctx, all[0], liveEntry, state)
	}
	return nil
}

// mostState is the greatest size of the entry, below the greatest message that brokers accept.
const mostState = 900 << 10

// resumeLive reads the state of the page that was stored with a partition. The stream does not
// depend on the page: a state that cannot be read is ignored.
func (s *stream) resumeLive(p kafka.Partition, state []byte) {
	if err := s.options.Monitor.Resume(state, s.fingerprint); err != nil {
		s.options.Log.Warn().Err(err).Str("topic", p.Topic).Int32("partition", p.Number).Msg("the live page begins anew")
	}
}

// present shows the stored measures of a stream that gets no records, and the gate's verdict by
// the present rules. New records are shown after their commit. An error of the page does not
// end the stream.
func (s *stream) present(ctx context.Context) {
	s.showGaps()
	if s.options.Monitor == nil || !s.entered {
		return
	}
	s.entered = false
	if err := s.presentKept(ctx); err != nil {
		s.options.Log.Warn().Err(err).Msg("the live page shows no measures until records come")
	}
}

func (s *stream) presentKept(ctx context.Context) error {
	m := s.options.Monitor
	counts := s.counts()
	m.Quarantine(counts.Reasons, nil)
	if !s.measures || m.HasSnapshot() || counts.Released == 0 {
		return nil
	}
	whole, err := s.whole(false)
	if err != nil {
		return err
	}
	measures, err := whole.MeasureQuick(ctx)
	if err != nil {
		return err
	}
	if measures.Identity, err = s.inversionOf(ctx, whole); err != nil {
		return err
	}
	rep := s.report(counts, measures, false)
	if s.config.Gate.Judges() {
		m.Gate(rep.Gate.Passed, brokenRules(rep.Gate))
	}
	m.Show(m.Reduce(rep))
	return nil
}
