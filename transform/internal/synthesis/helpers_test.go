package synthesis

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

type testColumn = masktest.Column

var (
	codedData, testKey, testSetup, floats = masktest.CodedData, masktest.Key, masktest.Setup, masktest.Floats
	block, chain, apply, mask             = masktest.Block, masktest.Chain, masktest.Apply, masktest.Mask
	whole, meanSD, correlation            = masktest.Whole, masktest.MeanSD, masktest.Correlation
	reordered, tiedData                   = masktest.Reordered, masktest.TiedData
	impurity, slopesOf                    = masktest.Impurity, masktest.SlopesOf
)

func ptr[T any](v T) *T { return &v }

func init() {
	core.Register(Masks()...)
}

// thin is a tenth of n in the short form.
func thin(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
