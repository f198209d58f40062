package exchange

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// The kinds of cells; each cell is preceded by its kind.
const (
	cellNull = iota
	cellNumber
	cellNullNumber // with the bits that lie under the null
	cellBytes
)

// pack writes the value at a place.
func (k *swapColumn) pack(p *coding.Packer, at uint32) {
	c := k.cell(at)
	switch {
	case k.starts != nil && c.Null:
		p.Number(cellNull)
	case k.starts != nil:
		p.Number(cellBytes)
		coding.PackBytes(p, c.Bytes)
	case c.Null:
		p.Number(cellNullNumber)
		p.Word(math.Float64bits(c.Number))
	default:
		p.Number(cellNumber)
		p.Word(math.Float64bits(c.Number))
	}
}

// unpack puts a value at a place: an existing one, or the next after the last.
func (k *swapColumn) unpack(u *coding.Unpacker, at uint32) {
	kind := u.Number()
	isText := kind == cellNull || kind == cellBytes
	if kind > cellBytes || len(k.nulls) > 0 && isText != (k.starts != nil) {
		u.Fail() // all values of a column have the same form
		return
	}
	if int(at) == len(k.nulls) {
		k.nulls = append(k.nulls, false)
		if isText {
			k.starts, k.lengths = append(k.starts, 0), append(k.lengths, 0)
		} else {
			k.numbers = append(k.numbers, 0)
		}
	}
	k.nulls[at] = kind == cellNull || kind == cellNullNumber
	switch kind {
	case cellNumber, cellNullNumber:
		k.numbers[at] = math.Float64frombits(u.Word())
	case cellBytes:
		b := u.Bytes()
		k.starts[at], k.lengths[at] = uint64(len(k.bytes)), uint32(len(b))
		k.bytes = append(k.bytes, b...)
	case cellNull:
		k.starts[at], k.lengths[at] = 0, 0
	}
}

func (s *sources) Pack(p *coding.Packer) {
	p.Number(uint64(len(s.list)))
	for _, at := range s.list {
		coding.PackBytes(p, at.Scope)
		p.Number(uint64(at.Stream))
	}
}

// merge reads the sources of another survey, adds them and returns their numbers here.
func (s *sources) merge(u *coding.Unpacker) []uint32 {
	numbers := make([]uint32, u.Count(2))
	for i := range numbers {
		numbers[i] = s.numbered(core.RecordPlace{Scope: string(u.Bytes()), Stream: int(u.Number())})
	}
	return numbers
}

func (s *datasetSwap) Pack(p *coding.Packer) {
	s.sources.Pack(p)
	s.grouping.Pack(p)
	p.Number(uint64(len(s.combos)))
	for i := range s.combos {
		m := &s.combos[i]
		p.Number(uint64(m.count))
		if m.count == 0 { // it has rejected records only
			continue
		}
		p.Number(uint64(m.group))
		lists, n := m.allHeads()
		p.Number(uint64(n))
		for _, list := range lists {
			s.packRecords(p, list)
		}
		p.Number(uint64(len(m.records)))
		s.packRecords(p, m.records)
	}
}

func (s *datasetSwap) packRecords(p *coding.Packer, list []swapRecord) {
	for _, r := range list {
		p.Word(r.order)
		p.Word(r.partner)
		p.Word(r.coin)
		p.Number(uint64(r.row))
		p.Number(uint64(r.source))
		for k := range s.values {
			s.values[k].pack(p, r.value)
		}
	}
}

// Merge reads and adds the packed survey of the records that follow.
func (s *datasetSwap) Merge(u *coding.Unpacker, t core.Territory) error {
	if s.values == nil {
		s.values = make([]swapColumn, len(s.protected))
	}
	from := s.sources.merge(u)
	codes := s.grouping.Merge(u, len(s.keys))
	n := u.Count(1)
	if n > len(codes.Combo) {
		u.Fail()
		return nil
	}
	for k, code := range codes.Combo[:n] {
		for len(s.combos) <= int(code) {
			s.combos = append(s.combos, combo{})
		}
		count := u.Number()
		if count == 0 {
			continue
		}
		if !t.Take(count) {
			return decision.ErrOtherRecords
		}
		group := codes.GroupOf(u, k)
		if u.Wrong {
			return nil
		}
		m := &s.combos[code]
		m.group = group
		m.count += int64(count)
		if err := s.mergeRecords(u, m, from, &t, count); err != nil || u.Wrong {
			return err
		}
	}
	return nil
}

