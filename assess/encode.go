package assess

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// encodingVersion is the first thing in an encoded accumulator, after the
// magic word. A change of what follows raises it.
const (
	encodingMagic   = "sdlA"
	encodingVersion = 5
)

// MarshalBinary encodes what has been added, so that another process can take
// it up with UnmarshalBinary. It is as confidential as the original data.
func (a *Accumulator) MarshalBinary() ([]byte, error) {
	a.sample.settle()
	e := encoder(make([]byte, 0, 256+a.sample.len()*(16+8*a.layout.width())))
	e = append(e, encodingMagic...)
	e.uint(encodingVersion)
	e.text(a.opts.Key.ID())
	e.uint(uint64(len(a.opts.Columns)))
	for _, c := range a.opts.Columns {
		e.text(c.Name)
		e.uint(uint64(c.Index))
	}
	e.uint(uint64(len(a.opts.Carry)))
	for _, c := range a.opts.Carry {
		e.uint(uint64(c))
	}
	e.int(int64(a.opts.Sample))
	e.int(int64(a.opts.Extremes))

	e.int(a.records)
	from := newNumbering()
	for i := range a.columns {
		a.columns[i].bottom.number(from)
		a.columns[i].top.number(from)
	}
	a.sample.number(from)
	for i := range a.columns {
		if a.columns[i].order != nil {
			a.columns[i].order.number(from)
		}
	}
	from.encode(&e)
	for i := range a.columns {
		s := &a.columns[i]
		e.int(s.pairs)
		e.int(s.unchanged)
		e.floats(s.diff, s.squareDiff, s.low, s.high)
		s.bottom.encode(&e, from)
		s.top.encode(&e, from)
		if s.x != nil {
			s.x.encode(&e)
			s.y.encode(&e)
			s.least.encode(&e)
			s.most.encode(&e)
		}
		if s.order != nil {
			s.order.encode(&e, from)
		}
	}
	a.original.encode(&e)
	a.released.encode(&e)
	a.sample.encode(&e, from)
	return e, nil
}

var errEncoding = errors.New("assess: encoded accumulator is damaged or cut short")

// UnmarshalBinary replaces what a holds by what MarshalBinary wrote. a must
// have been made by New with the same key, columns, carried columns, sample and
// extremes. On an error a is unchanged.
func (a *Accumulator) UnmarshalBinary(data []byte) error {
	if a.opts.Columns == nil {
		return errors.New("assess: an accumulator must be made by New before it is decoded")
	}
	fresh, err := New(a.opts)
	if err != nil {
		return err
	}
	d := decoder{rest: data}
	if string(d.bytes(len(encodingMagic))) != encodingMagic {
		return errors.New("assess: not an encoded accumulator")
	}
	if v := d.uint(); v != encodingVersion {
		return fmt.Errorf("assess: encoded accumulator must have version %d, got %d", encodingVersion, v)
	}
	if err := fresh.opts.sameOptions(&d); err != nil {
		return err
	}
	fresh.records = d.int()
	from := fresh.origins.decode(&d)
	for i := range fresh.columns {
		s := &fresh.columns[i]
		s.pairs, s.unchanged = d.int(), d.int()
		s.diff, s.squareDiff, s.low, s.high = d.float(), d.float(), d.float(), d.float()
		s.bottom.decode(&d, fresh.layout.width(), from)
		s.top.decode(&d, fresh.layout.width(), from)
		if s.x != nil {
			s.x.decode(&d)
			s.y.decode(&d)
			s.least.decode(&d)
			s.most.decode(&d)
		}
		if s.order != nil {
			s.order.decode(&d, from)
		}
	}
	fresh.original.decode(&d)
	fresh.released.decode(&d)
	fresh.sample.decode(&d, from)
	if d.failed || len(d.rest) != 0 || !fresh.plausible() {
		return errEncoding
	}
	*a = *fresh
	return nil
}

// plausible holds counts against each other, so that what was decoded cannot
// lead later arithmetic out of range.
func (a *Accumulator) plausible() bool {
	n := a.records
	if n < 0 || int64(a.sample.len()) > n || a.opts.Sample >= 0 && a.sample.len() > a.opts.Sample {
		return false
	}
	for i := range a.columns {
		s := &a.columns[i]
		if s.pairs < 0 || s.pairs > n || s.unchanged < 0 || s.unchanged > s.pairs {
			return false
		}
		if s.x != nil && (s.x.seen > uint64(n) || s.y.seen > uint64(n)) {
			return false
		}
	}
	for _, g := range []*gram{&a.original, &a.released} {
		for _, p := range g.pairs {
			if !(p.N >= 0 && p.N <= float64(n)) || p.N != math.Trunc(p.N) {
				return false
			}
		}
	}
	return true
}

// sameOptions reads with which options an accumulator was encoded, and says what differs.
func (o *Options) sameOptions(d *decoder) error {
	id := d.text()
	var names []string
	var indexes, carry []int
	for range d.count(16) {
		names = append(names, d.text())
		indexes = append(indexes, int(d.int()))
	}
	for range d.count(8) {
		carry = append(carry, int(d.int()))
	}
	sample, extremes := int(d.int()), int(d.int())
	if d.failed {
		return errEncoding
	}
	same := len(names) == len(o.Columns) && slices.Equal(carry, o.Carry)
	for i := 0; same && i < len(names); i++ {
		same = names[i] == o.Columns[i].Name && indexes[i] == o.Columns[i].Index
	}
	switch {
	case id != o.Key.ID():
		return errors.New("assess: encoded accumulator was made with another key")
	case !same:
		return errors.New("assess: encoded accumulator is of other columns")
	case sample != o.Sample || extremes != o.Extremes:
		return fmt.Errorf("assess: encoded accumulator must have sample %d and extremes %d, got %d and %d", o.Sample, o.Extremes, sample, extremes)
	}
	return nil
}
