package standing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Counts are numbers of records of a partition by their fate.
type Counts = microdata.Counts

// plausible counts are such that sums of two do not overflow.
func plausible(c Counts) bool { return c.Valid() && c.Read <= maxCount }

// Standing is the assessment of one partition. One goroutine at a time may use it.
type Standing struct {
	opts        assess.Options
	fingerprint fingerprint
	stale       bool

	whole, delta             *assess.Accumulator
	wholeCounts, deltaCounts Counts
	next                     int64 // first place that the whole does not cover
	last                     int64 // last place in the delta; next−1 where it is empty

	written written  // what the topic holds
	pending *written // what it will hold when the transaction commits; nil before Entries
	lags    bool     // the topic lacks what is committed here
	rebase  bool     // a base has been made that was not committed, and may be there
	limit   int      // bytes of a value at most

	part microdata.Block // scratch
}

// fingerprint identifies what was measured how.
type fingerprint [16]byte

// written is the state of the compacted topic.
type written struct {
	epoch    uint64 // of the last base; 0: none yet
	seq      uint32 // of the last segment of the epoch; 0: none yet
	base     int    // bytes of the base
	segments int    // bytes of the epoch's segments
	next     int64
}

// New returns an empty standing. The fingerprint, any text, names everything that
// makes assessments incomparable when it changes: masks, columns, key. The
// options' own share of that (columns, sample, extremes, key) is added to it. The
// error is that of assess.New.
func New(o assess.Options, name string) (*Standing, error) {
	l := &Standing{opts: o, last: -1, limit: maxValue}
	if err := l.clear(); err != nil {
		return nil, err
	}
	print, err := fingerprintOf(l.whole, name)
	if err != nil {
		return nil, err
	}
	l.fingerprint = print
	return l, nil
}

// clear empties whole and delta.
func (l *Standing) clear() (err error) {
	if l.whole, err = assess.New(l.opts); err != nil {
		return err
	}
	l.delta, err = l.whole.Delta()
	return err
}

// fingerprintOf hashes the name together with the encoding of an empty
// accumulator, which holds the options that its content depends on.
func fingerprintOf(empty *assess.Accumulator, name string) (print fingerprint, err error) {
	options, err := empty.MarshalBinary()
	if err != nil {
		return print, err
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(len(name)))
	text = append(text, name...)
	sum := sha256.Sum256(append(text, options...))
	copy(print[:], sum[:])
	return print, nil
}

// Stale reports whether Load found an assessment with another fingerprint or of another version,
// and so began again. Earlier records are then in no total any more, and the operator of the stream
// should be told.
func (l *Standing) Stale() bool { return l.stale }

// Add takes a masked block of the partition into the delta: its records at Next
// and behind it. Those before were counted already and come again after a restart
// where deliveries are at least once. It returns how many records were taken in,
// rejected ones included.
func (l *Standing) Add(b *microdata.Block) int {
	from := 0
	if b.N > 0 && b.Place(0) < l.next {
		from = sort.Search(b.N, func(i int) bool { return b.Place(i) >= l.next })
	}
	if from == b.N {
		return 0
	}
	if from > 0 {
		b.Part(&l.part, from, b.N)
		b = &l.part
	}
	l.pending = nil
	l.delta.Add(b)
	l.last = max(l.last, b.Place(b.N-1))
	l.deltaCounts = l.deltaCounts.Plus(b.Counts())
	return b.N
}

// Whole returns what is committed. It must not be added to or merged into.
func (l *Standing) Whole() *assess.Accumulator { return l.whole }

// Delta returns what the open transaction adds. By itself it is incomplete:
// assess.Merged of Whole and Delta, of any number of standings with the same
// options, is what is to be measured.
func (l *Standing) Delta() *assess.Accumulator { return l.delta }

// Counts returns the records of whole and delta.
func (l *Standing) Counts() (whole, delta Counts) { return l.wholeCounts, l.deltaCounts }

// Next returns the first place that is not covered by what is committed. A group
// offset beyond it says that a part of the assessment was lost, one before it that
// records will come again, which Add skips.
func (l *Standing) Next() int64 { return l.next }

// Commit merges the delta into the whole, after what Entries returned has been
// committed. Without Entries since the last Add it holds for this instance alone,
// and the next Entries writes a base, which makes up for it.
func (l *Standing) Commit() {
	if l.pending == nil && l.deltaCounts == (Counts{}) {
		return // nothing has come of this partition
	}
	if l.pending == nil {
		p := l.written
		p.next = l.last + 1
		l.pending, l.lags = &p, true
	}
	if err := l.whole.Merge(l.delta); err != nil {
		panic(fmt.Sprintf("standing: merge of its own delta: %v", err)) // they have the same options
	}
	l.wholeCounts = l.wholeCounts.Plus(l.deltaCounts)
	if l.pending.epoch > l.written.epoch {
		l.lags, l.rebase = false, false
	}
	l.written, l.next = *l.pending, l.pending.next
	l.Rollback()
}

// Rollback drops the delta: its transaction was aborted, and the records will come
// again.
func (l *Standing) Rollback() {
	if err := l.whole.Renew(l.delta); err != nil {
		panic(fmt.Sprintf("standing: renewal of its own delta: %v", err)) // they have the same options
	}
	l.deltaCounts, l.pending = Counts{}, nil
	l.last = l.next - 1
}
