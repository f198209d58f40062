package assess

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
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
	from := e.origins(a)
	for i := range a.columns {
		s := &a.columns[i]
		e.int(s.pairs)
		e.int(s.unchanged)
		e.floats(s.diff, s.squareDiff, s.low, s.high)
		e.edge(&s.bottom, from)
		e.edge(&s.top, from)
		if s.x != nil {
			e.tally(s.x)
			e.tally(s.y)
			e.tail(&s.least)
			e.tail(&s.most)
		}
		if s.order != nil {
			e.order(s.order, from)
		}
	}
	e.gram(&a.original)
	e.gram(&a.released)
	s := &a.sample
	e.uint(uint64(s.limit))
	e.uint(uint64(s.len()))
	for _, p := range s.priority {
		e = binary.LittleEndian.AppendUint32(e, p)
	}
	var at place
	for i, row := range s.row {
		at = e.place(at, place{from[*s.from[i]], row})
	}
	for _, v := range s.values {
		e.floats(v...)
	}
	return e, nil
}

type encoder []byte

func (e *encoder) uint(v uint64)  { *e = binary.LittleEndian.AppendUint64(*e, v) }
func (e *encoder) int(v int64)    { e.uint(uint64(v)) }
func (e *encoder) short(v uint64) { *e = binary.AppendUvarint(*e, v) }
func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	*e = append(*e, s...)
}
func (e *encoder) floats(v ...float64) {
	for _, x := range v {
		e.uint(math.Float64bits(x))
	}
}

// origins writes the streams that records are held of and numbers them.
func (e *encoder) origins(a *Accumulator) map[origin]uint64 {
	number := map[origin]uint64{}
	var list []origin
	var last *origin
	add := func(o *origin) {
		if o == last {
			return
		}
		last = o
		if _, known := number[*o]; !known {
			number[*o] = uint64(len(list))
			list = append(list, *o)
		}
	}
	for i := range a.columns {
		for _, s := range []*edge{&a.columns[i].bottom, &a.columns[i].top} {
			s.prune()
			for _, x := range s.entries {
				add(x.from)
			}
		}
	}
	for _, o := range a.sample.from {
		add(o)
	}
	for i := range a.columns {
		if a.columns[i].order == nil {
			continue
		}
		for _, l := range a.columns[i].order.levels {
			for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
				add(&origin{k.of.scope, k.of.stream})
			}
		}
	}
	e.uint(uint64(len(list)))
	for _, o := range list {
		e.text(o.scope)
		e.int(int64(o.stream))
	}
	return number
}

// place is where a record lies: the number of its origin, and its row.
type place struct {
	from uint64
	row  int64
}

// place writes p as the step from the place written before, which is a few bytes
// where records stand in order, and returns p.
func (e *encoder) place(before, p place) place {
	e.short(p.from)
	*e = binary.AppendVarint(*e, p.row-before.row)
	return p
}

func (e *encoder) edge(s *edge, from map[origin]uint64) {
	e.uint(uint64(len(s.entries)))
	var at place
	for _, x := range s.entries {
		e.floats(x.x)
		at = e.place(at, place{from[*x.from], x.row})
		e.floats(x.values...)
	}
}

// tally writes every bin that holds something as the step of its code and its
// count: two or three bytes where values lie close.
func (e *encoder) tally(t *tally) {
	bins := 0
	t.scan(func(uint64, uint64) { bins++ })
	e.uint(t.seen)
	e.uint(uint64(bins))
	before := uint64(0)
	t.scan(func(code, count uint64) {
		e.short(code - before)
		e.short(count)
		before = code
	})
}

// tail writes the values in ascending order, which makes equal tails equal in their
// encoding.
func (e *encoder) tail(t *tail) {
	values := t.sorted()
	e.uint(uint64(len(values)))
	e.floats(values...)
}

func (d *decoder) tail(t *tail) {
	n := d.count(8)
	if n > t.keep {
		d.failed = true
		return
	}
	for range n {
		v := d.float()
		if !finite(v) || len(t.values) > 0 && v < t.values[len(t.values)-1] {
			d.failed = true
			return
		}
		t.values = append(t.values, v)
	}
	t.prune()
}

// gram writes the co-moments of a column with itself, and of a pair only what
// does not follow from them: where no value is missing that is Cij alone.
func (e *encoder) gram(g *gram) {
	for i := range g.k {
		for j := range i + 1 {
			p := g.at(i, j)
			switch own := g.pairOf(i, j); {
			case i == j:
				e.floats(p.N, p.Mi, p.Li, p.Cii, p.Cij)
			case p.sameAs(own):
				*e = append(*e, pairFollows)
				e.floats(p.Cij)
			default:
				*e = append(*e, pairOwn)
				e.floats(p.N, p.Mi, p.Mj, p.Li, p.Lj, p.Cii, p.Cjj, p.Cij)
			}
		}
	}
}

const (
	pairFollows = 1
	pairOwn     = 2
)

