package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// A stream of changes has a value twice: once as `after`, and in the next change as `before`. If each had a
// draw of its own, their mean would tell more than one; so a column may draw as another one does. The draw
// is bound to the value and the respondent, and different values of a change have different draws.

// drawnAs returns the column whose name is in the draws of a column.
func (c *Chain) drawnAs(column string) string {
	if other := c.Setup.SameAs[column]; other != "" {
		return other
	}
	return column
}

// checkSame returns an error for a column that is to draw as another one and is not masked as that is: then
// draws would differ, or one value would leave in two ways.
func (c *Chain) checkSame() error {
	for _, name := range slices.Sorted(maps.Keys(c.Setup.SameAs)) {
		other := c.Setup.SameAs[name]
		masked := false
		for i, m := range c.Masks {
			one, two := slices.Contains(m.Params.Masks(), name), slices.Contains(m.Params.Masks(), other)
			switch masked = masked || one; {
			case one != two:
				return fmt.Errorf(
					"columns.%s.same_as: %s changes only one of %s and %s: a value that leaves in both would tell what became of it; mask both alike", name, Describe(c.Masks, i), strconv.Quote(name), strconv.Quote(other))
			case one && ScopeOf(m.Params) != ScopeRecord:
				return fmt.Errorf(
					"columns.%s.same_as: %s moves values between records, so that a value would leave in two ways; use masks that take each record by itself", name, Describe(c.Masks, i))
			case one && len(DependsOn(m.Params)) > 0:
				return fmt.Errorf(
					"columns.%s.same_as: %s depends on %s, which may differ between two changes, and then a value would leave in two ways; use masks that depend on the value alone", name, Describe(c.Masks, i), strconv.Quote(DependsOn(m.Params)[0]))
			}
		}
		a, b := c.Lookup(name), c.Lookup(other)
		if masked && a != nil && b != nil && (a.Done.Text != b.Done.Text || a.Shared != b.Shared) {
			return fmt.Errorf(
				"columns.%s.same_as: is not masked exactly as %s is (parameters, decimals, level, columns that are compared or correlated; an amount in percent has another SD for each column: give it in the unit)", name, strconv.Quote(other))
		}
	}
	return nil
}

// otherwise returns digests of records whose identity columns are missing (those of a deletion, whose `after` is
// empty) by the columns that stand in for them. instead is by column its substitute, −1 for none.
func (c *Chain) otherwise(w *Work, b *microdata.Block, digests []microdata.Digest, index, instead []int) {
	var own, others []*microdata.Column
	for k, i := range index {
		at := i
		if k < len(instead) && instead[k] >= 0 {
			own = append(own, &b.Columns[i])
			at = instead[k]
		}
		others = append(others, &b.Columns[at])
	}
	if len(own) == 0 {
		return
	}
	w.missing = c.Setup.Key.Digests(w.missing, own, b.N)
	var other []microdata.Digest
	for i, d := range w.missing {
		if d != (microdata.Digest{}) {
			continue
		}
		if other == nil {
			w.instead = c.Setup.Key.Digests(w.instead, others, b.N)
			other = w.instead
		}
		digests[i] = other[i]
	}
}

// SameValues returns a function that reports whether two arrays have the same value at i; if their
// types cannot be compared, it always returns false.
func SameValues(x, y arrow.Array) func(i int) bool { return coding.SameValues(x, y) }
