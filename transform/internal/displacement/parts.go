package displacement

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// MarshalSurvey returns the result of Survey so far; it is called instead of EndSurvey.
// MergeSurvey of the Displacer of another chain of the same masks, columns and key reads it. It
// contains values of records and is as confidential as they are.
func (d *Displacer) MarshalSurvey() []byte {
	var p coding.Packer
	for i := range d.columns {
		d.columns[i].packCentre(&p)
	}
	for _, s := range d.ofDataset() {
		s.grouping.Pack(&p)
		p.Number(uint64(len(s.combos)))
		for i := range s.combos {
			s.combos[i].pack(&p)
		}
	}
	return p.Text
}

// MergeSurvey adds the survey of another Displacer (MarshalSurvey), as if Survey had seen its
// records after those of this one. Sums are those of one survey up to rounding. records is the
// number of records that the other can have seen; a survey of more is an error.
func (d *Displacer) MergeSurvey(marshalled []byte, records int64) error {
	u := coding.Unpacker{Text: marshalled}
	shift := make([]float64, len(d.columns))
	for i := range d.columns {
		shift[i] = d.columns[i].mergeCentre(&u)
	}
	for _, s := range d.ofDataset() {
		if err := s.mergeSurvey(&u, shift, records); err != nil {
			return err
		}
	}
	return ended(&u)
}

// MarshalDecisions returns the results of EndSurvey for the records of a marshalled survey
// that MergeSurvey has merged. UseDecisions of another Displacer reads it. It contains values
// of records.
func (d *Displacer) MarshalDecisions(marshalled []byte) ([]byte, error) {
	u := coding.Unpacker{Text: marshalled}
	var p coding.Packer
	for i := range d.columns {
		d.columns[i].packCentre(&p)
		(&Column{}).mergeCentre(&u) // read and ignored
	}
	for _, s := range d.ofDataset() {
		s.packDecided(&p, &u)
	}
	return p.Text, ended(&u)
}

// UseDecisions takes the decisions of another Displacer (MarshalDecisions); it is called instead
// of Survey and EndSurvey. Apply fails for records that were not in the survey.
func (d *Displacer) UseDecisions(decided []byte) error {
	u := coding.Unpacker{Text: decided}
	for i := range d.columns {
		d.columns[i].mergeCentre(&u)
	}
	for _, s := range d.ofDataset() {
		s.takeDecided(&u, len(d.columns))
	}
	return ended(&u)
}

func (d *Displacer) ofDataset() (list []*Swap) {
	for _, s := range d.swaps {
		if s.dataset {
			list = append(list, s)
		}
	}
	return list
}

func (c *Column) packCentre(p *coding.Packer) {
	if !c.centred {
		p.Number(0)
		return
	}
	p.Number(1)
	p.Word(math.Float64bits(c.centre))
}

// mergeCentre reads a centre. It takes it over if there is none yet, and returns by how much it
// is greater than the present one.
func (c *Column) mergeCentre(u *coding.Unpacker) float64 {
	if !u.Mark() {
		return 0
	}
	centre := math.Float64frombits(u.Word())
	if !c.centred {
		c.centre, c.centred = centre, true
	}
	return centre - c.centre
}

// pack writes a combination; 0 is written for one that has rejected records only.
func (c *displacedCombo) pack(p *coding.Packer) {
	if c.sums == nil {
		p.Number(0)
		return
	}
	p.Number(1)
	p.Number(uint64(c.group))
	p.Number(uint64(c.size))
	for _, m := range c.sums {
		m.pack(p)
	}
}

func (m *moment) pack(p *coding.Packer) {
	for _, v := range m {
		p.Word(math.Float64bits(v))
	}
}

// unpackCombo reads combination k; there is false if it has rejected records only. The group
// of c is its code in the grouping of s.
func (s *Swap) unpackCombo(u *coding.Unpacker, codes *coding.MergedCodes, k int) (c displacedCombo, there bool) {
	if !u.Mark() {
		return c, false
	}
	c.group = codes.GroupOf(u, k)
	size := u.Number()
	if size == 0 || size > math.MaxInt32 {
		u.Fail()
	}
	if u.Wrong {
		return c, false
	}
	c.size, c.sums = int32(size), make([]moment, s.width)
	for k := range c.sums {
		if c.sums[k] = unpackMoment(u); !c.sums[k].plausible(float64(size)) {
			u.Fail()
		}
	}
	return c, !u.Wrong
}

