package foreign

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// table has columns of a file in memory.
type table struct {
	n         int
	numbers   [][]float64 // by requested column, NaN for a missing value
	codes     [][]int32   // by requested category, −1 for a missing value
	row       map[string]int
	ids       []string
	malformed int // malformed records: they count, without values
}

// category gives the values of a column codes, the same in all files: numbers by their value,
// everything else by its text.
type category struct {
	name   string
	number bool
	small  []int32 // of whole numbers, 1 more than their codes; 0: none yet
	values map[float64]int32
	codes  int32 // of numbers
	texts  map[string]int32
}

func newCategory(name string, schemas ...*microdata.Schema) *category {
	c := &category{name: name, number: true, values: map[float64]int32{}, texts: map[string]int32{}}
	for _, s := range schemas {
		c.number = c.number && s.Fields[s.Index(name)].Numeric()
	}
	return c
}

func (c *category) ofNumber(v float64) int32 {
	if v != v {
		return -1
	}
	if at := int(max(-1, min(v, smallNumbers))); float64(at) == v && at >= 0 && at < smallNumbers {
		if c.small == nil {
			c.small = make([]int32, smallNumbers)
		}
		if c.small[at] == 0 {
			c.small[at] = 1 + c.next()
		}
		return c.small[at] - 1
	}
	code, known := c.values[v]
	if !known {
		code = c.next()
		c.values[v] = code
	}
	return code
}

// smallNumbers is how many whole numbers from 0 on, as codes mostly are, have a place of their own.
const smallNumbers = 1 << 12

// next returns a code that no number has.
func (c *category) next() int32 {
	c.codes++
	return c.codes - 1
}

func (c *category) ofText(text string) int32 {
	code, known := c.texts[text]
	if !known {
		code = int32(len(c.texts))
		c.texts[text] = code
	}
	return code
}

// add appends the codes of a block's column.
func (c *category) add(dst []int32, column *microdata.Column, n int) []int32 {
	if c.number {
		for i := range n {
			dst = append(dst, c.ofNumber(valueOrNaN(column.Original, i)))
		}
		return dst
	}
	a := column.Array
	if d, ok := a.(*array.Dictionary); ok {
		// Each value of the dictionary is looked up once.
		codes := make([]int32, d.Dictionary().Len())
		for i := range codes {
			codes[i] = -1
			if !d.Dictionary().IsNull(i) {
				codes[i] = c.ofText(d.Dictionary().ValueStr(i))
			}
		}
		for i := range n {
			code := int32(-1)
			if !a.IsNull(i) {
				code = codes[d.GetValueIndex(i)]
			}
			dst = append(dst, code)
		}
		return dst
	}
	for i := range n {
		code := int32(-1)
		if !a.IsNull(i) {
			code = c.ofText(textOf(a, i))
		}
		dst = append(dst, code)
	}
	return dst
}

func textOf(a arrow.Array, i int) string {
	if s, ok := a.(*array.String); ok {
		return s.Value(i)
	}
	return a.ValueStr(i)
}

