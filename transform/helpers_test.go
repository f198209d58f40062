package transform

import "github.com/sdlfilter/sdlfilter/transform/internal/masktest"

type testColumn = masktest.Column

var (
	testKey, testSetup, floats, names  = masktest.Key, masktest.Setup, masktest.Floats, masktest.Names
	block, chain, apply, release, mask = masktest.Block, masktest.Chain, masktest.Apply, masktest.Release, masktest.Mask
	surveyed, whole, categories, wants = masktest.Surveyed, masktest.Whole, masktest.Categories, masktest.Wants
	amount, percent, thin, repeat      = masktest.Amount, masktest.Percent, masktest.Thin, masktest.Repeat
	meanSD, correlation, kolmogorov    = masktest.MeanSD, masktest.Correlation, masktest.Kolmogorov
	incomes, reordered, typed          = masktest.Incomes, masktest.Reordered, masktest.Typed
	swapData, tiedData, shuffleData    = masktest.SwapData, masktest.TiedData, masktest.ShuffleData
)
