package synthesis

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

type testColumn = masktest.Column

var (
	codedData, testKey, testSetup, floats = masktest.CodedData, masktest.Key, masktest.Setup, masktest.Floats
	block, chain, apply, mask             = masktest.Block, masktest.Chain, masktest.Apply, masktest.Mask
	whole, thin, meanSD, correlation      = masktest.Whole, masktest.Thin, masktest.MeanSD, masktest.Correlation
	reordered, tiedData                   = masktest.Reordered, masktest.TiedData
)

func ptr[T any](v T) *T { return &v }

func init() {
	core.Register(Masks()...)
}
