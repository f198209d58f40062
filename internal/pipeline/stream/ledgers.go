package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// keptLedger is the assessment of one partition, as the state topic stores it. If there is
// nothing to assess it has only the numbers of records since the start.
type keptLedger struct {
	*ledger.Ledger                     // nil if there is nothing to assess
	heldPairs      *assess.Accumulator // of the open transaction's records that are held back; nil: none are
	whole, delta   report.Records      // used without a ledger
	reasons        reasons             // of the records in quarantine
}

const manifestEntry = "files"

// add takes a masked block of the open transaction.
func (k *keptLedger) add(b *microdata.Block, holding bool) (err error) {
	if k.Ledger != nil {
		k.reasons.add(b, k.Next())
	} else {
		k.reasons.add(b, 0)
	}
	switch {
	case k.Ledger == nil:
		r := report.Records{Read: int64(b.N), Released: int64(b.Kept()), Quarantined: int64(len(b.Rejects)), LeftOut: int64(b.LeftOut())}
		if holding {
			r.Released, r.Held = 0, r.Released
		}
		k.delta = sum(k.delta, r)
	case !holding:
		k.Ledger.Add(b)
	default:
		k.AddHeld(b)
		if k.heldPairs == nil {
			if k.heldPairs, err = k.Whole().Delta(); err != nil {
				return err
			}
		}
		k.heldPairs.Add(b)
	}
	return nil
}

// parts returns the assessments of what is released; with open, also those of the open
// transaction.
func (k *keptLedger) parts(open bool) []*assess.Accumulator {
	switch {
	case !open:
		return []*assess.Accumulator{k.Whole()}
	case k.heldPairs != nil:
		return []*assess.Accumulator{k.Whole(), k.heldPairs}
	}
	return []*assess.Accumulator{k.Whole(), k.Delta()}
}

// counts returns the counts of the partition's records, with the open transaction.
func (k *keptLedger) counts() (r report.Records) {
	if k.Ledger == nil {
		r = sum(k.whole, k.delta)
	} else {
		whole, delta := k.Counts()
		r = sum(recordsOf(whole), recordsOf(delta))
	}
	r.Reasons = plus(k.reasons.whole, k.reasons.delta)
	return r
}

// openCounts returns the counts of the open transaction.
func (k *keptLedger) openCounts() (r report.Records) {
	r = k.delta
	if k.Ledger != nil {
		_, delta := k.Counts()
		r = recordsOf(delta)
	}
	r.Reasons = k.reasons.delta
	return r
}

func (k *keptLedger) commit() {
	k.whole, k.delta, k.heldPairs = sum(k.whole, k.delta), report.Records{}, nil
	k.reasons.commit()
	if k.Ledger != nil {
		k.Commit()
	}
}

func (k *keptLedger) rollback() {
	k.delta, k.heldPairs = report.Records{}, nil
	k.reasons.rollback()
	if k.Ledger != nil {
		k.Rollback()
	}
}

func recordsOf(c ledger.Counts) report.Records {
	return report.Records{Read: c.Read, Released: c.Released, Quarantined: c.Quarantined, LeftOut: c.LeftOut(), Held: c.Held}
}

func sum(a, b report.Records) report.Records {
	return report.Records{Read: a.Read + b.Read, Released: a.Released + b.Released, Quarantined: a.Quarantined + b.Quarantined, LeftOut: a.LeftOut + b.LeftOut, Held: a.Held + b.Held,
		Reasons: plus(a.Reasons, b.Reasons)}
}

// enter reads the state of a partition that has been assigned: its assessment, and the files
// of the last transaction. next is the offset of the next record.
func (s *stream) enter(p kafka.Partition, next int64, entries map[string][]byte) error {
	if err := s.outlet.enter(p, entries[manifestEntry]); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	counted, live := entries[reasonsEntry], entries[liveEntry]
	for _, own := range []string{manifestEntry, reasonsEntry, liveEntry} {
		delete(entries, own)
	}
	kept, err := s.newLedger(&s.inForce, p, entries)
	if err != nil {
		return err
	}
	if kept.Ledger != nil && kept.Next() > 0 && kept.Next() < s.source.Place(next) {
		s.options.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).
			Msg("the group's offset is ahead of the assessment that is kept: the records in between are in no total")
	}
	if kept.Ledger != nil && !kept.Stale() {
		if err := kept.reasons.take(counted, s.fingerprint); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.ledgers[p] = kept
	s.mu.Unlock()
	s.entered = true
	s.resumeLive(p, live)
	return nil
}

func (s *stream) newLedger(f *inForce, p kafka.Partition, entries map[string][]byte) (*keptLedger, error) {
	if !f.measures {
		return &keptLedger{}, nil
	}
	l, err := ledger.Load(f.assessOptions, f.fingerprint, maps.All(entries))
	if err != nil {
		return nil, fmt.Errorf("the assessment that is kept: %w", err)
	}
	if l.Stale() {
		s.options.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).
			Msg("the stored assessment was made with other masks or columns: the measurement of R and U starts again from here")
	}
	return &keptLedger{Ledger: l}, nil
}

// leaveOthers drops the ledgers of partitions that now belong to other instances.
func (s *stream) leaveOthers() {
	owned := s.kafka.Owned()
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.ledgers {
		if _, mine := owned[p]; !mine {
			delete(s.ledgers, p)
		}
	}
}

func (s *stream) ledgerOf(p kafka.Partition) *keptLedger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledgers[p]
}

// counts returns the counts of the records of this instance's partitions, with the open
// transaction.
func (s *stream) counts() report.Records {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r report.Records
	for _, k := range s.ledgers {
		r = sum(r, k.counts())
	}
	return r
}

// whole returns the assessment of this instance's partitions, with or without the open
// transaction; nil if nothing is assessed.
func (s *stream) whole(withOpen bool) (*assess.Accumulator, error) {
	if !s.measures {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []*assess.Accumulator
	for _, p := range s.partitions() {
		parts = append(parts, s.ledgers[p].parts(withOpen)...)
	}
	return assess.Merged(s.assessOptions, parts...)
}

// partitions returns the partitions of the ledgers, in order, so that sums do not depend on the
// order of a map.
func (s *stream) partitions() []kafka.Partition {
	var all []kafka.Partition
	for p := range s.ledgers {
		all = append(all, p)
	}
	slices.SortFunc(all, kafka.Partition.Compare)
	return all
}

// fingerprint returns a digest that differs between assessments that must not be merged.
func fingerprint(p *config.Pipeline, o assess.Options, key keystream.Key) string {
	h := sha256.New()
	h.Write(p.Part("columns", "identity", "masks", "window", "profile"))
	fmt.Fprintf(h, "%s %d %d %v", key.ID(), o.Sample, o.Extremes, o.Mixes)
	for _, c := range o.Columns {
		fmt.Fprintf(h, " %q %d %v", c.Name, c.Index, c.Masked)
	}
	fmt.Fprintf(h, " %v %v", o.Carry, o.Released)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
