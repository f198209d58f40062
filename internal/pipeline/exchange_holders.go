package pipeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// locate reads the source once more to find the records that hold the targets, if there are
// more records than were kept.
func (x *Exchange) locate(ctx context.Context, pl *Plan, chain *transform.Chain, measured *assess.Accumulator, progress *Progress) error {
	if x == nil || x.kept || !pl.Source.Rewindable() {
		return nil
	}
	var seekers []*seeker
	for _, c := range x.columns {
		for _, b := range measured.Brackets(c.Name) {
			if s := x.expectedIn(c, b); s != nil {
				s.tell()
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
		Source: pl.Source, Layout: pl.SurveyLayout(), Cut: pl.Cut,
		Work: func(p *Parcel) error {
			if err := chain.Admit(p.Block); err != nil {
				return err
			}
			if !slices.ContainsFunc(seekers, func(s *seeker) bool { return s.within(p.Block) }) {
				return nil
			}
			return x.displacer.ApplyTo(p.Block, func(i int) bool {
				return slices.ContainsFunc(seekers, func(s *seeker) bool { return s.bracket.Holds(p.Block.Columns[s.column.Index].Original.Values[i]) })
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
		s.tell()
	}
	return nil
}

// seeker looks for the record that holds one target. Among the records in its bracket it is
// the one whose value has the target's rank there; equal values are ordered by place.
type seeker struct {
	bracket assess.Bracket
	column  *exchangedColumn
	found   []movedRecord
	before  int64 // values in the bracket that stand before what is looked through
	seen    int64
	alone   bool // more than keptInBracket, and all of one value, that of found[0]: found[1] has the rank, if it has come
	lost    bool
}

// keptInBracket bounds what is kept of a bracket.
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
		if s.see(b, i, x); s.lost {
			return
		}
	}
}

// see takes record i of a block, whose value lies in the bracket.
func (s *seeker) see(b *microdata.Block, i int, x float64) {
	s.seen++
	if !s.alone {
		s.found = append(s.found, recordOf(b, s.column.Index, i))
		if len(s.found) == keptInBracket {
			s.bound()
		}
		return
	}
	if x != s.found[0].x {
		s.found, s.lost = nil, true
		return
	}
	if s.before+s.seen == s.bracket.Rank {
		s.found = append(s.found, recordOf(b, s.column.Index, i))
	}
}

// bound lets go of a heap of equal values but for the one that has the rank.
func (s *seeker) bound() {
	s.alone = true
	if len(s.found) == 0 {
		return
	}
	for _, r := range s.found {
		if r.x != s.found[0].x {
			s.found, s.lost = nil, true
			return
		}
	}
	kept := []movedRecord{s.found[0]}
	if at := s.bracket.Rank - s.before; 0 < at && at <= int64(len(s.found)) {
		kept = append(kept, s.found[at-1])
	}
	s.found = kept
}

// tell notes the record that holds the target, if it was found.
func (s *seeker) tell() {
	if r, ok := s.holder(); ok {
		s.column.holders[s.bracket.Target] = r
	}
}

func (s *seeker) holder() (movedRecord, bool) {
	switch {
	case s.lost || s.seen != s.bracket.Count:
		return movedRecord{}, false
	case s.alone && len(s.found) < 2:
		return movedRecord{}, false
	case s.alone:
		return s.found[1], true
	}
	slices.SortStableFunc(s.found, func(a, b movedRecord) int { return cmp.Compare(a.x, b.x) })
	return s.found[s.bracket.Rank-1], true
}
