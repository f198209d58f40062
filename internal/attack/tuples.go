package attack

import (
	"fmt"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// snooped are the keys of the records as a snooper knows them.
type snooped struct {
	uniqueness.Data             // Keys, Known and Laws
	others          [][]int32   // the known codes by the second reading, where there is one
	twoReadings     []string    // the keys that have one
	uncounted       []Uncounted // the keys that are left out
	told            []Told      // the keys of which hidden cells are told
}

// snooped puts the counted keys into the form of uniqueness, from the snooper's side.
func (d *Data) snooped() (s snooped) {
	drawn := false
	clues := sync.OnceValue(d.clues)
	for i := range d.counted() {
		c := &d.counted()[i]
		known, other := c.Known, []int32(nil)
		if known == nil {
			known, other = knownFrom(c)
		}
		if known.Not != "" {
			s.uncounted = append(s.uncounted, Uncounted{c.Name, known.Not})
			continue
		}
		released := c.released()
		if c.Cells != nil {
			released = c.Cells
		}
		if c.Cells == nil && known.Law == nil && other == nil {
			var told Told
			if released, told = toldCells(clues, c.Name, known.Codes, released); told.Cells > 0 {
				s.told = append(s.told, told)
			}
			var codes []int32
			if codes, released, told = finer(clues, c, known.Codes, released); told.Cells > 0 {
				known, other = &Known{Codes: codes}, nil
				s.told = append(s.told, told)
			}
		}
		s.Keys = append(s.Keys, uniqueness.Column{Name: c.Name, Codes: released})
		s.Known, s.Laws = append(s.Known, known.Codes), append(s.Laws, known.Law)
		if other != nil {
			s.twoReadings = append(s.twoReadings, c.Name)
		} else {
			other = known.Codes
		}
		drawn = drawn || known.Law != nil
		s.others = append(s.others, other)
	}
	if !drawn {
		s.Laws = nil
	}
	return s
}

// apart says why the records of a person cannot be counted together; "" if they can.
func (s *snooped) apart() string {
	switch {
	case len(s.twoReadings) > 0:
		return fmt.Sprintf("%s: the release has other values in a way that is not known", names(s.twoReadings))
	case s.Laws != nil:
		return fmt.Sprintf("%s: masks draw at random, and the posterior is computed for single records only",
			names(lawful(s.Data)))
	}
	return ""
}

// Tuples are the keys of records, one entry a record, as they are released and, in the same coding, as a snooper knows
// them.
type Tuples struct {
	Keys  []uniqueness.Column
	Known [][]int32
	Not   string // why what they tell together cannot be counted; "" if it can
}

// Tuples returns the counted keys of the records, for what several of them tell together.
func (d *Data) Tuples() Tuples {
	s := d.snooped()
	t := Tuples{s.Keys, s.Known, s.apart()}
	if len(s.uncounted) > 0 {
		t.Not = (&Result{Uncounted: s.uncounted}).uncountedWords()
	}
	return t
}
