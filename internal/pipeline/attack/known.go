package attack

import (
	"encoding/binary"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// knownOf returns a key as a snooper knows it: the original categories in the coding that the
// masks publish, and how the masks drew from them at random. keys are all columns of categories,
// among them those that draw in strata.
func knownOf(pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs, c *attack.CategoricalColumn,
	keys map[string]attack.CategoricalColumn) (known *attack.Known, cells []int32) {
	if c.Released == nil {
		return &attack.Known{Codes: c.Original}, nil
	}
	if pl.Noisy(c.Name) {
		return noisyKey(pl, chain, p, c)
	}
	return knownCategories(pl, c, keys), nil
}

// knownCategories is knownOf for a column that has no noise.
func knownCategories(pl *pipeline.Plan, c *attack.CategoricalColumn,
	keys map[string]attack.CategoricalColumn) *attack.Known {
	var masks []transform.Action
	drawn := false
	for _, m := range pl.Config.Masks {
		if !slices.Contains(m.Params.Masks(), c.Name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, c.Name, 1).(type) {
		case transform.Randomising:
			drawn = true
			masks = append(masks, a)
		case transform.Recoding:
			masks = append(masks, a)
		}
	}
	if !drawn {
		codes, same := uniqueness.Coded(c.Original, c.Released)
		if !same {
			return &attack.Known{
				Not: "is released with several categories in place of one and the same original one, which its masks do not explain"}
		}
		return &attack.Known{Codes: codes}
	}
	var law *uniqueness.Law
	if a, ok := masks[0].(transform.Randomising); ok && a.Counted {
		law = countedLaw(c, &a, keys)
	} else {
		law = composedLaw(c, masks)
	}
	if law == nil {
		return &attack.Known{
			Not: "is drawn at random in strata of a column that is no key, or with categories that its masks do not list"}
	}
	return &attack.Known{Law: law}
}

// recodedFirst returns the original categories after the recodings among the masks of a column; nil
// if none maps categories that are known.
func recodedFirst(pl *pipeline.Plan, c *attack.CategoricalColumn) []int32 {
	var masks []transform.Action
	for _, m := range pl.Config.Masks {
		if slices.Contains(m.Params.Masks(), c.Name) {
			if a, ok := transform.ActionOf(m.Params, c.Name, 1).(transform.Recoding); ok && (a.From != nil || a.Other != nil) {
				masks = append(masks, a)
			}
		}
	}
	if masks == nil || c.Code == nil {
		return nil
	}
	text, next := listedTexts(c, masks), width(c)
	others := map[string]int32{} // codes of categories that no record has
	becomes := map[int32]int32{}
	codes := slices.Clone(c.Original)
	for i, x := range c.Original {
		to, known := becomes[x]
		if !known {
			to = x
			for name := range through(text[x], masks) { // one at most: recodings draw nothing
				if code, ok := c.Code(name); ok {
					to = code
				} else if to, ok = others[name]; !ok {
					to = next
					others[name], next = to, next+1
				}
			}
			if x < 0 {
				to = x
			}
			becomes[x] = to
		}
		codes[i] = to
	}
	return codes
}

// listedTexts returns the texts of the categories that masks list, by code.
func listedTexts(c *attack.CategoricalColumn, masks []transform.Action) map[int32]string {
	text := map[int32]string{}
	note := func(list []string) {
		for _, t := range list {
			if code, ok := c.Code(t); ok {
				text[code] = t
			}
		}
	}
	for _, m := range masks {
		switch a := m.(type) {
		case transform.Recoding:
			note(a.From)
			note(a.To)
		case transform.Randomising:
			note(a.Categories)
		}
	}
	return text
}

// width is the number of codes of a column.
func width(c *attack.CategoricalColumn) (n int32) {
	for _, codes := range [][]int32{c.Original, c.Released} {
		for _, code := range codes {
			n = max(n, code+1)
		}
	}
	return n
}

// composedLaw returns the law of a sequence of recodings and draws; nil if a category is not
// listed where it must be.
func composedLaw(c *attack.CategoricalColumn, masks []transform.Action) *uniqueness.Law {
	text, n := listedTexts(c, masks), width(c)
	law := &uniqueness.Law{Row: make([]int32, len(c.Original))}
	row := map[int32]int32{}
	for i, x := range c.Original {
		if x < 0 {
			law.Row[i] = -1
			continue
		}
		at, known := row[x]
		if !known {
			p := make([]float64, n)
			for to, share := range through(text[x], masks) {
				if code, ok := c.Code(to); ok {
					p[code] += share
				}
			}
			at = int32(len(law.P))
			row[x], law.P = at, append(law.P, p)
		}
		law.Row[i] = at
	}
	if !explains(law, c) {
		return nil
	}
	return law
}

// through returns the distribution of what masks make of a category; "" is one that no mask
// lists.
func through(category string, masks []transform.Action) map[string]float64 {
	now := map[string]float64{category: 1}
	for _, m := range masks {
		next := map[string]float64{}
		for at, share := range now {
			switch a := m.(type) {
			case transform.Recoding:
				if i := slices.Index(a.From, at); i >= 0 {
					next[a.To[i]] += share
				} else if a.Other != nil {
					next[*a.Other] += share
				}
			case transform.Randomising:
				i := slices.Index(a.Categories, at)
				if i < 0 && a.Other != nil {
					i = slices.Index(a.Categories, *a.Other)
				}
				if i < 0 {
					continue
				}
				for l, p := range a.Matrix[i] {
					if p > 0 {
						next[a.Categories[l]] += share * p
					}
				}
			}
		}
		now = next
	}
	return now
}

// countedLaw returns the law of a draw with the invariant matrix of each stratum; nil if a
// stratum is not known.
func countedLaw(c *attack.CategoricalColumn, a *transform.Randomising,
	keys map[string]attack.CategoricalColumn) *uniqueness.Law {
	code := make([]int32, len(a.Categories)) // of each category, −1: no record has it
	place := map[int32]int{}
	for k, text := range a.Categories {
		code[k] = -1
		if at, ok := c.Code(text); ok {
			code[k], place[at] = at, k
		}
	}
	other := -1
	if a.Other != nil {
		other = slices.Index(a.Categories, *a.Other)
	}
	var by [][]int32
	for _, name := range a.By {
		key, known := keys[name]
		if !known {
			return nil
		}
		by = append(by, key.Original)
	}
	stratum, counts := make([]int, len(c.Original)), [][]float64(nil)
	numbers := map[string]int{}
	places := make([]int, len(c.Original))
	var text []byte
	for i, x := range c.Original {
		text = text[:0]
		for _, codes := range by {
			text = binary.BigEndian.AppendUint32(text, uint32(codes[i]))
		}
		s, known := numbers[string(text)]
		if !known {
			s = len(counts)
			numbers[string(text)], counts = s, append(counts, make([]float64, len(code)))
		}
		k, listed := place[x]
		if x >= 0 && !listed {
			k = other
		}
		if x < 0 {
			k = -1
		}
		if stratum[i], places[i] = s, k; k >= 0 {
			counts[s][k]++
		}
	}
	law := &uniqueness.Law{Row: make([]int32, len(c.Original))}
	n := width(c)
	for _, in := range counts {
		for _, row := range transform.InvariantMatrix(a.Matrix, in) {
			p := make([]float64, n)
			for l, share := range row {
				if code[l] >= 0 {
					p[code[l]] = share
				}
			}
			law.P = append(law.P, p)
		}
	}
	for i, k := range places {
		if law.Row[i] = -1; k >= 0 {
			law.Row[i] = int32(stratum[i]*len(code) + k)
		}
	}
	if !explains(law, c) {
		return nil
	}
	return law
}

// explains reports whether every released category is possible under a law.
func explains(law *uniqueness.Law, c *attack.CategoricalColumn) bool {
	for i, row := range law.Row {
		if y := c.Released[i]; row >= 0 && y >= 0 && !(law.P[row][y] > 0) {
			return false
		}
	}
	return true
}
