package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Bracket is a narrow interval of original values that contains a target, for an accumulator
// that does not keep all records.
type Bracket struct {
	Column, Target string
	Rank           int64 // of the target among the values in the interval, from 1
	Count          int64 // values in it

	Code uint64 // identifies the interval: the leading bits of all values in it
}

// BracketCode is the code of the interval that a value lies in.
func BracketCode(x float64) uint64 { return tally.BinCode(x) }

// Holds reports whether a value lies in the interval.
func (b *Bracket) Holds(x float64) bool { return tally.BinCode(x) == b.Code }

// Brackets returns the intervals that contain the targets of a masked column; nil if the sample
// holds all records or the values of the column are not counted.
func (a *Accumulator) Brackets(column string) []Bracket {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == column })
	if c < 0 || a.columns[c].counts == nil || a.columns[c].counts.X.N == 0 || a.kept() {
		return nil
	}
	counted := &a.columns[c].counts.X
	return brackets(column, a.targets, counted)
}

// brackets returns the intervals that contain the targets of counted values.
func brackets(column string, targets []orderstat.Target, counted *tally.Tally) []Bracket {
	var list []Bracket
	for _, t := range targets {
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

// Locator counts the original values of columns in a pass before that of an Accumulator, and finds the
// intervals that contain the targets. One goroutine at a time may use it.
type Locator struct {
	columns []Column
	targets []orderstat.Target
	counts  []tally.Tally
}

// NewLocator returns a Locator of the targets with the given names, or an error for a name that is not
// a target.
func NewLocator(columns []Column, targets []string) (*Locator, error) {
	l := &Locator{columns: columns, counts: make([]tally.Tally, len(columns))}
	for _, name := range targets {
		t, err := orderstat.ParseTarget(name)
		if err != nil {
			return nil, err
		}
		l.targets = append(l.targets, t)
	}
	return l, nil
}

// Add counts the values of a block's records that are not rejected. As in an Accumulator, NaN and
// infinite values count as null.
func (l *Locator) Add(b *microdata.Block) {
	for i, c := range l.columns {
		v := b.Columns[c.Index].Original
		if v.Valid == nil && b.Whole() && allFinite(v.Values) {
			l.counts[i].Add(v.Values)
			continue
		}
		for r, x := range v.Values {
			if v.Valid.Has(r) && !b.Rejected(r) && cell.Finite(x) {
				l.counts[i].Add(v.Values[r : r+1])
			}
		}
	}
}

// allFinite reports whether no value is NaN or infinite.
func allFinite(values []float64) bool {
	odd := 0.0
	for _, x := range values {
		odd += x - x // NaN if one is not finite
	}
	return odd == 0
}

// Brackets returns the intervals of one of the columns: those of an Accumulator of the same records
// whose sample does not hold them all.
func (l *Locator) Brackets(column string) []Bracket {
	c := slices.IndexFunc(l.columns, func(c Column) bool { return c.Name == column })
	if c < 0 || l.counts[c].N == 0 {
		return nil
	}
	return brackets(column, l.targets, &l.counts[c])
}

// Values returns how many values of one of the columns were counted.
func (l *Locator) Values(column string) int64 {
	c := slices.IndexFunc(l.columns, func(c Column) bool { return c.Name == column })
	if c < 0 {
		return 0
	}
	return int64(l.counts[c].N)
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
