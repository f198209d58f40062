package pipeline

import (
	"bytes"
	"encoding/gob"
	"errors"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Sought is an interval of values in which the record of a target lies, with the number of its
// values in the parts of the data before the present one.
type Sought struct {
	assess.Bracket
	Before int64
}

// Seek has Add look for the records with the targets, so that no further pass is needed.
func (x *Exchange) Seek(all []Sought) {
	if x == nil {
		return
	}
	for _, s := range all {
		if c := x.column(s.Column); c != nil {
			x.seekers = append(x.seekers, &seeker{bracket: s.Bracket, column: c, before: s.Before})
		}
	}
}

// exchangePart is the content of an Exchange for one part of the records.
type exchangePart struct {
	Kept    bool
	Places  []partPlace
	Columns []columnPart
	Seekers []seekerPart
}

type partPlace struct {
	Scope  string
	Stream int
	Row    int64
}

type columnPart struct {
	Weight, Total   float64
	Likeliest, Mean float64
	Deviations      []float64
	Records         [][6]float64 // the fields of movedRecord
}

type seekerPart struct {
	Sought
	Found       [][6]float64
	Seen        int64
	Alone, Lost bool
}

func packMoved(records []movedRecord) [][6]float64 {
	list := make([][6]float64, len(records))
	for i, r := range records {
		list[i] = [6]float64{r.x, r.stay, r.square, r.noise, r.weight, r.undone}
	}
	return list
}

func unpackMoved(list [][6]float64) []movedRecord {
	records := make([]movedRecord, len(list))
	for i, r := range list {
		records[i] = movedRecord{r[0], r[1], r[2], r[3], r[4], r[5]}
	}
	return records
}

// Marshal returns what Add has collected, for Merge. It contains values of records and is as
// confidential as they are. For a nil Exchange it returns nil.
func (x *Exchange) Marshal() ([]byte, error) {
	if x == nil {
		return nil, nil
	}
	part := exchangePart{Kept: x.keepsAll}
	for _, p := range x.places {
		part.Places = append(part.Places, partPlace{p.scope, p.stream, p.row})
	}
	for _, c := range x.columns {
		part.Columns = append(part.Columns,
			columnPart{c.weight, c.total, c.likeliest, c.mean, c.deviations, packMoved(c.records)})
	}
	for _, s := range x.seekers {
		part.Seekers = append(part.Seekers,
			seekerPart{Sought{s.bracket, s.before}, packMoved(s.records), s.count, s.equal, s.lost})
	}
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(part)
	return out.Bytes(), err
}

var errPart = errors.New(
	"the shard's expectations for exchanged records are damaged, or were made with other masks: run the shard again")

// plausible reports whether a part can be of these records: each kept record is one of them
// and is there once, probabilities are between 0 and 1, and seekers have found what they count.
func (p *exchangePart) plausible(of []transform.Stretch) bool {
	records := int64(0)
	for _, s := range of {
		records += s.N
	}
	known := make(map[partPlace]bool, len(p.Places))
	for _, at := range p.Places {
		contains := func(s transform.Stretch) bool {
			return s.Stream == at.Stream && at.Row >= s.First && at.Row-s.First < s.N
		}
		if known[at] || at.Scope != "" || !slices.ContainsFunc(of, contains) {
			return false
		}
		known[at] = true
	}
	wrong := func(r [6]float64) bool { return r[1] < 0 || r[1] > 1 || r[3] < 0 || r[4] < 0 || r[5] < 0 }
	for _, c := range p.Columns {
		if c.Weight < 0 || slices.ContainsFunc(c.Records, wrong) || len(c.Deviations) > mostDeviations {
			return false
		}
	}
	for _, s := range p.Seekers {
		n := int64(len(s.Found))
		if s.Seen < 0 || s.Seen > records || n > s.Seen || !s.Alone && !s.Lost && n != s.Seen ||
			slices.ContainsFunc(s.Found, wrong) {
			return false
		}
	}
	return true
}

// mostDeviations is an upper bound of the number of batches.
const mostDeviations = 1 << 10

// Merge adds what another Exchange of the same masks has collected from the records of the next
// part. A part that is not plausible is refused.
func (x *Exchange) Merge(text []byte, of []transform.Stretch) error {
	if x == nil {
		return nil
	}
	var part exchangePart
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&part); err != nil || len(part.Columns) != len(x.columns) ||
		!part.plausible(of) {
		return errPart
	}
	for i, c := range x.columns {
		from := &part.Columns[i]
		if len(from.Records) != len(part.Places) && part.Kept {
			return errPart
		}
		c.weight += from.Weight
		c.total += from.Total
		c.likeliest += from.Likeliest
		c.mean += from.Mean
		if len(from.Deviations) > len(c.deviations) {
			c.deviations = append(c.deviations, make([]float64, len(from.Deviations)-len(c.deviations))...)
		}
		for k, d := range from.Deviations {
			c.deviations[k] += d
		}
	}
	x.mergeKept(&part)
	return x.mergeSeekers(part.Seekers)
}