// pairOf is what the co-moments of two columns are, Cij apart, where no record
// has only one of them.
func (g *gram) pairOf(i, j int) comoment {
	a, b := g.at(i, i), g.at(j, j)
	return comoment{N: a.N, Mi: a.Mi, Mj: b.Mi, Li: a.Li, Lj: b.Li, Cii: a.Cii, Cjj: b.Cii}
}

// sameAs compares bit by bit all but Cij.
func (c comoment) sameAs(o comoment) bool {
	for _, p := range [][2]float64{{c.N, o.N}, {c.Mi, o.Mi}, {c.Mj, o.Mj}, {c.Li, o.Li}, {c.Lj, o.Lj}, {c.Cii, o.Cii}, {c.Cjj, o.Cjj}} {
		if math.Float64bits(p[0]) != math.Float64bits(p[1]) {
			return false
		}
	}
	return true
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
	from := d.origins(&fresh.origins)
	for i := range fresh.columns {
		s := &fresh.columns[i]
		s.pairs, s.unchanged = d.int(), d.int()
		s.diff, s.squareDiff, s.low, s.high = d.float(), d.float(), d.float(), d.float()
		d.edge(&s.bottom, fresh.opts.width(), from)
		d.edge(&s.top, fresh.opts.width(), from)
		if s.x != nil {
			d.tally(s.x)
			d.tally(s.y)
			d.tail(&s.least)
			d.tail(&s.most)
		}
		if s.order != nil {
			d.order(s.order, from)
		}
	}
	d.gram(&fresh.original)
	d.gram(&fresh.released)
	d.sample(&fresh.sample, from)
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

// short reads a varint in its one shortest form.
func (d *decoder) short() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || n > 1 && d.rest[n-1] == 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) signed() int64 {
	v := d.short()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) origins(known *origins) []*origin {
	list := make([]*origin, d.count(16))
	for i := range list {
		scope, stream := d.text(), d.int()
		if stream < 0 || stream > math.MaxInt32 {
			d.failed, d.rest = true, nil
			return nil
		}
		list[i] = known.of(scope, int32(stream))
	}
	return list
}

// place reads a place that follows another.
func (d *decoder) place(at *int64, from []*origin) *origin {
	number := d.short()
	*at += d.signed()
	if number >= uint64(len(from)) || *at < 0 {
		d.failed, d.rest = true, nil
		return nil
	}
	return from[number]
}

func (d *decoder) edge(e *edge, width int, from []*origin) {
	n := d.count(8*(1+width) + 2)
	if n > e.r {
		d.failed = true
		return
	}
	row := int64(0)
	for range n {
		x := extreme{x: d.float()}
		x.from = d.place(&row, from)
		x.row = row
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
	code := uint64(0)
	for i := range d.count(2) {
		step, count := d.short(), d.short()
		if step >= 1<<(12+pageBits) || step == 0 && i > 0 || count == 0 || d.failed {
			d.failed = true
			return
		}
		code += step
		if code >= 1<<(12+pageBits) || !finite(math.Float64frombits(code<<binShift)) || count > math.MaxInt64-t.n {
			d.failed = true
			return
		}
		page := &t.pages[code>>pageBits]
		if *page == nil {
			*page = new([pageBins]uint64)
		}
		(*page)[code&(pageBins-1)] = count
		t.n += count
	}
	// A value counts once, or for rare of them.
	if t.n < t.seen || t.n/rare > t.seen {
		d.failed = true
	}
}

func (d *decoder) gram(g *gram) {
	var follow [][2]int
	for i := range g.k {
		p := g.at(i, i)
		for j := range i {
			q := g.at(i, j)
			switch kind := d.bytes(1); {
			case kind == nil:
				return
			case kind[0] == pairFollows:
				q.Cij = d.float()
				follow = append(follow, [2]int{i, j})
			case kind[0] == pairOwn:
				for _, to := range []*float64{&q.N, &q.Mi, &q.Mj, &q.Li, &q.Lj, &q.Cii, &q.Cjj, &q.Cij} {
					*to = d.float()
				}
			default:
				d.failed, d.rest = true, nil
				return
			}
		}
		p.N, p.Mi, p.Li, p.Cii, p.Cij = d.float(), d.float(), d.float(), d.float(), d.float()
		p.Mj, p.Lj, p.Cjj = p.Mi, p.Li, p.Cii
	}
	for _, f := range follow {
		g.complete(f[0], f[1])
	}
}

// complete fills in what follows of a pair from its columns.
func (g *gram) complete(i, j int) {
	q := g.at(i, j)
	own := g.pairOf(i, j)
	own.Cij = q.Cij
	*q = own
}

func (d *decoder) sample(s *sample, from []*origin) {
	limit := d.uint()
	if limit > math.MaxUint32 {
		d.failed = true
		return
	}
	s.limit = uint32(limit)
	n := d.count(6 + 8*len(s.values))
	for _, p := range d.words(n) {
		if p > s.limit {
			d.failed = true
			return
		}
		s.priority = append(s.priority, p)
	}
	row := int64(0)
	for range n {
		s.from = append(s.from, d.place(&row, from))
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

// words reads n numbers of 4 bytes.
func (d *decoder) words(n int) []uint32 {
	raw := d.bytes(4 * n)
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return words
}
