package core

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
	Text string
	by   int // 1 + the mask of the last part; 0 before the first
}

// Part returns a word followed by numbers, written exactly.
func Part(word string, numbers ...float64) string {
	text := []byte(word)
	for _, v := range numbers {
		text = append(text, ' ')
		text = strconv.AppendFloat(text, v, 'x', -1, 64)
	}
	return string(append(text, ';'))
}

// AddToHistory adds to the column's history what mask i does to it: a word and the mask's
// effective parameters for this column, each in a fixed place or after a count, so that two
// different sets of parameters never give the same text. Parameters with the same effect on
// every value (a range of θ, and its φ) must give the same text, since equal chains must
// release equal values. It adds the columns that the mask reads; the mask itself writes into
// parts which of them is used for what.
func (c *Chain) AddToHistory(i int, col *Column, parts string) {
	if reads := c.Masks[i].Params.Reads(); len(reads) > 0 {
		parts += c.DigestOf("reads", Sorted(reads)...)
	}
	if MixesRecords(c.Masks[i].Params) {
		parts += c.Chosen
	}
	col.Done.Text += parts
	col.Done.by = i + 1
}

// DigestOf returns a word and the SHA-256 of columns (those that the chain knows) and their
// histories. It is a digest because the text would otherwise grow with every mask that reads
// other columns.
func (c *Chain) DigestOf(word string, columns ...string) string {
	h := sha256.New()
	for _, name := range columns {
		if col := c.Lookup(name); col != nil {
			fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(col.Done.Text), col.Done.Text)
		}
	}
	return fmt.Sprintf("%s %x;", word, h.Sum(nil))
}

// Done describes what the chain does to its columns and which records it releases, in the form
// of keystream.Name. It is part of the name of draws that concern whole records, so that these
// draws differ if any released value can differ.
func (c *Chain) Done() string {
	names := make([]string, len(c.Setup.Columns))
	for i, info := range c.Setup.Columns {
		names[i] = info.Name
	}
	return c.DigestOf("columns", Sorted(names)...) + c.Chosen
}

// Lookup returns a column in its state after the masks so far; nil if the chain does not have
// it.
func (c *Chain) Lookup(name string) *Column {
	for _, col := range c.columns {
		if col.Name == name {
			return col
		}
	}
	if info := c.Info(name); info != nil {
		col := NewColumn(*info)
		col.Shared, col.Personal = slices.Contains(c.Setup.Households.Shared, name),
			slices.Contains(c.Setup.Households.Personal, name)
		return col
	}
	return nil
}

// DrawName is what a keystream is derived from, except for the scope of the records.
type DrawName struct {
	Mask         int
	column, Done string
}

// Stream returns the number, in work.streams, of the keystream that mask i draws from for a
// column. AddToHistory must have been called for the mask before. Replicates are never
// released, and those of a grid of parameters must share their draws: their name is made of
// label and column alone.
func (c *Chain) Stream(i int, col *Column) int { return c.StreamNamed(i, col.Name, col.Done.Text) }

// StreamNamed is stream for draws that belong to no one column.
func (c *Chain) StreamNamed(i int, column, done string) int {
	if MixesRecords(c.Masks[i].Params) && !strings.Contains(done, c.Chosen) {
		done += c.Chosen
	}
	c.DrawNames = append(c.DrawNames, DrawName{i, column, done})
	return len(c.DrawNames) - 1
}

// settle checks, after mask i is compiled, that it has called AddToHistory for each of its
// columns and that the names of its draws contain that. A kind of mask that forgets this does
// not run. It then adds the mask's label to the columns that its draws have changed, for later
// masks: the name of a draw has the label of its own mask only.
func (c *Chain) settle(i int) error {
	draws := false
	for _, d := range c.DrawNames {
		draws = draws || d.Mask == i
	}
	for _, name := range c.Masks[i].Params.Masks() {
		col := c.Lookup(name)
		if col == nil {
			continue
		}
		if col.Done.by != i+1 {
			return fmt.Errorf("%s: does not name what it does to column %s, so that two releases could share draws", c.At(i),
				strconv.Quote(name))
		}
		for _, d := range c.DrawNames {
			if d.Mask == i && d.column == name && d.Done != col.Done.Text {
				return fmt.Errorf("%s: draws for column %s before it names all that it does", c.At(i), strconv.Quote(name))
			}
		}
	}
	if !draws {
		return nil
	}
	label := c.Labels[i]
	for _, name := range c.Masks[i].Params.Masks() {
		if col := c.Lookup(name); col != nil {
			col.Done.Text += fmt.Sprintf("by %d:%s;", len(label), label)
		}
	}
	return nil
}

// StreamsOf returns the keystreams for records of a scope. The first block of a scope derives
// them. If a record's identity is its place, each scope has its own draws. Identifying values
// are the same respondent's in every scope and must be masked alike there.
func (c *Chain) StreamsOf(scope string) []*keystream.Stream {
	if c.ReplicateNumber != 0 {
		scope = ""
	}
	if s, ok := c.streams.Load(scope); ok {
		return s.([]*keystream.Stream)
	}
	streams := make([]*keystream.Stream, len(c.DrawNames))
	for k, d := range c.DrawNames {
		label := c.Labels[d.Mask]
		switch {
		case c.ReplicateNumber == 0:
			streams[k] = c.Setup.Key.Release(
				keystream.Name{Mask: label, Done: d.Done, Column: c.drawnAs(d.column), Scope: scope})
		case c.shared != nil:
			streams[k] = c.shared.stream(c.Setup.Key, label, d.column, c.ReplicateNumber)
		default:
			streams[k] = c.Setup.Key.Stream(label, d.column, c.ReplicateNumber)
		}
	}
	s, _ := c.streams.LoadOrStore(scope, streams)
	return s.([]*keystream.Stream)
}

// Sorted returns the names in ascending order.
func Sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
