package exchange

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/group"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

type testColumn = masktest.Column

var (
	displacementData, streamBlock, gappy, testKey = masktest.DisplacementData, masktest.StreamBlock, masktest.Gappy, masktest.Key
	testSetup, floats, names, block               = masktest.Setup, masktest.Floats, masktest.Names, masktest.Block
	chain, apply, release, mask                   = masktest.Chain, masktest.Apply, masktest.Release, masktest.Mask
	surveyed, whole, wants, amount                = masktest.Surveyed, masktest.Whole, masktest.Wants, masktest.Amount
	repeat, incomes, reordered                    = masktest.Repeat, masktest.Incomes, masktest.Reordered
	swapData, tiedData, shuffleData               = masktest.SwapData, masktest.TiedData, masktest.ShuffleData
)

func ptr[T any](v T) *T { return &v }

// Masks of other families are beside those of this one in some lists.
func init() {
	core.Register(Masks()...)
	core.Register(record.Masks()...)
	core.Register(category.Masks()...)
	core.Register(group.Masks()...)
}

// thin is a tenth of n in the short form.
func thin(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
