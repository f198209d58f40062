package transform

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// InParts reports whether a mask can be applied to parts of the records by several processes:
// it treats each record by itself, or SurveysInParts is true for its chain. A part must consist
// of whole windows.
func InParts(p Params) bool {
	return declared(p).inParts || !MixesRecords(p)
}

// surveyingParts is a surveying step whose survey can be merged from parts.
type surveyingParts interface {
	surveying
	pack(p *packer)
	merge(u *unpacker, t territory) error
	bounded(c *Chain) error
	packDecided(p *packer, of []Stretch)
	takeDecided(u *unpacker, t territory) error
}

// SurveysInParts reports whether several chains can each survey a part of the records, pass
// their results to one chain that decides, and receive its decisions. This holds if every mask
// of scope dataset is a swap.
func (c *Chain) SurveysInParts() bool {
	for _, s := range c.steps {
		if _, of := s.(surveying); of {
			if _, ok := s.(surveyingParts); !ok {
				return false
			}
		}
	}
	return c.survey > 0
}

var errNotInParts = errors.New("survey: a mask with scope dataset cannot process the records in parts")

func (c *Chain) inParts() (list []surveyingParts) {
	for _, s := range c.steps {
		if s, ok := s.(surveyingParts); ok {
			list = append(list, s)
		}
	}
	return list
}

// MarshalSurvey returns the result of Survey so far; it is called instead of EndSurvey.
// MergeSurvey of another chain of the same masks, columns and key reads it. It contains values of
// records, so it is as confidential as they are.
func (c *Chain) MarshalSurvey() ([]byte, error) {
	if !c.SurveysInParts() || c.surveyed {
		return nil, errNotInParts
	}
	var p packer
	for _, s := range c.inParts() {
		s.pack(&p)
	}
	return p.text, nil
}

// MergeSurvey adds the result of another chain (MarshalSurvey) for the records that follow
// those of this chain: parts must come in the order of the source. of are the records of the
// part, the stretches of a stream in order; a survey of other records is an error. The error is a
// *SurveyError if there are too many records in total. After an error the chain must not be used.
func (c *Chain) MergeSurvey(marshalled []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.surveyed {
		return errNotInParts
	}
	u := unpacker{text: marshalled}
	for _, s := range c.inParts() {
		if err := s.merge(&u, newTerritory(of)); err != nil {
			return err
		}
		if u.wrong {
			return errDamagedSurvey
		}
		if err := s.bounded(c); err != nil {
			return err
		}
	}
	if len(u.text) > 0 {
		return errDamagedSurvey
	}
	return c.fits()
}

var errDamagedSurvey = errors.New("the result of the survey is damaged, or was made with other masks")

// Stretch is N records of a stream, from the place First on.
type Stretch struct {
	Stream   int
	First, N int64
}

// MarshalDecisions returns the results of EndSurvey for some records, for UseDecisions of another
// chain. The stretches of a stream must be in the order of their places, without overlap. It
// contains values of records.
func (c *Chain) MarshalDecisions(of []Stretch) ([]byte, error) {
	if !c.SurveysInParts() || !c.surveyed {
		return nil, errNotInParts
	}
	var p packer
	for _, s := range c.inParts() {
		s.packDecided(&p, of)
	}
	return p.text, nil
}

// UseDecisions passes the decisions of another chain (MarshalDecisions) to this one, in place of
// Survey and EndSurvey. of are the records of the part; decisions for others are refused. Apply
// does not change records that these decisions do not include.
func (c *Chain) UseDecisions(decided []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.surveyed {
		return errNotInParts
	}
	u := unpacker{text: decided}
	for _, s := range c.inParts() {
		if err := s.takeDecided(&u, newTerritory(of)); err != nil {
			return err
		}
	}
	if u.wrong || len(u.text) > 0 {
		return errDamagedSurvey
	}
	c.surveyed = true
	return nil
}

// The kinds of cells; each cell is preceded by its kind.
const (
	cellNull = iota
	cellNumber
	cellNullNumber // with the bits that lie under the null
	cellBytes
)

// pack writes the value at a place.
func (k *swapColumn) pack(p *packer, at uint32) {
	c := k.cell(at)
	switch {
	case k.starts != nil && c.null:
		p.number(cellNull)
	case k.starts != nil:
		p.number(cellBytes)
		packBytes(p, c.bytes)
	case c.null:
		p.number(cellNullNumber)
		p.word(math.Float64bits(c.number))
	default:
		p.number(cellNumber)
		p.word(math.Float64bits(c.number))
	}
}

// unpack puts a value at a place: an existing one, or the next after the last.
func (k *swapColumn) unpack(u *unpacker, at uint32) {
	kind := u.number()
	isText := kind == cellNull || kind == cellBytes
	if kind > cellBytes || len(k.nulls) > 0 && isText != (k.starts != nil) {
		u.fail() // all values of a column have the same form
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
		k.numbers[at] = math.Float64frombits(u.word())
	case cellBytes:
		b := u.bytes()
		k.starts[at], k.lengths[at] = uint64(len(k.bytes)), uint32(len(b))
		k.bytes = append(k.bytes, b...)
	case cellNull:
		k.starts[at], k.lengths[at] = 0, 0
	}
}

