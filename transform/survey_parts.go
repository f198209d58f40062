package transform

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// surveyingParts is a surveying step whose survey can be merged from parts.
type surveyingParts interface {
	surveying
	pack(p *coding.Packer)
	merge(u *coding.Unpacker, t territory) error
	bounded(c *Chain) error
	packDecided(p *coding.Packer, of []Stretch)
	takeDecided(u *coding.Unpacker, t territory) error
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
	var p coding.Packer
	for _, s := range c.inParts() {
		s.pack(&p)
	}
	return p.Text, nil
}

// MergeSurvey adds the result of another chain (MarshalSurvey) for the records that follow
// those of this chain: parts must come in the order of the source. of are the records of the
// part, the stretches of a stream in order; a survey of other records is an error. The error is a
// *SurveyError if there are too many records in total. After an error the chain must not be used.
func (c *Chain) MergeSurvey(marshalled []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.surveyed {
		return errNotInParts
	}
	u := coding.Unpacker{Text: marshalled}
	for _, s := range c.inParts() {
		if err := s.merge(&u, newTerritory(of)); err != nil {
			return err
		}
		if u.Wrong {
			return decision.ErrDamaged
		}
		if err := s.bounded(c); err != nil {
			return err
		}
	}
	if len(u.Text) > 0 {
		return decision.ErrDamaged
	}
	return c.fits()
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
	if !c.SurveysInParts() || !c.surveyed {
		return nil, errNotInParts
	}
	var p coding.Packer
	for _, s := range c.inParts() {
		s.packDecided(&p, of)
	}
	return p.Text, nil
}

// UseDecisions passes the decisions of another chain (MarshalDecisions) to this one, in place of
// Survey and EndSurvey. of are the records of the part; decisions for others are refused. Apply
// does not change records that these decisions do not include.
func (c *Chain) UseDecisions(decided []byte, of []Stretch) error {
	if !c.SurveysInParts() || c.surveyed {
		return errNotInParts
	}
	u := coding.Unpacker{Text: decided}
	for _, s := range c.inParts() {
		if err := s.takeDecided(&u, newTerritory(of)); err != nil {
			return err
		}
	}
	if u.Wrong || len(u.Text) > 0 {
		return decision.ErrDamaged
	}
	c.surveyed = true
	return nil
}

var (
	errRecordTwice = errors.New("what a survey has found names a record twice")
)

// territory is the records of a part of the data. A survey or decision of that part must concern
// these records only.
type territory struct {
	byStream map[int][]Stretch
	records  int64                 // number of records not accounted for yet
	named    map[place]*[16]uint64 // one bit for each record that was named; an entry is for 1024 consecutive records
}

func newTerritory(of []Stretch) territory {
	t := territory{byStream: map[int][]Stretch{}, named: map[place]*[16]uint64{}}
	for _, s := range of {
		t.byStream[s.Stream] = append(t.byStream[s.Stream], s)
		t.records += s.N
	}
	return t
}

// holds reports whether a record belongs to the part. Data in parts have no scopes.
func (t *territory) holds(p place) bool {
	list := t.byStream[p.stream]
	i, found := slices.BinarySearchFunc(list, p.row, func(s Stretch, row int64) int { return cmp.Compare(s.First, row) })
	if !found {
		i--
	}
	return p.scope == "" && i >= 0 && p.row-list[i].First < list[i].N
}

// name marks a record as named. It returns an error if the record does not belong to the part, or
// was named before.
func (t *territory) name(p place) error {
	if !t.holds(p) {
		return decision.ErrOtherRecords
	}
	at := p
	at.row >>= 10
	bits := t.named[at]
	if bits == nil {
		bits = new([16]uint64)
		t.named[at] = bits
	}
	word, bit := &bits[p.row>>6&15], uint64(1)<<(p.row&63)
	if *word&bit != 0 {
		return errRecordTwice
	}
	*word |= bit
	return nil
}

// take subtracts n from the records not accounted for yet; false if there are fewer.
func (t *territory) take(n uint64) bool {
	if n > uint64(t.records) {
		return false
	}
	t.records -= int64(n)
	return true
}

// place identifies a record: scope, stream and row.
type place struct {
	scope  string
	stream int
	row    int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.scope, q.scope), cmp.Compare(p.stream, q.stream), cmp.Compare(p.row, q.row))
}
