package transform

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Copies returns the number of copies of the data that the masks request; the columns of such
// masks have different draws in each copy. It is 1 if no mask requests copies.
func Copies(masks []core.Spec) int {
	most := 1
	for _, m := range masks {
		most = max(most, core.Declared(m.Params).Copies)
	}
	return most
}

// OfCopy returns the masks of one copy; number is from 1 to Copies(masks). A mask that requests
// copies has different draws in each copy; every other mask has the same draws in all.
func OfCopy(masks []core.Spec, number int) []core.Spec {
	list := slices.Clone(masks)
	for i, m := range masks {
		if d := core.Declared(m.Params); d.Copies > 1 {
			list[i].Params = d.OfCopy(number)
		}
	}
	return list
}

// CopiesOf returns the number of copies in which a column has different draws; 1 if its values
// are the same in all copies. An intruder who has all copies can average this number of values.
func CopiesOf(masks []core.Spec, column string) int {
	for _, m := range masks {
		if n := core.Declared(m.Params).Copies; n > 1 && slices.Contains(m.Params.Masks(), column) {
			return n
		}
	}
	return 1
}

// IsSynthetic reports whether the masks replace all values of a column by draws from a model.
func IsSynthetic(masks []core.Spec, column string) bool {
	return slices.ContainsFunc(masks, func(m core.Spec) bool {
		_, is := core.ActionOf(m.Params, column, math.NaN()).(core.Synthesis)
		return is && slices.Contains(m.Params.Masks(), column)
	})
}