func (s *sources) pack(p *packer) {
	p.number(uint64(len(s.list)))
	for _, at := range s.list {
		packBytes(p, at.scope)
		p.number(uint64(at.stream))
	}
}

// merge reads the sources of another survey, adds them and returns their numbers here.
func (s *sources) merge(u *unpacker) []uint32 {
	numbers := make([]uint32, u.count(2))
	for i := range numbers {
		numbers[i] = s.numbered(place{scope: string(u.bytes()), stream: int(u.number())})
	}
	return numbers
}

// inOrder returns the words of a table in the order of their codes.
func (t *wordTable) inOrder() []uint64 {
	list := make([]uint64, t.n)
	for i, code := range t.codes {
		if code > 0 {
			list[code-1] = t.words[i]
		}
	}
	return list
}

func (g *grouping) pack(p *packer) {
	p.number(uint64(len(g.columns)))
	for i := range g.columns {
		c := &g.columns[i]
		p.words(c.words.inOrder())
		texts := make([]string, len(c.texts))
		for text, code := range c.texts {
			texts[code-1] = text
		}
		p.number(uint64(len(texts)))
		for _, text := range texts {
			packBytes(p, text)
		}
	}
	for i := range g.pairs {
		p.words(g.pairs[i].inOrder())
	}
}

// merge adds what another grouping has seen, in the order in which it was seen, as if after all
// that this one has seen. For each combination of keys and attribute of the other, it returns
// the code here, and the other's code of its keys.
func (g *grouping) merge(u *unpacker, columns int) (m mergedCodes) {
	if n := u.count(2); n == 0 {
		return m // it has seen no record
	} else if n != columns {
		u.fail()
		return m
	}
	g.widen(columns)
	codes := make([][]int32, columns)
	for i := range codes {
		codes[i] = g.columns[i].merge(u)
	}
	m.combo = codes[0]
	for i := range g.pairs {
		m.group = m.combo
		words := u.words()
		m.combo, m.keys = make([]int32, len(words)), make([]uint32, len(words))
		for k, w := range words {
			left, right := w>>32, uint64(uint32(w))
			if left >= uint64(len(m.group)) || right >= uint64(len(codes[i+1])) {
				u.fail()
				return mergedCodes{}
			}
			m.keys[k] = uint32(left)
			m.combo[k] = g.pairs[i].code(uint64(uint32(m.group[left]))<<32 | uint64(uint32(codes[i+1][right])))
		}
	}
	return m
}

// mergedCodes are the codes here of what another grouping has seen.
type mergedCodes struct {
	group []int32  // by the other's code of keys
	combo []int32  // by the other's code of keys with the attribute
	keys  []uint32 // by the other's code of keys with the attribute: its code of the keys
}

// groupOf reads the other's code of the keys of its combination k, and returns the code here.
func (m *mergedCodes) groupOf(u *unpacker, k int) int32 {
	if g := u.number(); k < len(m.keys) && g == uint64(m.keys[k]) {
		return m.group[g]
	}
	u.fail() // the combination has other keys
	return -1
}

// merge returns the codes here of another coder's values, by their codes there. 0 is null.
func (c *coder) merge(u *unpacker) []int32 {
	codes := []int32{0}
	for _, w := range u.words() {
		codes = append(codes, c.word(w))
	}
	n := u.count(1)
	if n > 0 && c.words.n > 0 || len(codes) > 1 && len(c.texts) > 0 {
		u.fail() // all values of a column have the same form
		return codes
	}
	for range n {
		codes = append(codes, c.anyText(u.bytes()))
	}
	return codes
}

func (s *datasetSwap) pack(p *packer) {
	s.sources.pack(p)
	s.grouping.pack(p)
	p.number(uint64(len(s.combos)))
	for i := range s.combos {
		m := &s.combos[i]
		p.number(uint64(m.count))
		if m.count == 0 { // it has rejected records only
			continue
		}
		p.number(uint64(m.group))
		lists, n := m.allHeads()
		p.number(uint64(n))
		for _, list := range lists {
			s.packRecords(p, list)
		}
		p.number(uint64(len(m.records)))
		s.packRecords(p, m.records)
	}
}

func (s *datasetSwap) packRecords(p *packer, list []swapRecord) {
	for _, r := range list {
		p.word(r.order)
		p.word(r.partner)
		p.word(r.coin)
		p.number(uint64(r.row))
		p.number(uint64(r.source))
		for k := range s.values {
			s.values[k].pack(p, r.value)
		}
	}
}

