package transform

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// The array of a released column has the texts of its categories, and as many missing values as
// there are records without one.
func TestArrayOfCategories(t *testing.T) {
	k := &core.CategoryColumn{Out: []string{"a", "", "longer"}}
	for _, places := range [][]int32{nil, {0}, {-1}, {0, 0, 1}, {2, -1, 0, 1, -1, 2, 0}} {
		a := k.Array(places).(*array.String)
		missing := 0
		for i, j := range places {
			switch {
			case j < 0:
				missing++
				if a.IsValid(i) {
					t.Errorf("%v: value %d is not missing", places, i)
				}
			case a.IsNull(i) || a.Value(i) != k.Out[j]:
				t.Errorf("%v: value %d is %q, missing %v", places, i, a.Value(i), a.IsNull(i))
			}
		}
		if a.Len() != len(places) || a.NullN() != missing {
			t.Errorf("%v: %d values, %d of them missing", places, a.Len(), a.NullN())
		}
	}
}
