package assess

import (
	"math"
	"slices"
)

// Bracket is a narrow interval of original values in which the record lies that
// holds a target, where the accumulator does not keep all records.
type Bracket struct {
	Column, Target string
	Rank           int64 // of the target among the values in the interval, from 1
	Count          int64 // values in it

	code uint64
}

// Holds reports whether a value lies in the interval.
func (b *Bracket) Holds(x float64) bool { return math.Float64bits(x)>>binShift == b.code }

// Brackets returns where the targets of a masked column lie; none where the sample
// holds all records or the column is not counted.
func (a *Accumulator) Brackets(column string) []Bracket {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == column })
	if c < 0 || a.columns[c].x == nil || a.columns[c].x.n == 0 || int64(a.sample.len()) == a.records {
		return nil
	}
	counted := a.columns[c].x
	var list []Bracket
	for _, t := range a.targets {
		k := int64(t.rank(int(counted.n)))
		if t.maximum() {
			k = int64(counted.n)
		}
		counted.each(func(b bin) bool {
			if k > int64(b.count) {
				k -= int64(b.count)
				return true
			}
			list = append(list, Bracket{Column: column, Target: t.name, Rank: k, Count: int64(b.count), code: b.code})
			return false
		})
	}
	return list
}
