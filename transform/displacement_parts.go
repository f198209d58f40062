package transform

import (
	"math"
	"slices"
)

// MarshalSurvey returns the result of Survey so far; it is called instead of EndSurvey.
// MergeSurvey of the Displacer of another chain of the same masks, columns and key reads it. It
// contains values of records and is as confidential as they are.
func (d *Displacer) MarshalSurvey() []byte {
	var p packer
	for i := range d.columns {
		d.columns[i].packCentre(&p)
	}
	for _, s := range d.ofDataset() {
		s.grouping.pack(&p)
		p.number(uint64(len(s.combos)))
		for i := range s.combos {
			s.combos[i].pack(&p)
		}
	}
	return p.text
}

// MergeSurvey adds the survey of another Displacer (MarshalSurvey), as if Survey had seen its
// records after those of this one. Sums are those of one survey up to rounding. records is the
// number of records that the other can have seen; a survey of more is an error.
func (d *Displacer) MergeSurvey(marshalled []byte, records int64) error {
	u := unpacker{text: marshalled}
	shift := make([]float64, len(d.columns))
	for i := range d.columns {
		shift[i] = d.columns[i].mergeCentre(&u)
	}
	for _, s := range d.ofDataset() {
		if err := s.mergeSurvey(&u, shift, territory{records: records}); err != nil {
			return err
		}
	}
	return u.ended()
}

// MarshalDecisions returns the results of EndSurvey for the records of a marshalled survey
// that MergeSurvey has merged. UseDecisions of another Displacer reads it. It contains values
// of records.
func (d *Displacer) MarshalDecisions(marshalled []byte) ([]byte, error) {
	u := unpacker{text: marshalled}
	var p packer
	for i := range d.columns {
		d.columns[i].packCentre(&p)
		(&displacedColumn{}).mergeCentre(&u) // read and ignored
	}
	for _, s := range d.ofDataset() {
		s.packDecided(&p, &u)
	}
	return p.text, u.ended()
}

// UseDecisions takes the decisions of another Displacer (MarshalDecisions); it is called instead
// of Survey and EndSurvey. Apply fails for records that were not in the survey.
func (d *Displacer) UseDecisions(decided []byte) error {
	u := unpacker{text: decided}
	for i := range d.columns {
		d.columns[i].mergeCentre(&u)
	}
	for _, s := range d.ofDataset() {
		s.takeDecided(&u, len(d.columns))
	}
	return u.ended()
}

func (d *Displacer) ofDataset() (list []*displacingSwap) {
	for _, s := range d.swaps {
		if s.dataset {
			list = append(list, s)
		}
	}
	return list
}

// ended returns an error if the text read was damaged, or has not been read to its end.
func (u *unpacker) ended() error {
	if u.wrong || len(u.text) > 0 {
		return errDamagedSurvey
	}
	return nil
}

func (c *displacedColumn) packCentre(p *packer) {
	if !c.centred {
		p.number(0)
		return
	}
	p.number(1)
	p.word(math.Float64bits(c.centre))
}

// mergeCentre reads a centre. It takes it over if there is none yet, and returns by how much it
// is greater than the present one.
func (c *displacedColumn) mergeCentre(u *unpacker) float64 {
	if !u.mark() {
		return 0
	}
	centre := math.Float64frombits(u.word())
	if !c.centred {
		c.centre, c.centred = centre, true
	}
	return centre - c.centre
}

// pack writes a combination; 0 is written for one that has rejected records only.
func (c *displacedCombo) pack(p *packer) {
	if c.sums == nil {
		p.number(0)
		return
	}
	p.number(1)
	p.number(uint64(c.group))
	p.number(uint64(c.size))
	for _, m := range c.sums {
		m.pack(p)
	}
}

func (m *moment) pack(p *packer) {
	for _, v := range m {
		p.word(math.Float64bits(v))
	}
}

func (u *unpacker) moment() (m moment) {
	for j := range m {
		m[j] = math.Float64frombits(u.word())
	}
	return m
}

// unpackCombo reads combination k; there is false if it has rejected records only. The group
// of c is its code in the grouping of s.
func (s *displacingSwap) unpackCombo(u *unpacker, codes *mergedCodes, k int) (c displacedCombo, there bool) {
	if !u.mark() {
		return c, false
	}
	c.group = codes.groupOf(u, k)
	size := u.number()
	if size == 0 || size > math.MaxInt32 {
		u.fail()
	}
	if u.wrong {
		return c, false
	}
	c.size, c.sums = int32(size), make([]moment, s.width)
	for k := range c.sums {
		if c.sums[k] = u.moment(); !c.sums[k].plausible(float64(size)) {
			u.fail()
		}
	}
	return c, !u.wrong
}

// unpackCodes merges a grouping into that of s, and reads the number of combinations for which
// data follow: combo of the result has that length.
func (s *displacingSwap) unpackCodes(u *unpacker) (codes mergedCodes) {
	codes = s.grouping.merge(u, len(s.keys))
	n := u.count(1)
	if n > len(codes.combo) {
		u.fail()
		return mergedCodes{}
	}
	codes.combo = codes.combo[:n]
	return codes
}

