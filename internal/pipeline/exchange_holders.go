package pipeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// locate reads the source once more to find the records with the targets, if not all records
// were kept.
func (x *Exchange) locate(ctx context.Context, pl *Plan, chain *transform.Chain, measured *assess.Accumulator,
	progress *Progress) error {
	if x == nil || x.keepsAll || !pl.Source.Rewindable() {
		return nil
	}
	var seekers []*seeker
	for _, c := range x.columns {
		for _, b := range measured.Brackets(c.Name) {
			if s := x.expectedIn(c, b); s != nil {
				s.note()
				continue
			}
			seekers = append(seekers, &seeker{bracket: b, column: c})
		}
	}
	if len(seekers) == 0 {
		return nil
	}
	progress.Start("locate", pl.Source.Records())
	pass := Flow{
		Source: pl.Source, Layout: pl.passLayout(), Cut: pl.Cut,
		Work: func(p *Parcel) error {
			if err := chain.Admit(p.Block); err != nil {
				return err
			}
			if !slices.ContainsFunc(seekers, func(s *seeker) bool { return s.within(p.Block) }) {
				return nil
			}
			return x.displacer.ApplyTo(p.Block, func(i int) bool {
				return slices.ContainsFunc(seekers, func(s *seeker) bool {
					return s.bracket.Holds(p.Block.Columns[s.column.Index].Original.Values[i])
				})
			})
		},
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			for _, s := range seekers {
				s.take(p.Block)
			}
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	for _, s := range seekers {
		s.note()
	}
	return nil
}

// seeker looks for the record with one target: the record in its bracket whose value has the
// target's rank. Equal values are ordered by place.
type seeker struct {
	bracket assess.Bracket
	column  *exchangedColumn
	records []movedRecord
	before  int64 // number of values in the bracket in the parts of the data before this one
	count   int64
	// at least keptInBracket values, all equal: records[0] is the first, records[1] that with the rank once it is found
	equal bool
	lost  bool // more values than are kept, and not all equal: the record remains unknown
}

// keptInBracket bounds the number of records that are kept of a bracket.
const keptInBracket = 1 << 18

func (s *seeker) within(b *microdata.Block) bool {
	v := b.Columns[s.column.Index].Original
	for i, x := range v.Values {
		if s.bracket.Holds(x) && v.Valid.Has(i) && !b.Rejected(i) {
			return true
		}
	}
	return false
}

func (s *seeker) take(b *microdata.Block) {
	if b.Columns[s.column.Index].Moved.Total == nil || s.lost {
		return
	}
	v := b.Columns[s.column.Index].Original
	for i, x := range v.Values {
		if !s.bracket.Holds(x) || !v.Valid.Has(i) || b.Rejected(i) {
			continue
		}
		if s.add(b, i, x); s.lost {
			return
		}
	}
}

// add takes record i of a block, whose value lies in the bracket.
func (s *seeker) add(b *microdata.Block, i int, x float64) {
	s.count++
	if !s.equal {
		s.records = append(s.records, recordOf(b, s.column.Index, i))
		if len(s.records) == keptInBracket {
			s.bound()
		}
		return
	}
	if x != s.records[0].x {
		s.records, s.lost = nil, true
		return
	}
	if s.before+s.count == s.bracket.Rank {
		s.records = append(s.records, recordOf(b, s.column.Index, i))
	}
}

// bound drops equal values except the first and that with the rank. If values differ, the
// seeker is lost.
func (s *seeker) bound() {
	s.equal = true
	if len(s.records) == 0 {
		return
	}
	for _, r := range s.records {
		if r.x != s.records[0].x {
			s.records, s.lost = nil, true
			return
		}
	}
	kept := []movedRecord{s.records[0]}
	if at := s.bracket.Rank - s.before; 0 < at && at <= int64(len(s.records)) {
		kept = append(kept, s.records[at-1])
	}
	s.records = kept
}

// note notes the record with the target, if it was found.
func (s *seeker) note() {
	if r, ok := s.holder(); ok {
		s.column.holders[s.bracket.Target] = r
	}
}

func (s *seeker) holder() (movedRecord, bool) {
	switch {
	case s.lost || s.count != s.bracket.Count:
		return movedRecord{}, false
	case s.equal && len(s.records) < 2:
		return movedRecord{}, false
	case s.equal:
		return s.records[1], true
	}
	slices.SortStableFunc(s.records, func(a, b movedRecord) int { return cmp.Compare(a.x, b.x) })
	return s.records[s.bracket.Rank-1], true
}
