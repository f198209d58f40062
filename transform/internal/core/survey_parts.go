package core

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// surveyingParts is a surveying step whose survey can be merged from parts.
type surveyingParts interface {
	Surveying
	Pack(p *coding.Packer)
	Merge(u *coding.Unpacker, t Territory) error
	Bounded(c *Chain) error
	PackDecided(p *coding.Packer, of []Stretch)
	TakeDecided(u *coding.Unpacker, t Territory) error
}

// SurveysInParts reports whether several chains can each survey a part of the records, pass
// their results to one chain that decides, and receive its decisions. This holds if every mask
// of scope dataset is a swap.
func (c *Chain) SurveysInParts() bool {
	for _, s := range c.Steps {
		if _, of := s.(Surveying); of {
			if _, ok := s.(surveyingParts); !ok {
				return false
			}
		}
	}
	return c.survey > 0
}

var errNotInParts = errors.New("survey: a mask with scope dataset cannot process the records in parts")

// InParts returns the steps whose survey can be merged from parts.
func (c *Chain) InParts() (list []surveyingParts) {
	for _, s := range c.Steps {
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
	if !c.SurveysInParts() || c.Surveyed {
		return nil, errNotInParts
	}
	var p coding.Packer
	for _, s := range c.InParts() {
		s.Pack(&p)
	}
	return p.Text, nil
}

// MergeSurvey adds the result of another chain (MarshalSurvey) for the records that follow
// those of this chain: parts must come in the order of the source. of are the records of the
// part, the stretches of a stream in order; a survey of other records is an error. The error is a
// *SurveyError if there are too many records in total. After an error the chain must not be used.
func (c *Chain) MergeSurvey(marshalled []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.Surveyed {
		return errNotInParts
	}
	u := coding.Unpacker{Text: marshalled}
	for _, s := range c.InParts() {
		if err := s.Merge(&u, newTerritory(of)); err != nil {
			return err
		}
		if u.Wrong {
			return decision.ErrDamaged
		}
		if err := s.Bounded(c); err != nil {
			return err
		}
	}
	if len(u.Text) > 0 {
		return decision.ErrDamaged
	}
	return c.Fits()
}

// Stretch is N records of a stream, from the place First on.
type Stretch struct {
	Stream   int
	First, N int64
}

// MarshalDecisions returns the results of EndSurvey for some records, for UseDecisions of another
// chain. The stretches of a stream must be in the order of their places, without overlap. It
// contains values of records.
func (c *Chain) MarshalDecisions(of []Stretch) ([]byte, error) {
	if !c.SurveysInParts() || !c.Surveyed {
		return nil, errNotInParts
	}
	var p coding.Packer
	for _, s := range c.InParts() {
		s.PackDecided(&p, of)
	}
	return p.Text, nil
}

// UseDecisions passes the decisions of another chain (MarshalDecisions) to this one, in place of
// Survey and EndSurvey. of are the records of the part; decisions for others are refused. Apply
// does not change records that these decisions do not include.
func (c *Chain) UseDecisions(decided []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.Surveyed {
		return errNotInParts
	}
	u := coding.Unpacker{Text: decided}
	for _, s := range c.InParts() {
		if err := s.TakeDecided(&u, newTerritory(of)); err != nil {
			return err
		}
	}
	if u.Wrong || len(u.Text) > 0 {
		return decision.ErrDamaged
	}
	c.Surveyed = true
	return nil
}

var (
	ErrRecordTwice = errors.New("what a survey has found names a record twice")
)

// Territory is the records of a part of the data. A survey or decision of that part must concern
// these records only.
type Territory struct {
	byStream map[int][]Stretch
	records  int64                       // number of records not accounted for yet
	named    map[RecordPlace]*[16]uint64 // a bit for each record named; an entry is for 1024 of them
}

func newTerritory(of []Stretch) Territory {
	t := Territory{byStream: map[int][]Stretch{}, named: map[RecordPlace]*[16]uint64{}}
	for _, s := range of {
		t.byStream[s.Stream] = append(t.byStream[s.Stream], s)
		t.records += s.N
	}
	return t
}

// Holds reports whether a record belongs to the part. Data in parts have no scopes.
func (t *Territory) Holds(p RecordPlace) bool {
	list := t.byStream[p.Stream]
	i, found := slices.BinarySearchFunc(list, p.Row, func(s Stretch, row int64) int { return cmp.Compare(s.First, row) })
	if !found {
		i--
	}
	return p.Scope == "" && i >= 0 && p.Row-list[i].First < list[i].N
}

// Name marks a record as named. It returns an error if the record does not belong to the part, or
// was named before.
func (t *Territory) Name(p RecordPlace) error {
	if !t.Holds(p) {
		return decision.ErrOtherRecords
	}
	at := p
	at.Row >>= 10
	bits := t.named[at]
	if bits == nil {
		bits = new([16]uint64)
		t.named[at] = bits
	}
	word, bit := &bits[p.Row>>6&15], uint64(1)<<(p.Row&63)
	if *word&bit != 0 {
		return ErrRecordTwice
	}
	*word |= bit
	return nil
}

// Take subtracts n from the records not accounted for yet; false if there are fewer.
func (t *Territory) Take(n uint64) bool {
	if n > uint64(t.records) {
		return false
	}
	t.records -= int64(n)
	return true
}

// RecordPlace identifies a record: scope, stream and row.
type RecordPlace struct {
	Scope  string
	Stream int
	Row    int64
}

// Compare orders places by scope, stream and row.
func (p RecordPlace) Compare(q RecordPlace) int {
	return cmp.Or(cmp.Compare(p.Scope, q.Scope), cmp.Compare(p.Stream, q.Stream), cmp.Compare(p.Row, q.Row))
}