// merge reads and adds the packed survey of the records that follow.
func (s *datasetSwap) merge(u *unpacker, t territory) error {
	if s.values == nil {
		s.values = make([]swapColumn, len(s.protected))
	}
	from := s.sources.merge(u)
	codes := s.grouping.merge(u, len(s.keys))
	n := u.count(1)
	if n > len(codes.combo) {
		u.fail()
		return nil
	}
	for k, code := range codes.combo[:n] {
		for len(s.combos) <= int(code) {
			s.combos = append(s.combos, combo{})
		}
		count := u.number()
		if count == 0 {
			continue
		}
		if !t.take(count) {
			return errOtherRecords
		}
		group := codes.groupOf(u, k)
		if u.wrong {
			return nil
		}
		m := &s.combos[code]
		m.group = group
		m.count += int64(count)
		if err := s.mergeRecords(u, m, from, &t, count); err != nil || u.wrong {
			return err
		}
	}
	return nil
}

// mergeRecords reads and adds the records that a survey has kept of a combination of count
// records.
func (s *datasetSwap) mergeRecords(u *unpacker, m *combo, from []uint32, t *territory, count uint64) error {
	heads := u.count(1)
	for range heads {
		r, err := s.unpackKept(u, from, t, true)
		if err != nil || u.wrong {
			return err
		}
		r.value = s.unpackValues(u)
		m.addHead(r)
	}
	others := u.count(1)
	if !s.plausible(count, uint64(heads), uint64(others)) {
		u.fail()
		return nil
	}
	for range others {
		if err := s.mergeKept(u, m, from, t); err != nil || u.wrong {
			return err
		}
	}
	return nil
}

// unpackKept reads a kept record; heads says whether its coin must have fallen heads.
func (s *datasetSwap) unpackKept(u *unpacker, from []uint32, t *territory, heads bool) (swapRecord, error) {
	r := swapRecord{order: u.word(), partner: u.word(), coin: u.word(), row: int64(u.number())}
	source := u.number()
	if u.wrong || source >= uint64(len(from)) || !s.expected(r, heads) {
		u.fail()
		return r, nil
	}
	r.source = from[source]
	return r, t.name(s.sources.place(r))
}

// mergeKept reads a record and keeps it if it is among the four of least order.
func (s *datasetSwap) mergeKept(u *unpacker, m *combo, from []uint32, t *territory) error {
	r, err := s.unpackKept(u, from, t, false)
	if err != nil || u.wrong {
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
func (s *datasetSwap) unpackValues(u *unpacker) uint32 {
	at := s.vacant()
	for k := range s.values {
		if s.values[k].unpack(u, at); u.wrong {
			break
		}
	}
	return at
}

// packDecided writes the values that the records of some stretches receive.
func (s *datasetSwap) packDecided(p *packer, of []Stretch) {
	p.number(uint64(len(s.values)))
	lists, some := make([][]move, len(s.sources.list)), uint64(0)
	for i, at := range s.sources.list {
		for _, stretch := range of {
			if stretch.Stream == at.stream {
				lists[i] = append(lists[i], s.within(i, stretch)...)
			}
		}
		if len(lists[i]) > 0 {
			some++
		}
	}
	p.number(some)
	for i, at := range s.sources.list {
		if len(lists[i]) == 0 {
			continue
		}
		packBytes(p, at.scope)
		p.number(uint64(at.stream))
		p.number(uint64(len(lists[i])))
		for _, m := range lists[i] {
			p.number(uint64(m.row))
			for k := range s.values {
				s.values[k].pack(p, m.value)
			}
		}
	}
}

// within returns the moves of a source to the records of a stretch.
func (s *datasetSwap) within(source int, stretch Stretch) []move {
	byRow := func(m move, row int64) int { return cmp.Compare(m.row, row) }
	all := s.moves[source]
	from, _ := slices.BinarySearchFunc(all, stretch.First, byRow)
	to, _ := slices.BinarySearchFunc(all, stretch.First+stretch.N, byRow)
	return all[from:to]
}

// takeDecided reads what packDecided wrote.
func (s *datasetSwap) takeDecided(u *unpacker, t territory) error {
	// A survey that has seen no record knows of no values.
	if n := u.number(); n != 0 && n != uint64(len(s.protected)) {
		u.fail()
		return nil
	}
	s.values = make([]swapColumn, len(s.protected))
	for range u.count(3) {
		at := place{scope: string(u.bytes()), stream: int(u.number())}
		number := s.sources.numbered(at)
		if int(number) < len(s.moves) {
			u.fail() // a source must occur once only
			return nil
		}
		s.moves = append(s.moves, nil)
		last := int64(-1)
		for range u.count(1) {
			at.row = int64(u.number())
			if at.row == last {
				return errRecordTwice
			}
			if at.row < last {
				u.fail()
				return nil
			}
			last = at.row
			m := move{row: at.row, source: number, value: s.unpackValues(u)}
			if u.wrong {
				return nil
			}
			if !t.holds(at) {
				return errOtherRecords
			}
			s.moves[number] = append(s.moves[number], m)
		}
	}
	return nil
}
