package core

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Column is a column that masks change, as the chain sees it.
type Column struct {
	ColumnInfo
	Digits   int     // of the released values; -1 where there is no decimal grid
	coarse   float64 // 10^-scale of a decimal type of negative scale, else 0
	Lo, Hi   float64 // range of the type
	limit    float64 // greatest magnitude that can be masked
	Float32  bool
	OnGrid   bool           // the results of the masks so far lie on the decimal grid
	refit    bool           // whether fit can change a value
	Dated    arrow.DataType // the type of a column of days, whose Field is that of the numbers
	Shared   bool           // a draw belongs to a household
	Personal bool           // each member of a household has a value of its own
	Done     history        // the masks so far with their effective parameters
}

// NewColumn returns a column before any mask.
func NewColumn(info ColumnInfo) *Column {
	c := &Column{ColumnInfo: info, Digits: max(info.Decimals, -1)}
	if info.Days {
		c.Dated, c.Field.Type = info.Field.Type, typeOfDays(info.Field.Type)
		info = c.ColumnInfo
	}
	if !info.Field.Numeric() { // in replicates the values are codes
		c.Lo, c.Hi, c.limit = -math.MaxFloat64, math.MaxFloat64, math.MaxFloat64
		return c
	}
	c.Lo, c.Hi = info.Field.Range()
	c.limit = c.Hi
	c.Float32 = info.Field.Type.ID() == arrow.FLOAT32
	if d, fixed := info.Field.Decimals(); fixed {
		c.limit = microdata.MaxExact
		if d > 0 {
			c.limit = c.Hi
		}
		if d < 0 {
			c.coarse, c.limit = math.Pow10(-d), c.Hi
		}
		if c.Digits < 0 || c.Digits > max(d, 0) {
			c.Digits = max(d, 0)
		}
	}
	if c.Float32 && c.Digits >= 0 {
		c.Done.Text = Part("decimals", float64(c.Digits)) // admit makes other numbers of it
	}
	// A float64 on its grid needs no conversion; every other type has a range
	// or a precision that values must be fitted to.
	c.refit = info.Field.Type.ID() != arrow.FLOAT64
	return c
}

// Grid returns the grid of a mask whose standard deviation on this column is λ.
func (c *Column) Grid(lambda float64) Grid {
	if c.Digits >= 0 {
		return DecimalGrid(c.Digits)
	}
	return binaryGrid(lambda)
}

// admit rejects the records whose value cannot be masked, and sets Released of a float32 column
// to the decimal numbers that its values represent.
func (c *Column) admit(b *microdata.Block) error {
	col := &b.Columns[c.Index]
	if c.Days {
		col.FillDays()
	}
	values := col.Original.Values
	if values == nil && b.N > 0 {
		return nil // in Array form, or not in this block: swaps and masks of categories check that themselves
	}
	if len(values) != b.N {
		return fmt.Errorf("column %s: block of %d records has %d numbers", c.Name, b.N, len(values))
	}
	limit := c.limit
	for i, x := range values {
		if !(math.Abs(x) <= limit) {
			c.reject(b, i, x)
		}
	}
	if c.Float32 && c.Digits >= 0 {
		DecimalGrid(c.Digits).SnapAll(col.Mutable().Values)
	}
	return nil
}

func (c *Column) reject(b *microdata.Block, row int, x float64) {
	if !b.Columns[c.Index].Original.Valid.Has(row) {
		return
	}
	switch {
	case math.IsNaN(x):
		b.Reject(row, c.Name, "is not a number (NaN)")
	case math.IsInf(x, 0):
		b.Reject(row, c.Name, "is infinite")
	default:
		b.Reject(row, c.Name, "is beyond what can be masked exactly (2^53 units of the last place)")
	}
}

// fit converts Released to the values that a sink writes: integers and decimals are rounded to
// their scale and limited to their type's range, float32 has that precision, nulls are 0.
func (c *Column) fit(b *microdata.Block) {
	if c.Days {
		defer b.Columns[c.Index].ReleaseDays()
	}
	if !c.refit || b.Columns[c.Index].Released.Values == nil {
		return
	}
	v := b.Columns[c.Index].Released.Values
	if c.Digits >= 0 {
		DecimalGrid(c.Digits).SnapAll(v)
	}
	if c.coarse != 0 {
		for i, x := range v {
			v[i] = float64(math.RoundToEven(x/c.coarse)*c.coarse) + 0
		}
	}
	lo, hi := c.Lo, c.Hi
	for i, x := range v {
		if x < lo {
			v[i] = lo
		} else if x > hi {
			v[i] = hi
		}
	}
	if c.Float32 {
		for i, x := range v {
			v[i] = float64(float32(x))
		}
	}
}

// Settle ends the work of a mask on a column. It writes 0 where the column has no value, adds
// the records marked in own that have a value to changed, and clears own for the next column.
// Records that were marked for another column stay marked.
func Settle(v *microdata.Vector, own, changed microdata.Bitmap) {
	for w, word := range v.Valid {
		own[w] &= word
		for nulls := ^word; nulls != 0; nulls &= nulls - 1 {
			i := w<<6 + bits.TrailingZeros64(nulls)
			if i >= len(v.Values) {
				break
			}
			v.Values[i] = 0
		}
	}
	for w, word := range own {
		changed[w] |= word
	}
	clear(own)
}
