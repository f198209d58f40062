package group

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

type testColumn = masktest.Column
type rows = masktest.Rows

var (
	onward, testKey, testSetup, floats = masktest.Onward, masktest.Key, masktest.Setup, masktest.Floats
	names, block, chain, apply         = masktest.Names, masktest.Block, masktest.Chain, masktest.Apply
	mask, surveyed, whole, amount      = masktest.Mask, masktest.Surveyed, masktest.Whole, masktest.Amount
	categoriesAt, missingCells         = masktest.CategoriesAt, masktest.MissingCells
	fewest, without                    = masktest.Fewest, masktest.Without
)

func ptr[T any](v T) *T { return &v }

// Masks of other families are beside those of this one in some lists.
func init() {
	core.Register(Masks()...)
	core.Register(category.Masks()...)
}
