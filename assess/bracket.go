package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// Bracket is a narrow interval of original values that contains a target, for an accumulator
// that does not keep all records.
type Bracket struct {
	Column, Target string
	Rank           int64 // of the target among the values in the interval, from 1
	Count          int64 // values in it

	Code uint64 // which interval: that of all values whose leading bits these are
}

// Holds reports whether a value lies in the interval.
func (b *Bracket) Holds(x float64) bool { return tally.BinCode(x) == b.Code }

// Brackets returns the intervals that contain the targets of a masked column; nil if the sample
// holds all records or the values of the column are not counted.
func (a *Accumulator) Brackets(column string) []Bracket {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == column })
	if c < 0 || a.columns[c].counts == nil || a.columns[c].counts.X.N == 0 || int64(a.sample.Len()) == a.records {
		return nil
	}
	counted := &a.columns[c].counts.X
	var list []Bracket
	for _, t := range a.targets {
		k := int64(t.Rank(int(counted.N)))
		if t.Maximum() {
			k = int64(counted.N)
		}
		counted.Each(func(b tally.Bin) bool {
			if k > int64(b.Count) {
				k -= int64(b.Count)
				return true
			}
			list = append(list, Bracket{Column: column, Target: t.Name, Rank: k, Count: int64(b.Count), Code: b.Code})
			return false
		})
	}
	return list
}

// Within returns how many values the accumulator has counted in an interval of its columns.
func (a *Accumulator) Within(b Bracket) int64 {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == b.Column })
	if c < 0 || a.columns[c].counts == nil {
		return 0
	}
	var n int64
	a.columns[c].counts.X.Each(func(bin tally.Bin) bool {
		if bin.Code == b.Code {
			n = int64(bin.Count)
		}
		return bin.Code != b.Code
	})
	return n
}
