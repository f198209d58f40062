package category

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

var (
	published, testKey, testSetup, floats = masktest.Published, masktest.Key, masktest.Setup, masktest.Floats
	chain, apply, mask, categories        = masktest.Chain, masktest.Apply, masktest.Mask, masktest.Categories
	amount                                = masktest.Amount
	text64                                = masktest.Text64
	coded64                               = masktest.Coded64
)

func ptr[T any](v T) *T { return &v }

// Masks of other families are beside those of this one in some lists.
func init() {
	core.Register(Masks()...)
	core.Register(record.Masks()...)
}
