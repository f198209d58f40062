package transform

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
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
		c := &b.Columns[i]
		if !c.Coded.Keep || len(c.Coded.Rows) == 0 {
			continue
		}
		f, err := restore(c)
		if err != nil {
			undo()
			return nil, err
		}
		undone = append(undone, f)
	}
	return undo, nil
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
	if same := arrow.TypeEqual(out.DataType(), at.Raw.DataType()); same || textField(at.Raw.DataType()) {
		var ok bool
		if text, ok = bytesOf(at.Raw); !ok {
			return nil, fmt.Errorf("codes of type %s cannot be put back", at.Raw.DataType())
		}
	}
	var rows []int32
	var cells []cell
	for _, row := range at.Rows {
		if at.Leaves(int(row)) {
			rows, cells = append(rows, row), append(cells, cell{bytes: text(int(row))})
		}
	}
	return placeArray(out, rows, cells)
}
