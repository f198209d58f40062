package category

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

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

func (s *recodeStep) Unmatched(has func(bit int32) bool) (list []core.Unmatched) {
	for _, col := range s.columns {
		if col.Listed == nil || !has(col.Any) {
			continue
		}
		for j, bit := range col.Listed {
			if bit >= 0 && !has(bit) {
				list = append(list,
					core.Unmatched{Mask: s.mask, Column: col.Name, Category: col.From[j], Pattern: core.IsPattern(col.From[j]) &&
						!col.Numeric, File: s.of.File != ""})
			}
		}
	}
	return list
}

// prefixStep cuts codes of columns to their first characters.
type prefixStep struct {
	mask    int
	length  int
	columns []*core.Column
}

func (m *Recode) compilePrefix(c *core.Chain, i int) (core.Step, error) {
	s := &prefixStep{mask: i, length: *m.Prefix}
	for _, name := range m.Columns {
		col := c.Touch(name)
		if col == nil {
			continue
		}
		if !core.TextField(col.Field.Type) {
			return nil,
				fmt.Errorf(
					"%s.columns: column %s must be text to have first characters, got %s; the type string also keeps leading zeros",
					c.At(i), strconv.Quote(name), microdata.TypeName(col.Field.Type))
		}
		c.AddToHistory(i, col, core.Part("recode prefix", float64(s.length)))
		after, _ := core.CategoryField(col.Field, []string{""})
		col.Becomes(after)
		s.columns = append(s.columns, col)
	}
	return s, nil
}

// Keeps: its columns are texts, of which no share is measured.
func (*prefixStep) Keeps(l *core.KeepingOf, _ int) { l.Silent = true }

// Apply does nothing in replicates, which have codes of the originals.
func (s *prefixStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed := w.NewChanged(b.N)
	for _, col := range s.columns {
		of := &b.Columns[col.Index]
		if of.Array == nil {
			continue
		}
		from := of.OutArray()
		text, err := core.TextsOf(from)
		if err != nil {
			return fmt.Errorf("%s: column %s %w", c.At(s.mask), strconv.Quote(col.Name), err)
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
	c.Count(s.mask, b, changed)
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

// listIn gives the categories of a recoding that it may have listed in vain their bits in Block.Listed: all that stand
// in the configuration, and the patterns of a file, which may list more than the data have.
func (m *Recode) listIn(c *core.Chain, k *core.CategoryColumn) {
	if c.ReplicateNumber != 0 || m.Breaks != nil {
		return
	}
	k.Any, c.ListedBits = int32(c.ListedBits), c.ListedBits+1
	k.Listed = make([]int32, len(k.From))
	for j, text := range k.From {
		k.Listed[j] = -1
		if m.File == "" || core.IsPattern(text) && !k.Numeric {
			k.Listed[j], c.ListedBits = int32(c.ListedBits), c.ListedBits+1
		}
	}
}
