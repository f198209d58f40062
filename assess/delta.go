package assess

import (
	"errors"
	"maps"
	"math"
)

// Delta returns an empty accumulator for records that are not in a and may have to be dropped
// again, such as those of an open transaction. It keeps only what a would keep, so it stays
// small in a long stream: its sample and its extremes admit only what those of a would admit.
// After a.Merge of the delta, a is as if the records had been added to it: counts, sample,
// extremes and tallies are equal to the bit, sums up to rounding.
//
// Merge a delta only into a, or together with a (Merged), and measure only the result: any
// other accumulator would lack what the delta leaves out. Records may be added to a after
// Delta, because a then only admits less.
func (a *Accumulator) Delta() (*Accumulator, error) {
	d, err := New(a.opts)
	if err != nil {
		return nil, err
	}
	d.words = maps.Clone(a.words)
	a.bound(d)
	return d, nil
}

// Renew empties d, a delta of a, for the next records. It is like a new Delta, but reuses
// memory.
func (a *Accumulator) Renew(d *Accumulator) error {
	if d == a {
		return errors.New("assess: an accumulator is no delta of itself")
	}
	if err := a.matches(d); err != nil {
		return err
	}
	d.records, d.coded = 0, newCoded(d.opts.Coded)
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
		// Otherwise the limit is that of the last Prune: it is not worth another pass over
		// the sample.
		s.Prune()
	}
	d.sample.Limit = s.Limit
	for i := range d.watched {
		d.watched[i].inherit(&a.watched[i])
	}
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

// Merged returns the merge of the parts, which it does not change: accumulators and their
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
