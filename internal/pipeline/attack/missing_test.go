package attack

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// codesOfMissing returns the numbers that stand for two declared codes.
func codesOfMissing(t *testing.T) (a, b float64) {
	t.Helper()
	var block microdata.Block
	block.Reset(0, 0, 2, 1)
	copy(block.Columns[0].Alloc(2, false).Values, []float64{-9, -8})
	f := microdata.Field{Type: arrow.PrimitiveTypes.Float64, Missing: &microdata.Missing{Codes: []string{"-9", "-8"}}}
	(&microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}}, Read: []microdata.Want{{}}}).ClearMissing(
		&block)
	return block.Columns[0].Coded.Category(0), block.Columns[0].Coded.Category(1)
}

// Each code is a category of its own in what the snooper knows and in what is released, beyond all others; the law of a
// mask that draws releases it as it is. The column of categories itself, which other measures use, stays as it was.
func TestMissingCodesAreCategories(t *testing.T) {
	p, q := codesOfMissing(t)
	original := []float64{1, p, 2, q, p}
	released := []float64{2, p, 2, q, p}
	c := attack.CategoricalColumn{Name: "k", Original: []int32{0, -1, 1, -1, -1}, Released: []int32{1, -1, 1, -1, -1}}
	got := withMissingCodes(c, original, released)
	if !slices.Equal(got.Original, []int32{0, 2, 1, 3, 2}) || !slices.Equal(got.Released, []int32{1, 2, 1, 3, 2}) ||
		got.Known != nil {
		t.Errorf("categories %v, %v", got.Original, got.Released)
	}
	if !slices.Equal(c.Original, []int32{0, -1, 1, -1, -1}) {
		t.Error("the column has changed")
	}
	c.Known = &attack.Known{Codes: []int32{5, -1, 5, -1, -1}}
	got = withMissingCodes(c, original, released)
	if !slices.Equal(got.Known.Codes, []int32{5, 6, 5, 7, 6}) || !slices.Equal(got.Released, []int32{1, 6, 1, 7, 6}) ||
		c.Known.Codes[1] != -1 {
		t.Errorf("known %v, released %v", got.Known.Codes, got.Released)
	}
	// In cells, as a key with noise has: one that a mask has set missing stays missing.
	c.Known = &attack.Known{Law: &uniqueness.Law{Row: []int32{0, -1, 1, -1, -1}, P: [][]float64{{0.5, 0.5}, {1}}}}
	c.Cells = []int32{8, -1, 9, -1, -1}
	released[4] = released[0] * 0 / (released[0] * 0) // NaN
	got = withMissingCodes(c, original, released)
	law := got.Known.Law
	if !slices.Equal(got.Cells, []int32{8, 10, 9, 11, -1}) || !slices.Equal(law.Row, []int32{0, 2, 1, 3, 2}) ||
		len(law.P) != 4 || !slices.Equal(law.From, []int32{0, 0, 10, 11}) || law.P[2][0] != 1 {
		t.Errorf("cells %v, law %+v", got.Cells, law)
	}
	if len(c.Known.Law.P) != 2 || c.Known.Law.Row[1] != -1 {
		t.Error("the law has changed")
	}
	// One code alone, in the first record and in the last; also in what recodings have made of the original.
	for _, at := range []int{0, 2} {
		original, codes := []float64{1, 1, 1}, []int32{0, 0, 0}
		original[at], codes[at] = q, -1
		c := attack.CategoricalColumn{Original: codes, Recoded: slices.Clone(codes),
			Known: &attack.Known{Codes: slices.Clone(codes)}}
		got, want := withMissingCodes(c, original, nil), []int32{0, 0, 0}
		if want[at] = 1; !slices.Equal(got.Original, want) || !slices.Equal(got.Recoded, want) ||
			!slices.Equal(got.Known.Codes, want) || got.Released != nil || c.Recoded[at] != -1 || c.Known.Codes[at] != -1 {
			t.Errorf("one code, of record %d: %+v, known %v", at, got, got.Known.Codes)
		}
	}
	if c := (attack.CategoricalColumn{Original: []int32{0, 1}, Known: &attack.Known{}}); withMissingCodes(c,
		[]float64{1, 2}, nil).Known != c.Known {
		t.Error("without codes, what is known is another")
	}
}
