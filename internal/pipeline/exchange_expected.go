package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// newLocator returns what counts in the survey the columns of which Expect can use the counts; nil if
// there are none.
func (pl *Plan) newLocator() *assess.Locator {
	if pl.Displacer == nil || !pl.Displacer.NeedsSurvey() || len(pl.Config.Assess.Targets) == 0 {
		return nil
	}
	var columns []assess.Column
	for _, c := range pl.Assessed {
		if displacedExactly(pl.Displacer, c) && pl.Displacer.Independent(c.Index) {
			columns = append(columns, c)
		}
	}
	if columns == nil {
		return nil
	}
	l, err := assess.NewLocator(columns, pl.Config.Assess.Targets)
	if err != nil {
		return nil // assess.New says what is wrong with them
	}
	return l
}

// Expect has Add look for the records that hold the targets where the survey of a plan says that these
// will lie, so that the source is not read once more to find them.
func (x *Exchange) Expect(pl *Plan) {
	if x == nil || pl.located == nil {
		return
	}
	for _, c := range x.columns {
		if x.limit < 0 || pl.located.Values(c.Name) <= int64(x.limit) {
			continue
		}
		for _, b := range pl.located.Brackets(c.Name) {
			x.expected = append(x.expected, &seeker{bracket: b, column: c})
		}
	}
}

// takeExpected takes in a block where records are expected. Where records are rejected the source is
// read once more: not all of the masks that can reject are part of the survey.
func (x *Exchange) takeExpected(b *microdata.Block) {
	if len(b.Rejects) > 0 {
		x.expected = nil
	}
	for from := 0; from < len(x.expected); {
		c := x.expected[from].column
		to := from + 1
		for to < len(x.expected) && x.expected[to].column == c {
			to++
		}
		takeAll(x.expected[from:to], b, c.Index)
		from = to
	}
}

// takeAll is take of some seekers in one column.
func takeAll(seekers []*seeker, b *microdata.Block, column int) {
	var some uint64 // the last bits of the codes that are sought
	for _, s := range seekers {
		some |= 1 << (s.bracket.Code % 64)
	}
	v := b.Columns[column].Original
	if b.Columns[column].Moved.Total == nil {
		return
	}
	for i, x := range v.Values {
		code := assess.BracketCode(x)
		if some>>(code%64)&1 == 0 || !v.Valid.Has(i) || b.Rejected(i) {
			continue
		}
		for _, s := range seekers {
			if s.bracket.Code == code && !s.lost {
				s.see(b, i, x)
			}
		}
	}
}

// expectedIn returns the seeker of a bracket of a column; nil where it was not expected to be this one.
func (x *Exchange) expectedIn(c *exchangedColumn, b assess.Bracket) *seeker {
	i := slices.IndexFunc(x.expected, func(s *seeker) bool { return s.column == c && s.bracket == b })
	if i < 0 {
		return nil
	}
	return x.expected[i]
}