// hold reads columns of a file into memory. id "" leaves records without an
// identity.
func hold(ctx context.Context, src connectors.Source, numbers []string, categories []*category, id string,
	progress *pipeline.Progress) (*table, error) {
	schema := src.Schema()
	layout := &microdata.Layout{Schema: schema}
	for _, name := range numbers {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(name), As: microdata.Numbers, Measured: true})
	}
	numeric := &microdata.Layout{Schema: schema, Read: layout.Read[:len(numbers):len(numbers)]}
	for _, c := range categories {
		want := microdata.Want{Field: schema.Index(c.name), As: microdata.Array}
		if c.number {
			want.As, want.Measured = microdata.Numbers, true
		}
		layout.Read = append(layout.Read, want)
	}
	if id != "" {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(id), As: microdata.Array})
	}
	h := &table{numbers: make([][]float64, len(numbers)), codes: make([][]int32, len(categories)), row: map[string]int{}}
	pass := pipeline.Flow{
		Source: src, Layout: layout,
		Missing: numeric, // of the keys that are categories, a code for a missing value is one
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			h.add(p.Block, categories)
			if id != "" {
				if err := h.identify(p.Block, src.Streams()[p.Block.Stream]); err != nil {
					return err
				}
			}
			h.n += p.Block.N
			progress.Add(p.Block.N)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *table) add(b *microdata.Block, categories []*category) {
	cores.Each(len(h.numbers)+len(categories), func(j int) {
		if k := j - len(h.numbers); k >= 0 {
			h.codes[k] = categories[k].add(h.codes[k], &b.Columns[j], b.N)
			return
		}
		v := b.Columns[j].Original
		for i := range b.N {
			x := valueOrNaN(v, i)
			if math.IsInf(x, 0) {
				x = math.NaN()
			}
			h.numbers[j] = append(h.numbers[j], x)
		}
	})
	for _, r := range b.Rejects {
		h.malformed++
		for j := range h.numbers {
			h.numbers[j][h.n+r.Row] = math.NaN()
		}
		for j := range h.codes {
			h.codes[j][h.n+r.Row] = -1
		}
	}
}

// identify notes the row of each identity.
func (h *table) identify(b *microdata.Block, stream string) error {
	ids := b.Columns[len(h.numbers)+len(h.codes)].Array
	for i := range b.N {
		reason := ""
		id := ""
		if b.Rejected(i) {
			h.ids = append(h.ids, "")
			continue
		}
		if ids.IsNull(i) {
			reason = "the column that matches the records has no value"
		} else {
			id = idOf(ids, i)
			if _, twice := h.row[id]; twice {
				reason = "the column that matches the records repeats a value"
			}
		}
		if reason != "" {
			return &connectors.RecordError{Stream: stream, Record: b.First + int64(i) + 1, Reason: reason}
		}
		h.row[id] = h.n + i
		h.ids = append(h.ids, id)
	}
	return nil
}

// idOf returns the text of an identity. A whole number has the same text as an integer and as a
// floating-point number.
func idOf(a arrow.Array, i int) string {
	var v float64
	switch a := a.(type) {
	case *array.Float64:
		v = a.Value(i)
	case *array.Float32:
		v = float64(a.Value(i))
	default:
		return a.ValueStr(i)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// matched returns for each record of h its row in o, −1 if there is none: with byID by identity,
// else by position.
func (h *table) matched(o *table, byID bool) ([]int, error) {
	rows := make([]int, h.n)
	if !byID {
		if h.n != o.n {
			return nil, pipeline.DataErrorf("the files have different numbers of records; match them with --id COLUMN")
		}
		for i := range rows {
			rows[i] = i
		}
		return rows, nil
	}
	for i, id := range h.ids {
		row, ok := o.row[id]
		if !ok {
			row = -1
		}
		rows[i] = row
	}
	return rows, nil
}

// needs returns an error for names that are no columns of a file, or are nested, or, with
// numeric, are not numeric.
func needs(file string, schema *microdata.Schema, numeric bool, names ...string) error {
	for _, name := range names {
		i := schema.Index(name)
		if i < 0 {
			return pipeline.DataErrorf("column %q is not in the %s file%s", name, file, check.SuggestPlace(name, schema.Names()))
		}
		switch f := schema.Fields[i]; {
		case numeric && !f.Numeric():
			return pipeline.DataErrorf("column %q of the %s file is %s, and must be numeric; count it with --categorical", name,
				file, microdata.TypeName(f.Type))
		case f.Nested():
			return pipeline.DataErrorf("column %q of the %s file is nested (%s)", name, file, f.Type)
		}
	}
	return nil
}

// gathered returns the given rows of a column.
func gathered[T any](column []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = column[row]
	}
	return out
}

// openNamed opens a source, and puts its name in front of an error.
func openNamed(ctx context.Context, what string, c connectors.SourceConfig) (connectors.Source, error) {
	src, err := c.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return src, nil
}

// withoutRepeats returns the names in order, each once, without empty ones.
func withoutRepeats(lists ...[]string) []string {
	var names []string
	for _, name := range slices.Concat(lists...) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
