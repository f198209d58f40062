package assess

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// encodingVersion is the first content of an encoded accumulator, after the magic word. Every
// change of the encoding raises it.
const (
	encodingMagic   = "sdlA"
	encodingVersion = 8
)

// MarshalBinary encodes the accumulator, so that another process can continue with
// UnmarshalBinary. The result is as confidential as the original data.
func (a *Accumulator) MarshalBinary() ([]byte, error) {
	a.sample.Settle()
	e := wire.Encoder(make([]byte, 0, 256+a.sample.Len()*(16+8*a.layout.Width())))
	a.encode(&e, func(from *place.Numbering) { a.sample.Encode(&e, from) })
	return e, nil
}

// encode writes the accumulator, and has sample written in its place.
func (a *Accumulator) encode(to *wire.Encoder, sample func(from *place.Numbering)) {
	e := *to
	e = append(e, encodingMagic...)
	e.Uint(encodingVersion)
	e.Text(a.opts.Key.ID())
	e.Uint(uint64(len(a.opts.Columns)))
	for _, c := range a.opts.Columns {
		e.Text(c.Name)
		e.Uint(uint64(c.Index))
	}
	for _, list := range [][]int{a.opts.Carry, a.opts.Released} {
		e.Uint(uint64(len(list)))
		for _, c := range list {
			e.Uint(uint64(c))
		}
	}
	e.Uint(uint64(len(a.opts.Beside)))
	for _, c := range a.opts.Beside {
		e.Text(c.Name)
		e.Uint(uint64(c.Index))
		e.Uint(uint64(c.Piece))
	}
	e.Int(int64(a.opts.Sample))
	e.Int(int64(a.opts.Extremes))

	e.Int(a.records)
	from := place.NewNumbering()
	for i := range a.columns {
		a.columns[i].bottom.Number(from)
		a.columns[i].top.Number(from)
	}
	a.sample.Number(from)
	for i := range a.columns {
		if a.columns[i].order != nil {
			a.columns[i].order.Number(from)
		}
	}
	from.Encode(&e)
	for i := range a.columns {
		s := &a.columns[i]
		e.Int(s.pairs)
		e.Int(s.unchanged)
		e.Floats(s.diff, s.squareDiff, s.low, s.high)
		s.bottom.Encode(&e, from)
		s.top.Encode(&e, from)
		if s.counts != nil {
			s.counts.Encode(&e)
		}
		if s.order != nil {
			s.order.Encode(&e, from)
		}
	}
	a.original.Encode(&e)
	a.released.Encode(&e)
	*to = e
	sample(from)
	a.encodeCodes(to)
	a.encodeWatched(to)
}

var errEncoding = errors.New("assess: encoded accumulator is damaged or cut short")

// UnmarshalBinary replaces the content of a by the content that MarshalBinary encoded. a must
// have been made by New with the same key, columns, carried columns, sample and extremes. After
// an error a is unchanged.
func (a *Accumulator) UnmarshalBinary(data []byte) error {
	return a.decode(data, func(s *sample.Sample, d *wire.Decoder, from []*place.Origin) { s.Decode(d, from) })
}

// decode reads what encode wrote, and has of read the sample.
func (a *Accumulator) decode(data []byte, of func(s *sample.Sample, d *wire.Decoder, from []*place.Origin)) error {
	if a.opts.Columns == nil {
		return errors.New("assess: an accumulator must be made by New before it is decoded")
	}
	fresh, err := New(a.opts)
	if err != nil {
		return err
	}
	d := wire.Decoder{Rest: data}
	if string(d.Bytes(len(encodingMagic))) != encodingMagic {
		return errors.New("assess: not an encoded accumulator")
	}
	if v := d.Uint(); v != encodingVersion {
		return fmt.Errorf("assess: encoded accumulator must have version %d, got %d", encodingVersion, v)
	}
	if err := fresh.opts.sameOptions(&d); err != nil {
		return err
	}
	fresh.records = d.Int()
	from := fresh.origins.Decode(&d)
	for i := range fresh.columns {
		s := &fresh.columns[i]
		s.pairs, s.unchanged = d.Int(), d.Int()
		s.diff, s.squareDiff, s.low, s.high = d.Float(), d.Float(), d.Float(), d.Float()
		s.bottom.Decode(&d, fresh.layout.Width(), from)
		s.top.Decode(&d, fresh.layout.Width(), from)
		if s.counts != nil {
			s.counts.Decode(&d)
		}
		if s.order != nil {
			s.order.Decode(&d, from)
		}
	}
	fresh.original.Decode(&d)
	fresh.released.Decode(&d)
	of(&fresh.sample, &d, from)
	fresh.decodeCodes(&d)
	fresh.decodeWatched(&d)
	if d.Failed || len(d.Rest) != 0 || !fresh.plausible() {
		return errEncoding
	}
	*a = *fresh
	return nil
}

// plausible compares counts with each other, so that decoded values cannot lead later
// arithmetic out of range.
func (a *Accumulator) plausible() bool {
	n := a.records
	if n < 0 || int64(a.sample.Len()) > n || a.opts.Sample >= 0 && a.sample.Len() > a.opts.Sample {
		return false
	}
	for i := range a.columns {
		s := &a.columns[i]
		if s.pairs < 0 || s.pairs > n || s.unchanged < 0 || s.unchanged > s.pairs {
			return false
		}
		if s.counts != nil && (s.counts.X.Seen > uint64(n) || s.counts.Y.Seen > uint64(n)) {
			return false
		}
	}
	for _, g := range []*comoment.Gram{&a.original, &a.released} {
		for _, p := range g.Pairs {
			if !(p.N >= 0 && p.N <= float64(n)) || p.N != math.Trunc(p.N) {
				return false
			}
		}
	}
	return true
}

// sameOptions reads the options with which an accumulator was encoded, and returns an error that
// names the first difference.
func (o *Options) sameOptions(d *wire.Decoder) error {
	id := d.Text()
	var names []string
	var indexes []int
	var carry, released []int
	for range d.Count(16) {
		names = append(names, d.Text())
		indexes = append(indexes, int(d.Int()))
	}
	for _, list := range []*[]int{&carry, &released} {
		for range d.Count(8) {
			*list = append(*list, int(d.Int()))
		}
	}
	var beside []BesideColumn
	for range d.Count(24) {
		beside = append(beside, BesideColumn{Name: d.Text(), Index: int(d.Int()), Piece: int(d.Int())})
	}
	sample, extremes := int(d.Int()), int(d.Int())
	if d.Failed {
		return errEncoding
	}
	same := len(names) == len(o.Columns) && slices.Equal(carry, o.Carry) && slices.Equal(released, o.Released)
	for i := 0; same && i < len(names); i++ {
		same = names[i] == o.Columns[i].Name && indexes[i] == o.Columns[i].Index
	}
	same = same && slices.EqualFunc(beside, o.Beside, func(a, b BesideColumn) bool {
		return a.Name == b.Name && a.Index == b.Index && a.Piece == b.Piece
	})
	switch {
	case id != o.Key.ID():
		return errors.New("assess: encoded accumulator was made with another key")
	case !same:
		return errors.New("assess: encoded accumulator is of other columns")
	case sample != o.Sample || extremes != o.Extremes:
		return fmt.Errorf("assess: encoded accumulator must have sample %d and extremes %d, got %d and %d", o.Sample,
			o.Extremes, sample, extremes)
	}
	return nil
}
