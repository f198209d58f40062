package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// Restore puts the kept codes for missing values (microdata.Coded) into what leaves, for a sink, and returns
// a function that takes them out again: what is measured has none. undo must be called before the next
// Restore.
func Restore(b *microdata.Block) (undo func(), err error) {
	var undone []func()
	undo = func() {
		for _, f := range undone {
			f()
		}
	}
	for i := range b.Columns {
		f, err := restore(&b.Columns[i])
		if err != nil {
			undo()
			return nil, err
		}
		undone = append(undone, f)
	}
	return undo, nil
}

// RestoreColumn is Restore for one column, for good.
func RestoreColumn(c *microdata.Column) error {
	_, err := restore(c)
	return err
}

// restore is Restore for one column.
func restore(c *microdata.Column) (undo func(), err error) {
	at := &c.Coded
	switch {
	case !at.Keep || len(at.Rows) == 0:
	case at.Raw != nil:
		before := c.ReleasedArray
		if c.ReleasedArray, err = withCodes(c); err != nil {
			c.ReleasedArray = before
			return nil, err
		}
		return func() { c.ReleasedArray = before }, nil
	case c.Original.Values != nil:
		v := &c.Released
		if v.Values == nil {
			v = &c.Original
		}
		valid := v.Valid
		for k, row := range at.Rows {
			if at.Leaves(int(row)) {
				v.Values[row] = at.Values[k]
				v.Valid.Set(int(row))
			}
		}
		if v.Valid.Count(len(v.Values)) == len(v.Values) {
			v.Valid = nil // a column without nulls must not look like one that has some
		}
		return func() {
			v.Valid = valid
			for _, row := range at.Rows {
				v.Values[row] = 0
				v.Valid.Clear(int(row))
			}
		}, nil
	}
	return func() {}, nil
}

// withCodes returns the released array of a column with the kept codes. Where the release has another type,
// which is text, the codes are written as text.
func withCodes(c *microdata.Column) (arrow.Array, error) {
	at, out := &c.Coded, c.OutArray()
	if out == c.Array && !at.Dropped() {
		return at.Raw, nil
	}
	text := func(i int) []byte { return []byte(at.Raw.ValueStr(i)) }
	if arrow.TypeEqual(out.DataType(), at.Raw.DataType()) {
		var ok bool
		if text, ok = coding.BytesOf(at.Raw); !ok {
			return nil, fmt.Errorf("codes of type %s cannot be put back", at.Raw.DataType())
		}
	}
	var rows []int32
	var cells []coding.Cell
	for _, row := range at.Rows {
		if at.Leaves(int(row)) {
			rows, cells = append(rows, row), append(cells, coding.Cell{Bytes: text(int(row))})
		}
	}
	return coding.Place(out, rows, cells)
}

// becomesCode is why a record is rejected whose value would be taken for none.
const becomesCode = "would be released with a declared code for a missing value, and be taken for one"

// rejectCodes rejects the records of a masked block whose released value is a declared code although the original
// one is none, if the codes of the column are kept: nobody could tell it from a missing value.
func (c *column) rejectCodes(b *microdata.Block) {
	m, col := c.Field.Missing, &b.Columns[c.Index]
	if m == nil || m.Null {
		return
	}
	reject := func(i int) { b.Reject(i, c.Name, becomesCode) } // of records with a code, the value is null here
	if a := col.ReleasedArray; a != nil {
		if is := m.InArray(a); is != nil {
			for i := range b.N {
				if a.IsValid(i) && is(i) {
					reject(i)
				}
			}
		}
		return
	}
	if col.Released.Values == nil {
		return
	}
	v, is := col.Released, m.Finder(c.Field)
	for i, x := range v.Values {
		if is(x) && v.Valid.Has(i) {
			reject(i)
		}
	}
}

// PutValue is a value that a mask may release in place of others, and the field of its parameters.
type PutValue struct{ Field, Text string }

// MakesCode returns the place, in a mask's parameters, of a category or bound that is a declared code for a missing
// value of a column; "" if there is none. Either the mask would release it in place of values, or it lists the
// code as a category that it cannot see.
func MakesCode(p Params, column string, is func(text string) bool) (field string) {
	if puts := declared(p).Puts; puts != nil {
		for _, put := range puts() {
			if is(put.Text) {
				return put.Field
			}
		}
		return ""
	}
	listed := func(list []string) bool { return slices.ContainsFunc(list, is) }
	switch a := ActionOf(p, column, math.NaN()).(type) {
	case Bounding:
		switch {
		case a.Mode != "clip":
		case !math.IsInf(a.Lower, 0) && is(formatNumber(a.Lower)):
			return "lower"
		case !math.IsInf(a.Upper, 0) && is(formatNumber(a.Upper)):
			return "upper"
		}
	case Recoding:
		if listed(a.From) || listed(a.To) || a.Other != nil && is(*a.Other) {
			return ColumnsField(p)
		}
	case Randomising:
		if listed(a.Categories) || a.Other != nil && is(*a.Other) {
			return ColumnsField(p)
		}
	}
	return ""
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
