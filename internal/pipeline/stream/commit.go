package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/standing"
)

// end judges the open transaction, completes it and commits it.
func (s *stream) end(ctx context.Context) error {
	begin := time.Now()
	if err := connectors.Unchanged(s.source); err != nil {
		return errors.Join(fmt.Errorf("source: %w", err), s.rollback(ctx))
	}
	refused, err := s.judge(ctx)
	if err != nil {
		return errors.Join(err, s.rollback(ctx))
	}
	if refused {
		return s.refuse(ctx)
	}
	if err := s.complete(ctx); err != nil {
		return errors.Join(err, s.rollback(ctx))
	}
	open := s.openCounts()
	committed, err := s.kafka.End(ctx, true)
	s.inTransaction = false
	s.options.Monitor.Commit(time.Since(begin), committed && err == nil)
	if err != nil {
		// It is not known whether the transaction was committed. So nothing of it is removed;
		// the next owner of the partitions decides by the stored state.
		return errors.Join(interruptionOf(err), s.outlet.leave(), s.forget())
	}
	if !committed {
		s.options.Log.Info().Msg(
			"a transaction was aborted, since partitions have moved or not all was taken; its records are read again")
		return s.forget()
	}
	for _, kept := range s.standings {
		kept.commit()
	}
	if err := s.outlet.committed(); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	s.countReleased(open)
	s.sayVain(efficiencyFrom)
	return s.snapshots.committed()
}

// complete adds to the transaction what goes with its records.
func (s *stream) complete(ctx context.Context) error {
	manifest, err := s.outlet.finish(ctx)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if err := s.quarantine.flush(); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	entries, err := s.entries(ctx)
	if err != nil {
		return err
	}
	for i, p := range s.partitions() {
		kept := s.standings[p]
		next, read := s.kafka.At(p)
		if !read {
			continue
		}
		if files := manifest[p]; files != nil {
			s.kafka.PutState(ctx, p, manifestEntry, files)
		}
		for _, e := range entries[i] {
			s.kafka.PutState(ctx, p, string(e.Key), e.Value)
		}
		place, err := s.keepPlace(p, kept, next)
		if err != nil {
			return err
		}
		s.kafka.PutState(ctx, p, placeEntry, place)
		counted, err := kept.totals.keep(s.printOf(kept.place.Begun), s.source.Place(next))
		if err != nil {
			return err
		}
		if counted != nil {
			s.kafka.PutState(ctx, p, totalsEntry, counted)
		}
	}
	return s.snapshots.emit(ctx)
}

// entries are what the open transaction adds to the assessments that are kept, by partition in
// the order of partitions. Nothing else is done meanwhile, so all cores work on it.
func (s *stream) entries(ctx context.Context) ([][]standing.Entry, error) {
	all := s.partitions()
	entries := make([][]standing.Entry, len(all))
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range all {
		kept := s.standings[p]
		next, read := s.kafka.At(p)
		if !read || kept.Standing == nil {
			continue
		}
		g.Go(func() (err error) {
			defer bug.Guard()
			// After offsets were set back by hand, records come that are counted already.
			if entries[i], err = kept.Entries(max(s.source.Place(next), kept.Next())); err != nil {
				return fmt.Errorf("the assessment of %s: %w", p, err)
			}
			return nil
		})
	}
	return entries, g.Wait()
}

// openCounts are the records of the open transaction.
func (s *stream) openCounts() report.Records {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r report.Records
	for _, k := range s.standings {
		r = account.Sum(r, k.openCounts())
	}
	return r
}

func (s *stream) countReleased(r report.Records) {
	s.options.Monitor.Records(r.Counts)
	s.options.Monitor.Quarantine(s.counts().Reasons, r.Reasons)
	s.showGaps()
}

// again aborts the open transaction, of which the sink's topic has refused records: it is read again.
func (s *stream) again(ctx context.Context) error {
	_, err := s.kafka.End(ctx, false)
	s.inTransaction = false
	s.options.Monitor.Commit(0, false)
	return errors.Join(interruptionOf(err), s.forget())
}

// rollback aborts the open transaction after an error.
func (s *stream) rollback(ctx context.Context) error {
	if !s.inTransaction {
		return s.forget()
	}
	// ctx itself may have ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err := s.kafka.End(ctx, false)
	s.inTransaction = false
	s.options.Monitor.Commit(0, false)
	if err != nil {
		s.options.Log.Debug().Err(err).Msg("the transaction could not be aborted; the broker will do it in time")
	}
	return s.forget()
}

// forget drops everything of the open transaction that is kept in memory.
func (s *stream) forget() error {
	s.inverted = inverted{}
	for _, kept := range s.standings {
		kept.rollback()
	}
	s.quarantine.forget()
	return errors.Join(s.snapshots.rollback(), s.outlet.abort())
}

// judgement is the last verdict of the gate.
type judgement struct {
	last    *assess.Verdict
	records int64 // pairs it rested on
	at      time.Time
}

