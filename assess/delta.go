package assess

import (
	"errors"
	"maps"
	"math"
)

// Delta returns an empty accumulator for records that a has not seen and that may
// have to be forgotten again: those of an open transaction. It keeps of them only
// what a would keep, so that of a long stream it stays small: its sample admits
// the priorities that a's sample still admits, its extremes those that a's would.
// a.Merge of it gives what adding the records to a would have given: counts,
// sample, extremes and tallies to the bit, sums but for rounding.
//
// What a delta leaves out is missing from any accumulator but a: it is to be
// merged into a, or into what a is merged into (Merged), and to be measured only
// there. It is made for a as a is now; what is added to a afterwards does no
// harm, as a only admits less then.
func (a *Accumulator) Delta() (*Accumulator, error) {
	d, err := New(a.opts)
	if err != nil {
		return nil, err
	}
	d.words = maps.Clone(a.words)
	a.bound(d)
	return d, nil
}

// Renew empties d, which a.Delta has made, for the next records: as a fresh Delta,
// with the memory of the old one.
func (a *Accumulator) Renew(d *Accumulator) error {
	if d == a {
		return errors.New("assess: an accumulator is no delta of itself")
	}
	if err := a.matches(d); err != nil {
		return err
	}
	d.records = 0
	for i := range d.columns {
		s := &d.columns[i]
		s.pairs, s.unchanged, s.diff, s.squareDiff = 0, 0, 0, 0
		s.low, s.high = math.Inf(1), math.Inf(-1)
		s.bottom.Reset()
		s.top.Reset()
		if s.counts != nil {
			s.counts.Reset()
		}
	}
	clear(d.original.Pairs)
	clear(d.released.Pairs)
	d.sample.Truncate(0)
	a.bound(d)
	return nil
}

// bound makes d, which is empty, admit only what a would keep.
func (a *Accumulator) bound(d *Accumulator) {
	s := &a.sample
	if s.K >= 0 && s.Len() > s.K+s.K/8 {
		// The limit is that of the last time: not so far off that it were worth the
		// pass over the sample before.
		s.Prune()
	}
	d.sample.Limit = s.Limit
	for i := range a.columns {
		from, to := &a.columns[i], &d.columns[i]
		to.bottom.Inherit(&from.bottom)
		to.top.Inherit(&from.top)
		if to.order != nil {
			to.order.Inherit(from.order)
		}
		if to.counts != nil {
			to.counts.Inherit(from.counts)
		}
	}
}

// Merged returns the merge of the parts, which stay as they are: wholes and their
// deltas, of one partition or of several.
func Merged(o Options, parts ...*Accumulator) (*Accumulator, error) {
	total, err := New(o)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := total.Merge(p); err != nil {
			return nil, err
		}
	}
	return total, nil
}