// mergeKept is keep for the records of a part.
func (x *Exchange) mergeKept(part *exchangePart) {
	if !part.Kept || x.limit >= 0 && len(x.places)+len(part.Places) > x.limit {
		x.keepNone()
	}
	if !x.keepsAll {
		return
	}
	for _, p := range part.Places {
		x.places = append(x.places, recordPlace{p.Scope, p.Stream, p.Row})
	}
	for i, c := range x.columns {
		c.records = append(c.records, unpackMoved(part.Columns[i].Records)...)
	}
}

// mergeSeekers joins the records that the parts have found for each target. All parts must have
// looked for the same targets.
func (x *Exchange) mergeSeekers(parts []seekerPart) error {
	if len(x.seekers) == 0 {
		for _, s := range parts {
			x.Seek([]Sought{{Bracket: s.Bracket}})
		}
	}
	if len(parts) != len(x.seekers) {
		return errPart
	}
	for i, s := range x.seekers {
		if s.bracket != parts[i].Bracket {
			return errPart
		}
		s.join(&parts[i])
	}
	return nil
}

// join adds what a seeker has found in the records of the next part. If there are more values
// than are kept, all of them must be equal, and the target's record is known if either seeker
// has it.
func (s *seeker) join(part *seekerPart) {
	found := unpackMoved(part.Found)
	bad := part.Lost || s.lost || s.before+s.count != part.Before || part.Alone && len(found) == 0
	switch {
	case bad:
		s.records, s.lost = nil, true
		return
	case !s.equal && !part.Alone && s.count+part.Seen < keptInBracket:
		s.records = append(s.records, found...)
		s.count += part.Seen
		return
	}
	if !s.equal {
		s.bound()
	}
	for i, r := range found {
		switch {
		case s.lost:
			return
		case len(s.records) == 0:
			s.records = append(s.records, r)
		case r.x != s.records[0].x:
			s.records, s.lost = nil, true
			return
		}
		holds := !part.Alone && s.before+s.count+int64(i)+1 == s.bracket.Rank || part.Alone && i == 1
		if holds {
			s.records = append(s.records[:1], r)
		}
	}
	s.count += part.Seen
}

// JoinMerged connects the exchange with the assessment of all parts. The targets must be those
// that the seekers looked for; otherwise their records are unknown.
func (x *Exchange) JoinMerged(pl *Plan, measured *assess.Accumulator, key keystream.Key) error {
	if x == nil {
		return nil
	}
	if !x.keepsAll {
		for _, s := range x.seekers {
			if !slices.Contains(measured.Brackets(s.column.Name), s.bracket) {
				continue
			}
			if r, ok := s.holder(); ok {
				s.column.holders[s.bracket.Target] = r
			}
		}
	}
	replicate, err := pl.newReplicate(transform.Unmixed(pl.Config.Masks), key)
	if err != nil {
		return err
	}
	repeated, err := pl.newRepeated(transform.Unmixed(pl.Config.Masks), key)
	if err != nil {
		return err
	}
	measured.SetExchange(x, replicate, repeated)
	return nil
}
