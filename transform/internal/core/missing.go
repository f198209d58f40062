package core

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// RestoreIn is Restore for one column.
func RestoreIn(c *microdata.Column) (undo func(), err error) {
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

// BecomesCode is why a record is rejected whose value would be taken for none.
const BecomesCode = "would be released with a declared code for a missing value, and be taken for one"

// rejectCodes rejects the records of a masked block whose released value is a declared code although the original
// one is none, if the codes of the column are kept: nobody could tell it from a missing value.
func (c *Column) rejectCodes(b *microdata.Block) {
	m, col := c.Field.Missing, &b.Columns[c.Index]
	if m == nil || m.Null {
		return
	}
	reject := func(i int) { b.Reject(i, c.Name, BecomesCode) } // of records with a code, the value is null here
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

// FormatNumber writes a number in as few digits as tell it from others.
func FormatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
