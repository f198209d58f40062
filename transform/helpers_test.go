package transform

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

type testColumn = masktest.Column

type rows = masktest.Rows

var (
	testKey, testSetup, floats, names  = masktest.Key, masktest.Setup, masktest.Floats, masktest.Names
	block, chain, apply, release, mask = masktest.Block, masktest.Chain, masktest.Apply, masktest.Release, masktest.Mask
	surveyed, whole, categories, wants = masktest.Surveyed, masktest.Whole, masktest.Categories, masktest.Wants
	amount, percent, repeat            = masktest.Amount, masktest.Percent, masktest.Repeat
	meanSD, correlation, kolmogorov    = masktest.MeanSD, masktest.Correlation, masktest.Kolmogorov
	codedData                          = masktest.CodedData
	gappy                              = masktest.Gappy
	streamBlock                        = masktest.StreamBlock
	displacementData                   = masktest.DisplacementData
	text64, coded64                    = masktest.Text64, masktest.Coded64
	published                          = masktest.Published
	onward                             = masktest.Onward
	incomes, reordered, typed          = masktest.Incomes, masktest.Reordered, masktest.Typed
	categoriesAt, missingCells         = masktest.CategoriesAt, masktest.MissingCells
	swapData, tiedData, shuffleData    = masktest.SwapData, masktest.TiedData, masktest.ShuffleData
)

func ptr[T any](v T) *T { return &v }

// micro groups k records; groups of two have to be asked for.
func micro(k int, columns ...string) *Microaggregate {
	m := &Microaggregate{Columns: columns, K: &k}
	if k == 2 {
		m.Least = &k
	}
	return m
}

func synthesise(m Synthesise) Spec { return mask(&m) }

func swapMask(policy, scope string, rate float64) *Swap {
	return &Swap{Keys: []string{"b", "c"}, Attribute: "d", Columns: []string{"a"}, Rate: &rate, Policy: policy,
		Scope: scope}
}

func ranked(p float64, columns ...string) *RankSwap { return &RankSwap{Columns: columns, P: &p} }

func toMiddle(to string) *Date { return &Date{Columns: []string{"a"}, Round: to} }

// thin is a tenth of n in the short form.
func thin(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
