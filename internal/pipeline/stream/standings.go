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
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/standing"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// keptStanding is the assessment of one partition and its totals, as the state topic stores them.
type keptStanding struct {
	*standing.Standing                     // nil if there is nothing to assess
	heldPairs          *assess.Accumulator // of the open transaction's records that are held back; nil: none are
	totals             totals
	place              keptPlace // as of the last commit before the partition was entered, with what was found then
}

const manifestEntry = "files"

// add takes a masked block of the open transaction.
func (k *keptStanding) add(b *microdata.Block, holding bool) (err error) {
	k.totals.add(b, k.next(), holding)
	switch {
	case k.Standing == nil:
	case !holding:
		k.Standing.Add(b)
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

// next is the first place that is not counted in what is committed.
func (k *keptStanding) next() int64 {
	if k.Standing == nil {
		return k.totals.next
	}
	return k.Next()
}

// parts returns the assessments of what is released; with open, also those of the open
// transaction.
func (k *keptStanding) parts(open bool) []*assess.Accumulator {
	switch {
	case !open:
		return []*assess.Accumulator{k.Whole()}
	case k.heldPairs != nil:
		return []*assess.Accumulator{k.Whole(), k.heldPairs}
	}
	return []*assess.Accumulator{k.Whole(), k.Delta()}
}

// counts returns the counts of the partition's records, with the open transaction.
func (k *keptStanding) counts() (r report.Records) {
	r = account.Sum(k.totals.whole.records, k.totals.delta.records)
	if k.Standing != nil {
		whole, delta := k.Counts()
		r.Counts = r.Plus(whole).Plus(delta)
	}
	return r
}

// openCounts returns the counts of the open transaction.
func (k *keptStanding) openCounts() (r report.Records) {
	r = k.totals.delta.records
	if k.Standing != nil {
		_, delta := k.Counts()
		r.Counts = r.Plus(delta)
	}
	return r
}

func (k *keptStanding) commit() {
	k.heldPairs = nil
	k.totals.commit()
	if k.Standing != nil {
		k.Commit()
	}
}

func (k *keptStanding) rollback() {
	k.heldPairs = nil
	k.totals.rollback()
	if k.Standing != nil {
		k.Rollback()
	}
}

// enter reads the state of a partition that has been assigned: its assessment, how far it reaches, and
// the files of the last transaction.
func (s *stream) enter(p kafka.Partition, a kafka.Arrival, entries map[string][]byte) error {
	if err := s.outlet.enter(p, entries[manifestEntry]); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	live := entries[liveEntry]
	kept, known, stale, err := s.loadKept(entries)
	if err != nil {
		return fmt.Errorf("the assessment that is kept: %w", err)
	}
	if stale {
		s.options.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).
			Msg(
				"the stored assessment was made with other masks or columns: counts and the measurement of R and U start again from here")
	}
	if kept, err = s.settleGap(p, kept, a, s.gapOf(kept, a, known, stale), entries); err != nil {
		return err
	}
	s.mu.Lock()
	s.standings[p] = kept
	s.mu.Unlock()
	s.entered, s.inverted = true, inverted{}
	s.resumeLive(p, live)
	s.showGaps()
	return nil
}

// loadKept reads the entries of a partition's state. known: they say how far it reaches. stale: they
// are of other masks or columns.
func (f *inForce) loadKept(entries map[string][]byte) (k *keptStanding, known, stale bool, err error) {
	place, known, err := readPlace(entries[placeEntry])
	if err != nil {
		return nil, false, false, err
	}
	counted := entries[totalsEntry]
	for _, own := range ownEntries {
		delete(entries, own)
	}
	if k, err = f.loadStanding(entries, place.Begun); err != nil {
		return nil, false, false, err
	}
	k.place = place
	stale = k.Standing != nil && k.Stale()
	if !stale {
		if stale, err = k.totals.take(counted, f.printOf(place.Begun)); err != nil {
			return nil, false, false, err
		}
	}
	return k, known, stale, nil
}

// loadStanding reads the stored assessment of a partition that has begun anew so many times, without its
// totals. Without entries it is a new one.
func (f *inForce) loadStanding(entries map[string][]byte, begun int) (*keptStanding, error) {
	if !f.measures {
		return &keptStanding{totals: totals{records: true}}, nil
	}
	l, err := standing.Load(f.masked.Options, f.printOf(begun), maps.All(entries))
	if err != nil {
		return nil, err
	}
	return &keptStanding{Standing: l}, nil
}

// leaveOthers drops the standings of partitions that now belong to other instances.
func (s *stream) leaveOthers() {
	owned := s.kafka.Owned()
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.standings {
		if _, mine := owned[p]; !mine {
			delete(s.standings, p)
			s.inverted = inverted{}
		}
	}
}

func (s *stream) standingOf(p kafka.Partition) *keptStanding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standings[p]
}

// counts returns the counts of the records of this instance's partitions, with the open
// transaction.
func (s *stream) counts() report.Records {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r report.Records
	for p, k := range s.standings {
		r = account.Sum(r, account.Sum(k.counts(), s.gaps(p, k)))
	}
	return r
}

// effect returns what the masks did to the records of this instance's partitions, with the open
// transaction.
func (s *stream) effect() (e account.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.standings {
		e = e.Plus(k.totals.whole.effect).Plus(k.totals.delta.effect)
	}
	return e
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
		parts = append(parts, s.standings[p].parts(withOpen)...)
	}
	return assess.Merged(s.masked.Options, parts...)
}

// partitions returns the partitions of the standings, in order, so that sums do not depend on the
// order of a map.
func (s *stream) partitions() []kafka.Partition {
	var all []kafka.Partition
	for p := range s.standings {
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
	for _, c := range o.Beside {
		fmt.Fprintf(h, " %q %d %v %d", c.Name, c.Index, c.GroupOnly, c.Piece)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
