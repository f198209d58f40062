package transform

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// history describes what was done to a column so far: a part for each mask, with all that
// decides the mask's effect on a value. It names the draws of that mask and of later ones. If
// two runs released x + z and f(x) + z with one z, x would follow from the two wherever f(x)
// is known; so the name of z contains f.
type history struct {
	text string
	by   int // 1 + the mask of the last part; 0 before the first
}

// part returns a word followed by numbers, written exactly.
func part(word string, numbers ...float64) string {
	text := []byte(word)
	for _, v := range numbers {
		text = append(text, ' ')
		text = strconv.AppendFloat(text, v, 'x', -1, 64)
	}
	return string(append(text, ';'))
}

// addToHistory adds to the column's history what mask i does to it: a word and the mask's
// effective parameters for this column, each in a fixed place or after a count, so that two
// different sets of parameters never give the same text. Parameters with the same effect on
// every value (a range of θ, and its φ) must give the same text, since equal chains must
// release equal values. It adds the columns that the mask reads; the mask itself writes into
// parts which of them is used for what.
func (c *Chain) addToHistory(i int, col *column, parts string) {
	if reads := c.masks[i].Params.Reads(); len(reads) > 0 {
		parts += c.digestOf("reads", sorted(reads)...)
	}
	if MixesRecords(c.masks[i].Params) {
		parts += c.chosen
	}
	col.done.text += parts
	col.done.by = i + 1
}

// digestOf returns a word and the SHA-256 of columns (those that the chain knows) and their
// histories. It is a digest because the text would otherwise grow with every mask that reads
// other columns.
func (c *Chain) digestOf(word string, columns ...string) string {
	h := sha256.New()
	for _, name := range columns {
		if col := c.lookup(name); col != nil {
			fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(col.done.text), col.done.text)
		}
	}
	return fmt.Sprintf("%s %x;", word, h.Sum(nil))
}

// Done describes what the chain does to its columns and which records it releases, in the form
// of keystream.Name. It is part of the name of draws that concern whole records, so that these
// draws differ if any released value can differ.
func (c *Chain) Done() string {
	names := make([]string, len(c.setup.Columns))
	for i, info := range c.setup.Columns {
		names[i] = info.Name
	}
	return c.digestOf("columns", sorted(names)...) + c.chosen
}

// lookup returns a column in its state after the masks so far; nil if the chain does not have
// it.
func (c *Chain) lookup(name string) *column {
	for _, col := range c.columns {
		if col.Name == name {
			return col
		}
	}
	if info := c.info(name); info != nil {
		col := newColumn(*info)
		col.shared, col.personal = slices.Contains(c.setup.Households.Shared, name),
			slices.Contains(c.setup.Households.Personal, name)
		return col
	}
	return nil
}

// drawName is what a keystream is derived from, except for the scope of the records.
type drawName struct {
	mask         int
	column, done string
}

// stream returns the number, in work.streams, of the keystream that mask i draws from for a
// column. addToHistory must have been called for the mask before. Replicates are never
// released, and those of a grid of parameters must share their draws: their name is made of
// label and column alone.
func (c *Chain) stream(i int, col *column) int { return c.streamNamed(i, col.Name, col.done.text) }

// streamNamed is stream for draws that belong to no one column.
func (c *Chain) streamNamed(i int, column, done string) int {
	if MixesRecords(c.masks[i].Params) && !strings.Contains(done, c.chosen) {
		done += c.chosen
	}
	c.draws = append(c.draws, drawName{i, column, done})
	return len(c.draws) - 1
}

// settle checks, after mask i is compiled, that it has called addToHistory for each of its
// columns and that the names of its draws contain that. A kind of mask that forgets this does
// not run. It then adds the mask's label to the columns that its draws have changed, for later
// masks: the name of a draw has the label of its own mask only.
func (c *Chain) settle(i int) error {
	draws := false
	for _, d := range c.draws {
		draws = draws || d.mask == i
	}
	for _, name := range c.masks[i].Params.Masks() {
		col := c.lookup(name)
		if col == nil {
			continue
		}
		if col.done.by != i+1 {
			return fmt.Errorf("%s: does not name what it does to column %s, so that two releases could share draws", c.at(i),
				strconv.Quote(name))
		}
		for _, d := range c.draws {
			if d.mask == i && d.column == name && d.done != col.done.text {
				return fmt.Errorf("%s: draws for column %s before it names all that it does", c.at(i), strconv.Quote(name))
			}
		}
	}
	if !draws {
		return nil
	}
	label := c.labels[i]
	for _, name := range c.masks[i].Params.Masks() {
		if col := c.lookup(name); col != nil {
			col.done.text += fmt.Sprintf("by %d:%s;", len(label), label)
		}
	}
	return nil
}

// streamsOf returns the keystreams for records of a scope. The first block of a scope derives
// them. If a record's identity is its place, each scope has its own draws. Identifying values
// are the same respondent's in every scope and must be masked alike there.
func (c *Chain) streamsOf(scope string) []*keystream.Stream {
	if c.replicate != 0 {
		scope = ""
	}
	if s, ok := c.streams.Load(scope); ok {
		return s.([]*keystream.Stream)
	}
	streams := make([]*keystream.Stream, len(c.draws))
	for k, d := range c.draws {
		label := c.labels[d.mask]
		switch {
		case c.replicate == 0:
			streams[k] = c.setup.Key.Release(
				keystream.Name{Mask: label, Done: d.done, Column: c.drawnAs(d.column), Scope: scope})
		case c.shared != nil:
			streams[k] = c.shared.stream(c.setup.Key, label, d.column, c.replicate)
		default:
			streams[k] = c.setup.Key.Stream(label, d.column, c.replicate)
		}
	}
	s, _ := c.streams.LoadOrStore(scope, streams)
	return s.([]*keystream.Stream)
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
