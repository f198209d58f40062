package core

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// pattern is a category of a list that stands for all texts that match it: * for any characters, ? for one. A text that
// is listed itself is not looked for among the patterns, and of several that match, the one with the most other
// characters holds, then the first by its text.
type pattern struct {
	text  string
	place int32
}

// IsPattern reports whether a category stands for all texts that match it.
func IsPattern(text string) bool { return strings.ContainsAny(text, "*?") }

// literal is the number of characters of a pattern that stand for themselves.
func literal(text string) int { return len(text) - strings.Count(text, "*") - strings.Count(text, "?") }

// Match makes patterns of the categories that are such.
func (k *CategoryColumn) Match(from []string) {
	if k.Numeric {
		return
	}
	for j, text := range from {
		if IsPattern(text) {
			k.patterns = append(k.patterns, pattern{text, int32(j)})
		}
	}
	slices.SortStableFunc(k.patterns, func(a, b pattern) int { return literal(b.text) - literal(a.text) })
}

// find returns the place of a text; unlisted if no category is it or matches it.
func (k *CategoryColumn) find(text string) int32 {
	if j, ok := k.texts[text]; ok {
		return j
	}
	for _, p := range k.patterns {
		if Matches(p.text, text) {
			return p.place
		}
	}
	return Unlisted
}

// Matches reports whether a whole text matches a pattern.
func Matches(pattern, text string) bool {
	star, back := -1, 0 // the last *, and the text behind what it stands for
	p, t := 0, 0
	for t < len(text) {
		_, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+size
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			_, size = utf8.DecodeRuneInString(text[back:])
			back += size
			p, t = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Mark notes the categories of a block's records.
func (k *CategoryColumn) Mark(b *microdata.Block, places []int32) {
	if k.Listed == nil {
		return
	}
	for _, j := range places {
		if j != Missing {
			b.Listed.Set(int(k.Any))
		}
		if j >= 0 && int(j) < len(k.Listed) && k.Listed[j] >= 0 {
			b.Listed.Set(int(k.Listed[j]))
		}
	}
}

// Unmatched is a category or pattern of a recoding that no record of a column has had.
type Unmatched struct {
	Mask             int
	Column, Category string
	Pattern          bool
	File             bool // it is of a file, which may list more than the data have
}

// Listed returns which categories of recodings the records that Apply has masked so far have, as Block.Listed.
func (c *Chain) Listed() microdata.Bitmap {
	listed := make(microdata.Bitmap, len(c.listed))
	for i := range listed {
		listed[i] = c.listed[i].Load()
	}
	return listed
}

// Listing returns the number of words of Listed.
func (c *Chain) Listing() int { return (c.ListedBits + 63) / 64 }

// addListed adds to Listed; words that are not there are those of another chain, and are left out.
func (c *Chain) addListed(listed microdata.Bitmap) {
	for i := range min(len(listed), len(c.listed)) {
		if listed[i]&^c.listed[i].Load() != 0 {
			c.listed[i].Or(listed[i])
		}
	}
}

// Unmatched returns what the chain's recodings have listed in vain, in records that have the categories in listed.
// Columns without any value are left out.
func (c *Chain) Unmatched(listed microdata.Bitmap) (list []Unmatched) {
	has := func(bit int32) bool { return int(bit>>6) < len(listed) && listed.Has(int(bit)) }
	for _, s := range c.Steps {
		if of, ok := s.(listing); ok {
			list = append(list, of.Unmatched(has)...)
		}
	}
	return list
}

// listing is a step that lists categories, of which it notes those that occur.
type listing interface {
	Unmatched(has func(bit int32) bool) []Unmatched
}
