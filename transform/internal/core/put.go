package core

import (
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// PlaceNumbers puts cells at rows.
func PlaceNumbers(v *microdata.Vector, rows []int32, cells []coding.Cell) {
	for k, row := range rows {
		if cells[k].Null && v.Valid == nil {
			v.Valid = microdata.NewBitmap(len(v.Values), nil)
		}
		if v.Valid != nil {
			SetTo(v.Valid, int(row), !cells[k].Null)
		}
		v.Values[row] = cells[k].Number
	}
}

// SetTo sets a bit to a value.
func SetTo(b microdata.Bitmap, i int, bit bool) {
	if bit {
		b.Set(i)
	} else {
		b.Clear(i)
	}
}
