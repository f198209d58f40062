package core

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Dates and moments are arrays, and masks that say so (Description.OnDays) compute with them as with numbers: days
// since 1970-01-01, the time of the day as a fraction. The column is then measured like any other, in days.

// DecimalsOfDays returns the decimals of days of a type: dates are whole days, moments have no grid.
func DecimalsOfDays(t arrow.DataType) int {
	if t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 {
		return 0
	}
	return -1
}

// typeOfDays is the type of the numbers of days that stand for a type.
func typeOfDays(t arrow.DataType) arrow.DataType {
	if DecimalsOfDays(t) == 0 {
		return arrow.PrimitiveTypes.Int32
	}
	return arrow.PrimitiveTypes.Float64
}

// InDays reports whether masks compute with a column of dates or moments in days: all masks on it do.
func InDays(masks []Spec, f microdata.Field) bool {
	if _, ok := microdata.PerDay(f.Type); !ok {
		return false
	}
	on := false
	for _, m := range masks {
		if m.Params == nil || !slices.Contains(m.Params.Masks(), f.Name) {
			continue
		}
		if !Declared(m.Params).OnDays {
			return false
		}
		on = true
	}
	return on
}