// mergeSurvey merges the survey of a part; t limits the number of its records.
func (s *displacingSwap) mergeSurvey(u *unpacker, shift []float64, t territory) error {
	codes := s.unpackCodes(u)
	for k, code := range codes.combo {
		more, there := s.unpackCombo(u, &codes, k)
		if !there {
			continue
		}
		if !t.take(uint64(more.size)) {
			return errOtherRecords
		}
		for len(s.combos) <= int(code) {
			s.combos = append(s.combos, displacedCombo{})
		}
		c := &s.combos[code]
		if c.sums == nil {
			c.sums = make([]moment, s.width)
		}
		c.group = more.group
		c.size += more.size
		for i, at := range s.at {
			if at < 0 {
				continue
			}
			for k := at; k < at+s.batches[i]; k++ {
				c.sums[k].add(more.sums[k].from(shift[i]), 1)
			}
		}
	}
	return nil
}

// from converts a moment to a centre that is lower by by.
func (m moment) from(by float64) moment {
	return moment{m[0], m[1] + by*m[0], m[2] + 2*by*m[1] + by*by*m[0], m[3] + 2*by*m[1] + by*by*m[0]}
}

// packDecided copies the codes of a survey as they were read, and writes the outcomes of its
// combinations.
func (s *displacingSwap) packDecided(p *packer, u *unpacker) {
	combinations, text := len(s.grouping.inAll()), u.text
	codes := s.grouping.merge(u, len(s.keys))
	p.text = append(p.text, text[:len(text)-len(u.text)]...)
	n := u.count(1)
	if n > len(codes.combo) || len(s.grouping.inAll()) != combinations {
		u.fail() // this survey was not merged
		return
	}
	p.number(uint64(n))
	for k, code := range codes.combo[:n] {
		if _, there := s.unpackCombo(u, &codes, k); !there {
			p.number(0)
			continue
		}
		if int(code) >= len(s.combos) || s.combos[code].sums == nil {
			u.fail() // nor was this one
			return
		}
		p.number(1)
		p.number(uint64(codes.keys[k]))
		for column, at := range s.at {
			if at >= 0 {
				o := s.outcome(column, int(code))
				o.pack(p)
			}
		}
	}
}

// inAll returns one word for each combination of keys and attribute.
func (g *grouping) inAll() []uint64 {
	if len(g.pairs) == 0 {
		return nil
	}
	return g.pairs[len(g.pairs)-1].inOrder()
}

// pack writes an outcome, batch by batch; no batch if there is no possible partner.
func (o *outcome) pack(p *packer) {
	p.number(uint64(o.batches))
	if o.batches > 0 {
		o.undo.pack(p)
	}
	for k := range o.batches {
		p.word(math.Float64bits(o.p[k]))
		o.receives[k].pack(p)
	}
}

// takeDecided reads what packDecided wrote.
func (s *displacingSwap) takeDecided(u *unpacker, columns int) {
	codes := s.unpackCodes(u)
	s.combos, s.groups = make([]displacedCombo, len(codes.combo)), []*displacedGroup{}
	s.outcomeStart, s.outcomes = make([]uint32, len(codes.combo)*columns), []float64{}
	for k, code := range codes.combo {
		if int(code) != k {
			u.fail() // a combination occurs twice
			return
		}
		if !u.mark() {
			s.combos[k].group = -1
			continue
		}
		if s.combos[k].group = codes.groupOf(u, k); u.wrong {
			return
		}
		for column, at := range s.at {
			if at < 0 {
				continue
			}
			n := u.number()
			if n > batches {
				u.fail()
				return
			}
			s.outcomeStart[k*columns+column] = uint32(len(s.outcomes))
			s.outcomes = append(s.outcomes, float64(n))
			if n > 0 {
				s.outcomes = u.undoing(s.outcomes)
			}
			for range n {
				p, receives := u.probability(), u.moment()
				if !receives.plausible(p) {
					u.fail()
					return
				}
				s.outcomes = append(append(s.outcomes, p), receives[:]...)
			}
		}
	}
}

// decidedOutcome is an outcome that another Displacer has decided.
func (s *displacingSwap) decidedOutcome(column, code int) outcome {
	at := s.outcomeStart[code*(len(s.outcomeStart)/len(s.combos))+column]
	o := outcome{swap: s, column: column, code: code, batches: int(s.outcomes[at])}
	list := s.outcomes[at+1:]
	if o.batches > 0 {
		list = o.undo.take(list)
	}
	list = slices.Clone(list[:o.batches*(1+len(moment{}))])
	for k := range o.batches {
		o.p[k], list = list[0], list[1:]
		list = list[copy(o.receives[k][:], list):]
	}
	if o.batches > 0 {
		for k := o.batches; k < batches; k++ {
			o.p[k], o.receives[k] = o.p[0], o.receives[0]
		}
	}
	return o
}
