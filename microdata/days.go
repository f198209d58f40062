package microdata

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// PerDay returns how many units of a type of dates or moments a day has; false for other types.
func PerDay(t arrow.DataType) (units int64, ok bool) {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return 1, true
	case *arrow.Date64Type:
		return 24 * 60 * 60 * 1000, true
	case *arrow.TimestampType:
		return 24 * 60 * 60 * (1e9 / t.Unit.Multiplier().Nanoseconds()), true
	}
	return 0, false
}

// FillDays sets Original of the columns that a layout wants as days to their numbers of days since 1970-01-01, with the
// time of the day as a fraction.
func FillDays(b *Block, layout *Layout) {
	for i, w := range layout.Read {
		if w.Days {
			b.Columns[i].FillDays()
		}
	}
}

// FillDays sets Original to the days of Array, unless it has them.
func (c *Column) FillDays() {
	a := c.Array
	if a == nil || len(c.Original.Values) == a.Len() && a.Len() > 0 {
		return
	}
	v := c.Alloc(a.Len(), a.NullN() > 0)
	perDay, _ := PerDay(a.DataType())
	for i := range v.Values {
		v.Values[i] = 0
		switch {
		case a.IsNull(i):
			v.Valid.Clear(i)
		default:
			v.Values[i] = float64(UnitsAt(a, i)) / float64(perDay)
		}
	}
}

// UnitsAt returns value i of an array of dates or moments, in units of its type.
func UnitsAt(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Date64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	}
	return 0
}

// ReleaseDays sets ReleasedArray to the dates or moments of the released days. A moment that has moved by whole days
// keeps its time to the last unit. Values beyond what the type holds become its ends.
func (c *Column) ReleaseDays() {
	if c.Array == nil || c.Released.Values == nil {
		return
	}
	perDay, _ := PerDay(c.Array.DataType())
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	date, isDate := c.Array.DataType().(*arrow.Date32Type)
	if isDate {
		least, most = math.MinInt32, math.MaxInt32
	}
	units := make([]int64, len(c.Released.Values))
	for i, y := range c.Released.Values {
		if c.Released.Valid.Has(i) {
			units[i] = max(least, min(most, unitsOf(y, c.Original.Values[i], UnitsAt(c.Array, i), perDay)))
		}
	}
	if !isDate {
		c.ReleasedArray = assemble(c.Array.DataType(), units, c.Released.Valid)
		return
	}
	short := make([]int32, len(units))
	for i, u := range units {
		short[i] = int32(u)
	}
	c.ReleasedArray = assemble(date, short, c.Released.Valid)
}

// unitsOf returns y days in units, where the original x was so many units.
func unitsOf(y, x float64, units, perDay int64) int64 {
	moved := math.Round(y - x)
	switch {
	case y == math.Round(y) && math.Abs(y) < 1e9:
		return int64(y) * perDay
	case math.Abs(y-x-moved) < 1e-7 && math.Abs(moved) < 1e9:
		return units + int64(moved)*perDay
	case !(math.Abs(y)*float64(perDay) < math.MaxInt64/2):
		return units
	}
	return int64(math.Round(y * float64(perDay)))
}
