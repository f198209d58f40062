package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// newLocator returns a locator that counts, during the survey, the values of the columns for which
// expect can use these counts; nil if there are none.
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
		return nil // assess.New reports what is wrong with the targets
	}
	return l
}

// expect has Add look for the records with the targets in the brackets that the survey of a plan
// has found, so that the source need not be read once more.
func (x *Exchange) expect(pl *Plan) {
	if x == nil || pl.locator == nil {
		return
	}
	for _, c := range x.columns {
		if x.limit < 0 || pl.locator.Values(c.Name) <= int64(x.limit) {
			continue
		}
		for _, b := range pl.locator.Brackets(c.Name) {
			x.expected = append(x.expected, &seeker{bracket: b, column: c})
		}
	}
}

// takeExpected gives a block to the expected seekers. If a record is rejected they are dropped, and the
// source is read once more: not all masks that can reject records take part in the survey.
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

// takeAll is take for several seekers of one column.
func takeAll(seekers []*seeker, b *microdata.Block, column int) {
	var some uint64 // a bit for the last six bits of each sought code
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
				s.add(b, i, x)
			}
		}
	}
}

// expectedIn returns the seeker of a column that was expected with just this bracket; nil if there is none.
func (x *Exchange) expectedIn(c *exchangedColumn, b assess.Bracket) *seeker {
	i := slices.IndexFunc(x.expected, func(s *seeker) bool { return s.column == c && s.bracket == b })
	if i < 0 {
		return nil
	}
	return x.expected[i]
}