// Between commits the gate is judged again once the pairs have grown by 1 %, and
// every few seconds: R and U of the whole change no faster, and a judgement takes
// some hundredths of a second.
const (
	judgeGrowth = 0.01
	judgeEvery  = 5 * time.Second
	// The efficiency of the first few records is random and is no one's secret: it does not stop a
	// stream. Risks count from the first record.
	efficiencyFrom = 1000
)

// judge compares what is released, the open transaction included, with the rules. It returns
// whether the transaction must not be committed as it is.
func (s *stream) judge(ctx context.Context) (refused bool, err error) {
	if !s.judges() {
		return false, nil
	}
	counts := s.counts()
	pairs := counts.Released
	due := s.verdict.last == nil || !s.verdict.last.Passed || time.Since(s.verdict.at) > judgeEvery ||
		float64(pairs) >= (1+judgeGrowth)*float64(s.verdict.records)
	if !due {
		return false, nil
	}
	whole, err := s.whole(true)
	if err != nil || whole == nil || whole.Records() == 0 {
		return false, err
	}
	measures, err := whole.MeasureQuick(ctx)
	if err != nil {
		return false, err
	}
	if err := s.invert(ctx, whole, measures); err != nil {
		return false, err
	}
	ofFirstRecords(measures, whole.Records())
	measures.Privacy = s.masked.Plan.Privacy()
	verdict := fromFirstRecords(assess.Judge(s.config.Gate.Rules, measures), whole.Records())
	before := s.verdict.last
	s.verdict = judgement{&verdict, pairs, time.Now()}
	s.options.Monitor.Gate(verdict.Passed, brokenRules(verdict))
	changed := before == nil || before.Passed != verdict.Passed
	switch {
	case verdict.Passed && s.holding:
		// The records of this transaction are on their way to the restricted topic
		// already, where they are safe; the next ones are released.
		s.holding = false
		s.options.Monitor.Mode("releasing")
		s.options.Log.Info().Msg("the gate's rules hold again: records are released from the next transaction on")
	case verdict.Passed:
		if changed && before != nil {
			s.options.Log.Info().Msg("the gate's rules hold again")
		}
	case s.config.Gate.OnFail == "alert":
		if changed {
			s.options.Log.Error().Strs("rules", brokenRules(verdict)).Msg(
				"the gate's rules do not hold; on_fail is alert, so records are released all the same")
		}
	case s.config.Gate.OnFail == "hold":
		return !s.holding, nil
	default:
		return true, nil
	}
	return false, nil
}

// refuse aborts a transaction that the gate does not release. With hold its records are read
// again and written to the restricted topic.
func (s *stream) refuse(ctx context.Context) error {
	broken := brokenRules(*s.verdict.last)
	s.refused = s.openCounts().Released
	if err := s.rollback(ctx); err != nil {
		return err
	}
	if s.config.Gate.OnFail == "hold" {
		s.holding = true
		s.options.Monitor.Mode("holding")
		s.options.Log.Error().Strs("rules", broken).Str("topic", s.config.Gate.Hold.Topic).
			Msg("the gate's rules do not hold: masked records go to the restricted topic until they do")
		return nil
	}
	s.options.Monitor.Mode("stopped")
	left := s.counts().Released
	stopped := report.Stopped{Left: left, NotLeft: s.refused}
	s.options.Log.Error().Strs("rules", broken).Int64("left", left).Int64("not_left", s.refused).
		Msg("the gate's rules do not hold: the stream stops, and nothing of the open transaction is released; " +
			stopped.Words())
	return errRefused
}

func brokenRules(v assess.Verdict) []string {
	var broken []string
	for _, r := range v.Rules {
		if !r.Passed {
			broken = append(broken, r.Rule)
		}
	}
	return broken
}

// ofFirstRecords keeps the gate from judging by few records that the masks have left each value of a column of texts as
// it is, which may be chance.
func ofFirstRecords(m *assess.Measures, records int64) {
	for i := range m.Unaltered {
		m.Unaltered[i].Judged = m.Unaltered[i].Judged && records >= efficiencyFrom
	}
}

// sayVain logs, once, the patterns of recodings that have matched no value in so many records or more.
func (s *stream) sayVain(from int64) {
	if s.saidVain || s.counts().Released < from {
		return
	}
	s.saidVain = true
	effect := s.effect()
	who := account.ReporterOf(s.masked, s.options.Version, s.started)
	who.Effect = &effect
	for _, words := range who.Vain() {
		s.options.Log.Warn().Msg(words + ", so far")
	}
}

// fromFirstRecords is a verdict on so many records: of few, it is one without the efficiency.
func fromFirstRecords(v assess.Verdict, records int64) assess.Verdict {
	if records < efficiencyFrom {
		return withoutEfficiency(v)
	}
	return v
}

func withoutEfficiency(v assess.Verdict) assess.Verdict {
	v.Passed = true
	for i := range v.Rules {
		r := &v.Rules[i]
		if r.Measure == "min_efficiency" && !r.Passed {
			r.Passed, r.Advice = true, fmt.Sprintf("judged from %d records on", efficiencyFrom)
		}
		v.Passed = v.Passed && r.Passed
	}
	return v
}
