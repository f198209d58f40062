package tabling

import (
	"maps"
	"math"
	"slices"
)

// verify demands that the records give the cells of the releases.
func (e *earlier) verify() error {
	for i, l := range e.releases {
		wrong := 0
		say := func(format string, args ...any) {
			if wrong++; wrong <= mostWrong {
				e.records.wrong(l.at, format, args...)
			}
		}
		for _, x := range e.values {
			b := x.before[i]
			if b == nil {
				continue
			}
			for k, t := range b.of {
				e.verifyTable(l, b, k, t, say)
			}
		}
		if wrong > mostWrong {
			e.records.wrong(l.at, "and %d cells more", wrong-mostWrong)
		}
	}
	return e.check()
}

// verifyTable compares a table of a release with its records.
func (e *earlier) verifyTable(l *earlierRelease, b *layer, k, t int, say func(format string, args ...any)) {
	name := e.union.Tables[t].Name
	listed := l.cells[name]
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		c := listed[key]
		cell, err := b.set.At(k, splitCodes(key)...)
		if err != nil {
			say("%v: its hierarchy must have the codes of that release", err)
			continue
		}
		if v := math.Round(c.value * math.Pow10(b.options.Decimals)); math.Abs(v-b.cells.Value[cell]) > 0.5 ||
			c.contributors != b.cells.Contributors[cell] {
			say("table %s, cell %s: the records give another value, or other contributors, than that release has%s", name,
				b.set.Name(cell), e.mend(l))
		}
	}
	if len(listed) == 0 {
		say("the file of its cells has none of table %s", name)
	}
}

// mend says what is wrong if records do not fit a release.
func (e *earlier) mend(l *earlierRelease) string {
	if l.vintage == 0 {
		return "; if its records were others than today's, name them: " + l.at + ".source"
	}
	return "; source must be the records that it was made of"
}