// unpackCodes merges a grouping into that of s, and reads the number of combinations for which
// data follow: combo of the result has that length.
func (s *Swap) unpackCodes(u *coding.Unpacker) (codes coding.MergedCodes) {
	codes = s.grouping.Merge(u, len(s.keys))
	n := u.Count(1)
	if n > len(codes.Combo) {
		u.Fail()
		return coding.MergedCodes{}
	}
	codes.Combo = codes.Combo[:n]
	return codes
}

// mergeSurvey merges the survey of a part; it can have seen at most left records.
func (s *Swap) mergeSurvey(u *coding.Unpacker, shift []float64, left int64) error {
	codes := s.unpackCodes(u)
	for k, code := range codes.Combo {
		more, there := s.unpackCombo(u, &codes, k)
		if !there {
			continue
		}
		if left -= int64(more.size); left < 0 {
			return decision.ErrOtherRecords
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
func (s *Swap) packDecided(p *coding.Packer, u *coding.Unpacker) {
	combinations, text := len(s.grouping.InAll()), u.Text
	codes := s.grouping.Merge(u, len(s.keys))
	p.Text = append(p.Text, text[:len(text)-len(u.Text)]...)
	n := u.Count(1)
	if n > len(codes.Combo) || len(s.grouping.InAll()) != combinations {
		u.Fail() // this survey was not merged
		return
	}
	p.Number(uint64(n))
	for k, code := range codes.Combo[:n] {
		if _, there := s.unpackCombo(u, &codes, k); !there {
			p.Number(0)
			continue
		}
		if int(code) >= len(s.combos) || s.combos[code].sums == nil {
			u.Fail() // nor was this one
			return
		}
		p.Number(1)
		p.Number(uint64(codes.Keys[k]))
		for column, at := range s.at {
			if at >= 0 {
				o := s.outcome(column, int(code))
				o.pack(p)
			}
		}
	}
}

// pack writes an outcome, batch by batch; no batch if there is no possible partner.
func (o *outcome) pack(p *coding.Packer) {
	p.Number(uint64(o.batches))
	if o.batches > 0 {
		o.undo.pack(p)
	}
	for k := range o.batches {
		p.Word(math.Float64bits(o.p[k]))
		o.receives[k].pack(p)
	}
}

// takeDecided reads what packDecided wrote.
func (s *Swap) takeDecided(u *coding.Unpacker, columns int) {
	codes := s.unpackCodes(u)
	s.combos, s.groups = make([]displacedCombo, len(codes.Combo)), []*displacedGroup{}
	s.outcomeStart, s.outcomes = make([]uint32, len(codes.Combo)*columns), []float64{}
	for k, code := range codes.Combo {
		if int(code) != k {
			u.Fail() // a combination occurs twice
			return
		}
		if !u.Mark() {
			s.combos[k].group = -1
			continue
		}
		if s.combos[k].group = codes.GroupOf(u, k); u.Wrong {
			return
		}
		for column, at := range s.at {
			if at < 0 {
				continue
			}
			n := u.Number()
			if n > batches {
				u.Fail()
				return
			}
			s.outcomeStart[k*columns+column] = uint32(len(s.outcomes))
			s.outcomes = append(s.outcomes, float64(n))
			if n > 0 {
				s.outcomes = unpackUndoing(u, s.outcomes)
			}
			for range n {
				p, receives := u.Probability(), unpackMoment(u)
				if !receives.plausible(p) {
					u.Fail()
					return
				}
				s.outcomes = append(append(s.outcomes, p), receives[:]...)
			}
		}
	}
}

// decidedOutcome is an outcome that another Displacer has decided.
func (s *Swap) decidedOutcome(column, code int) outcome {
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

// ended returns an error if the text read was damaged, or has not been read to its end.
func ended(u *coding.Unpacker) error {
	if u.Wrong || len(u.Text) > 0 {
		return decision.ErrDamaged
	}
	return nil
}

func unpackMoment(u *coding.Unpacker) (m moment) {
	for j := range m {
		m[j] = math.Float64frombits(u.Word())
	}
	return m
}

// plausible reports whether sums are possible for a combination of size records, or for values
// received with the probability size. Sums of large values can be infinite, and others are then
// NaN: that is no sign of damage, and gives a result that is not known.
func (m moment) plausible(size float64) bool {
	const rounding = 1e-9
	return m[0] >= 0 && m[0] <= size*(1+rounding)
}
