package weights

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

type testColumn = masktest.Column

var (
	testSetup, floats, block, chain = masktest.Setup, masktest.Floats, masktest.Block, masktest.Chain
	apply, mask, surveyed, amount   = masktest.Apply, masktest.Mask, masktest.Surveyed, masktest.Amount
)

func ptr[T any](v T) *T { return &v }

// Masks of other families are beside those of this one in some lists.
func init() {
	core.Register(Masks()...)
	core.Register(record.Masks()...)
	core.Register(category.Masks()...)
}
