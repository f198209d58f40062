package transform

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// pattern is a category of a list that stands for all texts that match it: * for any characters, ? for one. A text that
// is listed itself is not looked for among the patterns, and of several that match, the one with the most other
// characters holds, then the first by its text.
type pattern struct {
	text  string
	place int32
}

func isPattern(text string) bool { return strings.ContainsAny(text, "*?") }

// literal is the number of characters of a pattern that stand for themselves.
func literal(text string) int { return len(text) - strings.Count(text, "*") - strings.Count(text, "?") }

// match makes patterns of the categories that are such.
func (k *categoryColumn) match(from []string) {
	if k.numeric {
		return
	}
	for j, text := range from {
		if isPattern(text) {
			k.patterns = append(k.patterns, pattern{text, int32(j)})
		}
	}
	slices.SortStableFunc(k.patterns, func(a, b pattern) int { return literal(b.text) - literal(a.text) })
}

// find returns the place of a text; unlisted if no category is it or matches it.
func (k *categoryColumn) find(text string) int32 {
	if j, ok := k.texts[text]; ok {
		return j
	}
	for _, p := range k.patterns {
		if matches(p.text, text) {
			return p.place
		}
	}
	return unlisted
}

// matches reports whether a whole text matches a pattern.
func matches(pattern, text string) bool {
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

// list gives the categories of a recoding that it may have listed in vain their bits in Block.Listed: all that stand in
// the configuration, and the patterns of a file, which may list more than the data have.
func (c *Chain) list(k *categoryColumn, m *Recode) {
	if c.replicate != 0 || m.Breaks != nil {
		return
	}
	k.any, c.listing = int32(c.listing), c.listing+1
	k.listed = make([]int32, len(k.from))
	for j, text := range k.from {
		k.listed[j] = -1
		if m.File == "" || isPattern(text) && !k.numeric {
			k.listed[j], c.listing = int32(c.listing), c.listing+1
		}
	}
}

// mark notes the categories of a block's records.
func (k *categoryColumn) mark(b *microdata.Block, places []int32) {
	if k.listed == nil {
		return
	}
	for _, j := range places {
		if j != missing {
			b.Listed.Set(int(k.any))
		}
		if j >= 0 && int(j) < len(k.listed) && k.listed[j] >= 0 {
			b.Listed.Set(int(k.listed[j]))
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
func (c *Chain) Listing() int { return (c.listing + 63) / 64 }

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
	for _, s := range c.steps {
		if of, ok := s.(listing); ok {
			list = append(list, of.unmatched(has)...)
		}
	}
	return list
}

// listing is a step that lists categories, of which it notes those that occur.
type listing interface {
	unmatched(has func(bit int32) bool) []Unmatched
}

func (s *recodeStep) unmatched(has func(bit int32) bool) (list []Unmatched) {
	for _, col := range s.columns {
		if col.listed == nil || !has(col.any) {
			continue
		}
		for j, bit := range col.listed {
			if bit >= 0 && !has(bit) {
				list = append(list,
					Unmatched{s.mask, col.Name, col.from[j], isPattern(col.from[j]) && !col.numeric, s.of.File != ""})
			}
		}
	}
	return list
}

// readLevels reads a hierarchy with a line for each category and a column for each level.
func (m *Recode) readLevels(content []byte) error {
	r := csv.NewReader(bytes.NewReader(content))
	r.Comma = ';'
	var levels []map[string]string
	above := []map[string]string{} // by level: what stands above a category
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		var wrong *csv.ParseError
		switch {
		case errors.As(err, &wrong):
			return fmt.Errorf("line %d: must have a value and as many levels as the first line, separated by semicolons: %w",
				wrong.Line, wrong.Err)
		case err != nil:
			return err
		}
		line, _ := r.FieldPos(0)
		for len(levels) < len(row)-1 {
			levels, above = append(levels, map[string]string{}), append(above, map[string]string{})
		}
		for k, category := range row[1:] {
			if was, again := levels[k][row[0]]; again && was != category {
				return fmt.Errorf("line %d: %s has another category of level %d than in an earlier line", line,
					strconv.Quote(row[0]), k+1)
			}
			levels[k][row[0]] = category
			if k == 0 {
				continue
			}
			if was, again := above[k][row[k]]; again && was != category {
				return fmt.Errorf("line %d: %s of level %d has two categories of level %d above it; a category has one", line,
					strconv.Quote(row[k]), k, k+1)
			}
			above[k][row[k]] = category
		}
	}
	if len(levels) == 0 {
		return errors.New("must have a line for each category: value;level 1;level 2")
	}
	m.Levels, m.Table = levels, levels[0]
	return nil
}

// prefixStep cuts codes of columns to their first characters.
type prefixStep struct {
	mask    int
	length  int
	columns []*column
}

func (m *Recode) compilePrefix(c *Chain, i int) (step, error) {
	s := &prefixStep{mask: i, length: *m.Prefix}
	for _, name := range m.Columns {
		col := c.touch(name)
		if col == nil {
			continue
		}
		if !textField(col.Field.Type) {
			return nil,
				fmt.Errorf(
					"%s.columns: column %s must be text to have first characters, got %s; the type string also keeps leading zeros",
					c.at(i), strconv.Quote(name), microdata.TypeName(col.Field.Type))
		}
		c.addToHistory(i, col, part("recode prefix", float64(s.length)))
		after, _ := categoryField(col.Field, []string{""})
		col.becomes(after)
		s.columns = append(s.columns, col)
	}
	return s, nil
}

// keeps: its columns are texts, of which no share is measured.
func (*prefixStep) keeps(l *keepingOf, _ int) { l.silent = true }

// apply does nothing in replicates, which have codes of the originals.
func (s *prefixStep) apply(c *Chain, w *work, b *microdata.Block) error {
	changed := w.newChanged(b.N)
	for _, col := range s.columns {
		of := &b.Columns[col.Index]
		if of.Array == nil {
			continue
		}
		from := of.OutArray()
		text, err := textsOf(from)
		if err != nil {
			return fmt.Errorf("%s: column %s %w", c.at(s.mask), strconv.Quote(col.Name), err)
		}
		to := array.NewStringBuilder(memory.DefaultAllocator)
		to.Reserve(b.N)
		for i := range b.N {
			if from.IsNull(i) {
				to.AppendNull()
				continue
			}
			t, _ := text(i)
			cut := firstOfText(t, s.length)
			to.Append(cut)
			if cut != t {
				changed.Set(i)
			}
		}
		of.ReleasedArray = to.NewArray()
		to.Release()
	}
	c.count(s.mask, b, changed)
	return nil
}

// firstOfText returns the first n characters of a text.
func firstOfText(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}
		n--
	}
	return text
}
