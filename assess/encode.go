package assess

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// encodingVersion is the first thing in an encoded accumulator, after the
// magic word. A change of what follows raises it.
const (
	encodingMagic   = "sdlA"
	encodingVersion = 2
)

// MarshalBinary encodes what has been added, so that another process can take
// it up with UnmarshalBinary. It is as confidential as the original data.
func (a *Accumulator) MarshalBinary() ([]byte, error) {
	a.sample.settle()
	e := encoder(make([]byte, 0, 256+a.sample.len()*(16+8*a.opts.width())))
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
	for i := range a.columns {
		s := &a.columns[i]
		e.int(s.pairs)
		e.floats(s.diff, s.squareDiff, s.low, s.high)
		e.edge(&s.bottom)
		e.edge(&s.top)
		if s.x != nil {
			e.tally(s.x)
			e.tally(s.y)
		}
	}
	for _, g := range []*gram{&a.original, &a.released} {
		for _, p := range g.pairs {
			e.floats(p.N, p.Mi, p.Mj, p.Li, p.Lj, p.Cii, p.Cjj, p.Cij)
		}
	}
	e.uint(uint64(a.sample.limit))
	e.uint(uint64(a.sample.len()))
	for i := range a.sample.len() {
		e.uint(uint64(a.sample.priority[i]))
		e.int(int64(a.sample.stream[i]))
		e.int(a.sample.row[i])
	}
	for _, v := range a.sample.values {
		e.floats(v...)
	}
	return e, nil
}

type encoder []byte

func (e *encoder) uint(v uint64) { *e = binary.LittleEndian.AppendUint64(*e, v) }
func (e *encoder) int(v int64)   { e.uint(uint64(v)) }
func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	*e = append(*e, s...)
}
func (e *encoder) floats(v ...float64) {
	for _, x := range v {
		e.uint(math.Float64bits(x))
	}
}
func (e *encoder) edge(s *edge) {
	s.prune()
	e.uint(uint64(len(s.entries)))
	for _, x := range s.entries {
		e.floats(x.x)
		e.int(int64(x.stream))
		e.int(x.row)
		e.floats(x.values...)
	}
}

func (e *encoder) tally(t *tally) {
	bins := 0
	t.each(func(bin) bool { bins++; return true })
	e.uint(t.seen)
	e.uint(uint64(bins))
	t.each(func(b bin) bool {
		e.uint(b.code)
		e.uint(b.count)
		return true
	})
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
	if err := d.options(&fresh.opts); err != nil {
		return err
	}
	fresh.records = d.int()
	for i := range fresh.columns {
		s := &fresh.columns[i]
		s.pairs = d.int()
		s.diff, s.squareDiff, s.low, s.high = d.float(), d.float(), d.float(), d.float()
		d.edge(&s.bottom, fresh.opts.width())
		d.edge(&s.top, fresh.opts.width())
		if s.x != nil {
			d.tally(s.x)
			d.tally(s.y)
		}
	}
	for _, g := range []*gram{&fresh.original, &fresh.released} {
		for i := range g.pairs {
			p := &g.pairs[i]
			for _, to := range []*float64{&p.N, &p.Mi, &p.Mj, &p.Li, &p.Lj, &p.Cii, &p.Cjj, &p.Cij} {
				*to = d.float()
			}
		}
	}
	d.sample(&fresh.sample)
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
		if s.pairs < 0 || s.pairs > n {
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

// decoder reads from the front of rest; after a failure everything is zero.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.failed, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) uint() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) int() int64     { return int64(d.uint()) }
func (d *decoder) float() float64 { return math.Float64frombits(d.uint()) }

// count reads the number of items of at least size bytes each that follow; more
// than the rest can hold is a failure, so nothing large is allocated for it.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/size) {
		d.failed, d.rest = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.bytes(d.count(1))) }

func (d *decoder) options(o *Options) error {
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

func (d *decoder) place() (stream int32, row int64) {
	s, row := d.int(), d.int()
	if s < 0 || s > math.MaxInt32 || row < 0 {
		d.failed, d.rest = true, nil
	}
	return int32(s), row
}

func (d *decoder) edge(e *edge, width int) {
	n := d.count(8 * (3 + width))
	if n > e.r {
		d.failed = true
		return
	}
	for range n {
		var x extreme
		x.x = d.float()
		x.stream, x.row = d.place()
		x.values = make([]float64, width)
		for i := range x.values {
			x.values[i] = d.float()
		}
		if !finite(x.x) || d.failed {
			d.failed = true
			return
		}
		e.push(x)
	}
	e.prune()
}

func (d *decoder) tally(t *tally) {
	t.seen = d.uint()
	for range d.count(16) {
		code, count := d.uint(), d.uint()
		if code >= 1<<(12+pageBits) || !finite(math.Float64frombits(code<<binShift)) || count > math.MaxInt64-t.n {
			d.failed = true
			return
		}
		page := &t.pages[code>>pageBits]
		if *page == nil {
			*page = new([pageBins]uint64)
		}
		(*page)[code&(pageBins-1)] += count
		t.n += count
	}
}

func (d *decoder) sample(s *sample) {
	limit := d.uint()
	if limit > math.MaxUint32 {
		d.failed = true
		return
	}
	s.limit = uint32(limit)
	n := d.count(24 + 8*len(s.values))
	for range n {
		p := d.uint()
		stream, row := d.place()
		if p > limit {
			d.failed = true
			return
		}
		s.priority = append(s.priority, uint32(p))
		s.stream = append(s.stream, stream)
		s.row = append(s.row, row)
	}
	for i := range s.values {
		s.values[i] = make([]float64, n)
		for j := range s.values[i] {
			v := d.float()
			if math.IsInf(v, 0) {
				d.failed = true
				return
			}
			s.values[i][j] = v
		}
	}
}
