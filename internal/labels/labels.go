// Package labels is what a release says of its columns besides their values: the labels of the codes that
// occur in it, and of the variables where the configuration lists them. Formats without room for labels
// release it beside the values: as key-value metadata, as a sheet, as a codebook.
package labels

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The words of a choice.
const (
	Values    = "values"
	Variables = "variables"
	Cut       = "cut" // labels that a format cannot hold are cut; without it they are an error
)

// Choice is what is released of a source's labels; nil: those of values.
type Choice []string

// Check reports words that there are not. more are words of the format besides values and variables.
func (c Choice) Check(ps *check.Problems, more ...string) {
	for i, word := range c {
		ps.OneOf(fmt.Sprintf("labels[%d]", i), word, append([]string{Values, Variables}, more...)...)
	}
}

// Has reports whether labels of a kind are released.
func (c Choice) Has(word string) bool {
	if c == nil {
		return word == Values
	}
	return slices.Contains(c, word)
}

// Collector collects the codes that occur in a release. It is for concurrent use.
type Collector struct {
	layout *microdata.Layout
	mutex  sync.Mutex
	codes  []*microdata.Occurring // by output; nil: it has no labels
}

// Collect returns a collector; nil if no released column is described.
func Collect(l *microdata.Layout) *Collector {
	c := &Collector{layout: l}
	described := false
	for _, o := range l.Release {
		c.codes = append(c.codes, microdata.NewOccurring(o.Field.Described))
		described = described || o.Field.Described != nil
	}
	if !described {
		return nil
	}
	return c
}

// Fresh returns a collector of the same columns without any code: for one of several files.
func (c *Collector) Fresh() *Collector {
	if c == nil {
		return nil
	}
	return Collect(c.layout)
}

// Found are the codes of one block.
type Found []*microdata.Occurring

// Look finds the codes in the released records of a block. Columns that are carried count as without any code.
func (c *Collector) Look(b *microdata.Block) Found {
	if c == nil {
		return nil
	}
	found := make(Found, len(c.codes))
	for i, o := range c.layout.Release {
		if c.codes[i] == nil || o.Column < 0 {
			continue
		}
		found[i] = c.codes[i].Empty()
		add(found[i], o.Field, &b.Columns[o.Column], b)
	}
	return found
}

// Take adds what Look has found.
func (c *Collector) Take(found Found) {
	if c == nil {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, f := range found {
		if f != nil {
			c.codes[i].Merge(f)
		}
	}
}

// Add adds the released records of a block.
func (c *Collector) Add(b *microdata.Block) { c.Take(c.Look(b)) }

func add(found *microdata.Occurring, f microdata.Field, col *microdata.Column, b *microdata.Block) {
	v := col.Out()
	if a := col.OutArray(); a != nil {
		if texts, ok := a.(*array.String); ok {
			for row := range b.N {
				if !b.Rejected(row) && texts.IsValid(row) {
					found.Add(microdata.Code{Text: texts.Value(row), IsText: true})
				}
			}
			return
		}
		if !f.Numeric() {
			return
		}
		var numbers microdata.Column
		microdata.NumbersOf(a, &numbers)
		v = numbers.Original
	}
	for row, x := range v.Values {
		if row < b.N && !b.Rejected(row) && v.Valid.Has(row) {
			found.AddNumber(x)
		}
	}
}

// Column is what a release says of a column.
type Column = microdata.Said

// Value is a code with its label.
type Value = microdata.SaidOfCode

// Released returns what the release says of its columns, in their order, without those of which it
// says nothing.
func (c *Collector) Released(choice Choice) []Column {
	if c == nil {
		return nil
	}
	var list []Column
	for i, o := range c.layout.Release {
		text := o.Field.Type.ID() == arrow.STRING
		list = Append(list, choice, o.Field, c.codes[i], func(c microdata.Code) bool {
			return c.Tag == 0 && c.IsText == text
		})
	}
	return list
}

// Append appends what a release says of a column, if it says anything. codes are those that occur in it; nil for a
// column without any. holds says which codes the column can have.
func Append(list []Column, choice Choice, f microdata.Field, codes *microdata.Occurring,
	holds func(microdata.Code) bool) []Column {
	d := f.Described
	if d == nil {
		return list
	}
	col := Column{Name: f.Name, Measure: d.Measure, Weight: d.Weight}
	if choice.Has(Variables) {
		col.Label = d.Label
	}
	if codes != nil && choice.Has(Values) {
		d := codes.Description()
		for _, v := range d.Values {
			if holds(v.Value) {
				col.Values = append(col.Values, Value{Code: textOf(v.Value), Label: v.Label})
			}
		}
		for _, m := range d.Missing {
			col.Missing = append(col.Missing, rangeText(m))
		}
	}
	if col.Label == "" && col.Measure == "" && !col.Weight && col.Values == nil && col.Missing == nil {
		return list
	}
	return append(list, col)
}

func textOf(c microdata.Code) string {
	switch {
	case c.IsText:
		return c.Text
	case c.Tag != 0:
		return "." + string(rune(c.Tag))
	}
	return number(c.Number)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func rangeText(m microdata.MissingCodes) string {
	switch {
	case m.IsText:
		return m.Text
	case m.From == m.To:
		return number(m.From)
	}
	return number(m.From) + " to " + number(m.To)
}

// Key is the key of JSON among the metadata of a file.
const Key = "sdlfilter.labels"

// JSON writes columns as metadata of a file.
func JSON(columns []Column) (string, error) {
	b, err := json.Marshal(columns)
	return string(b), err
}

// Head is the first row of a codebook, and Rows are the others: one for each column, and one for each of its codes.
var Head = []string{"column", "label", "measure", "code", "meaning", "missing"}

// Rows returns the rows of a codebook.
func Rows(columns []Column) [][]string {
	var rows [][]string
	for _, c := range columns {
		rows = append(rows, []string{c.Name, c.Label, c.Measure, "", "", ""})
		for _, v := range c.Values {
			missing := ""
			if slices.Contains(c.Missing, v.Code) {
				missing = "yes"
			}
			rows = append(rows, []string{c.Name, "", "", v.Code, v.Label, missing})
		}
		for _, m := range c.Missing {
			if !slices.ContainsFunc(c.Values, func(v Value) bool { return v.Code == m }) {
				rows = append(rows, []string{c.Name, "", "", m, "", "yes"})
			}
		}
	}
	return rows
}

// Codebook writes columns as CSV.
func Codebook(columns []Column) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll(append([][]string{Head}, Rows(columns)...))
	return b.Bytes(), err
}