// mergeRecords reads and adds the records that a survey has kept of a combination of count
// records.
func (s *datasetSwap) mergeRecords(u *coding.Unpacker, m *combo, from []uint32, t *core.Territory, count uint64) error {
	heads := u.Count(1)
	for range heads {
		r, err := s.unpackKept(u, from, t, true)
		if err != nil || u.Wrong {
			return err
		}
		r.value = s.unpackValues(u)
		m.addHead(r)
	}
	others := u.Count(1)
	if !s.plausible(count, uint64(heads), uint64(others)) {
		u.Fail()
		return nil
	}
	for range others {
		if err := s.mergeKept(u, m, from, t); err != nil || u.Wrong {
			return err
		}
	}
	return nil
}

// unpackKept reads a kept record; heads says whether its coin must have fallen heads.
func (s *datasetSwap) unpackKept(u *coding.Unpacker, from []uint32, t *core.Territory, heads bool) (swapRecord, error) {
	r := swapRecord{order: u.Word(), partner: u.Word(), coin: u.Word(), row: int64(u.Number())}
	source := u.Number()
	if u.Wrong || source >= uint64(len(from)) || !s.expected(r, heads) {
		u.Fail()
		return r, nil
	}
	r.source = from[source]
	return r, t.Name(s.sources.place(r))
}

// mergeKept reads a record and keeps it if it is among the four of least order.
func (s *datasetSwap) mergeKept(u *coding.Unpacker, m *combo, from []uint32, t *core.Territory) error {
	r, err := s.unpackKept(u, from, t, false)
	if err != nil || u.Wrong {
		return err
	}
	at, ok := s.placeAmong(m, r)
	if !ok {
		for range s.values { // read and ignored
			(&swapColumn{}).unpack(u, 0)
		}
		return nil
	}
	r.value = s.unpackValues(u)
	m.records = slices.Insert(m.records, at, r)
	return nil
}

// unpackValues reads and keeps the protected values of a record, and returns their place.
func (s *datasetSwap) unpackValues(u *coding.Unpacker) uint32 {
	at := s.vacant()
	for k := range s.values {
		if s.values[k].unpack(u, at); u.Wrong {
			break
		}
	}
	return at
}

// PackDecided writes the values that the records of some stretches receive.
func (s *datasetSwap) PackDecided(p *coding.Packer, of []core.Stretch) {
	p.Number(uint64(len(s.values)))
	lists, some := make([][]move, len(s.sources.list)), uint64(0)
	for i, at := range s.sources.list {
		for _, stretch := range of {
			if stretch.Stream == at.Stream {
				lists[i] = append(lists[i], s.within(i, stretch)...)
			}
		}
		if len(lists[i]) > 0 {
			some++
		}
	}
	p.Number(some)
	for i, at := range s.sources.list {
		if len(lists[i]) == 0 {
			continue
		}
		coding.PackBytes(p, at.Scope)
		p.Number(uint64(at.Stream))
		p.Number(uint64(len(lists[i])))
		for _, m := range lists[i] {
			p.Number(uint64(m.row))
			for k := range s.values {
				s.values[k].pack(p, m.value)
			}
		}
	}
}

// within returns the moves of a source to the records of a stretch.
func (s *datasetSwap) within(source int, stretch core.Stretch) []move {
	byRow := func(m move, row int64) int { return cmp.Compare(m.row, row) }
	all := s.moves[source]
	from, _ := slices.BinarySearchFunc(all, stretch.First, byRow)
	to, _ := slices.BinarySearchFunc(all, stretch.First+stretch.N, byRow)
	return all[from:to]
}

// TakeDecided reads what PackDecided wrote.
func (s *datasetSwap) TakeDecided(u *coding.Unpacker, t core.Territory) error {
	// A survey that has seen no record knows of no values.
	if n := u.Number(); n != 0 && n != uint64(len(s.protected)) {
		u.Fail()
		return nil
	}
	s.values = make([]swapColumn, len(s.protected))
	for range u.Count(3) {
		at := core.RecordPlace{Scope: string(u.Bytes()), Stream: int(u.Number())}
		number := s.sources.numbered(at)
		if int(number) < len(s.moves) {
			u.Fail() // a source must occur once only
			return nil
		}
		s.moves = append(s.moves, nil)
		last := int64(-1)
		for range u.Count(1) {
			at.Row = int64(u.Number())
			if at.Row == last {
				return core.ErrRecordTwice
			}
			if at.Row < last {
				u.Fail()
				return nil
			}
			last = at.Row
			m := move{row: at.Row, source: number, value: s.unpackValues(u)}
			if u.Wrong {
				return nil
			}
			if !t.Holds(at) {
				return decision.ErrOtherRecords
			}
			s.moves[number] = append(s.moves[number], m)
		}
	}
	return nil
}
