package attack

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// withMissingCodes returns a key in which each declared code for a missing value that is kept is a category of its
// own, different from a missing cell and from all values: whoever knows that a respondent has no value
// finds the records with the code. Masks leave it as it is. original and released are the numbers that represent
// the categories; those of codes are NaNs of their own, and missing for all other measures.
func withMissingCodes(c attack.CategoricalColumn, original, released []float64) attack.CategoricalColumn {
	next := width(&c)
	if c.Known != nil {
		for _, code := range c.Known.Codes {
			next = max(next, code+1)
		}
	}
	for _, code := range c.Cells {
		next = max(next, code+1)
	}
	own := map[float64]int32{} // by code
	codeOf := func(v float64) (int32, bool) {
		code, ok := microdata.MissingCode(v)
		if !ok {
			return 0, false
		}
		if _, there := own[code]; !there {
			own[code] = next
			next++
		}
		return own[code], true
	}
	with := func(codes []int32, values []float64) []int32 {
		if codes == nil {
			return nil
		}
		copied := false
		for i, v := range values {
			if code, ok := codeOf(v); ok {
				if !copied {
					codes, copied = slices.Clone(codes), true
				}
				codes[i] = code
			}
		}
		return codes
	}
	c.Original = with(c.Original, original)
	c.Released, c.Cells, c.Recoded = with(c.Released, released), with(c.Cells, released), with(c.Recoded, original)
	if c.Known != nil && len(own) > 0 {
		known := *c.Known
		known.Codes = with(known.Codes, original)
		if known.Law != nil {
			known.Law = lawOfCodes(known.Law, original, codeOf)
		}
		c.Known = &known
	}
	return c
}

// lawOfCodes returns a law in which the declared codes are released as they are.
func lawOfCodes(law *uniqueness.Law, original []float64, codeOf func(float64) (int32, bool)) *uniqueness.Law {
	l := &uniqueness.Law{Row: slices.Clone(law.Row), P: slices.Clone(law.P), From: slices.Clone(law.From)}
	if l.From == nil {
		l.From = make([]int32, len(l.P))
	}
	rows := map[int32]int32{}
	for i, v := range original {
		code, ok := codeOf(v)
		if !ok {
			continue
		}
		row, known := rows[code]
		if !known {
			row = int32(len(l.P))
			rows[code], l.P, l.From = row, append(l.P, []float64{1}), append(l.From, code)
		}
		l.Row[i] = row
	}
	return l
}
