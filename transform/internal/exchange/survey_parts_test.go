package exchange

import (
	"errors"
	"fmt"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"math/rand/v2"
	"slices"
	"testing"
)

// surveyedInParts lets chains survey consecutive parts of the columns and one of them decide. It
// returns the decisions for each part.
func surveyedInParts(t *testing.T, setup core.Setup, masks []core.Spec, ends []int, columns ...testColumn) [][]byte {
	t.Helper()
	whole, from := chain(t, setup, masks...), 0
	for _, end := range ends {
		part := chain(t, setup, masks...)
		for at := from; at < end; at += 97 {
			if err := part.Survey(block(at, min(at+97, end), columns...)); err != nil {
				t.Fatal(err)
			}
		}
		found, err := part.MarshalSurvey()
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.MergeSurvey(found, []core.Stretch{{Stream: 0, First: int64(from), N: int64(end - from)}}); err != nil {
			t.Fatal(err)
		}
		from = end
	}
	if err := whole.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	decided := make([][]byte, len(ends))
	from = 0
	for i, end := range ends {
		var err error
		half := int64(end-from) / 2
		decided[i],
			err = whole.MarshalDecisions(
			[]core.Stretch{{Stream: 0, First: int64(from), N: half}, {Stream: 1, First: 0, N: int64(end)}, {Stream: 0,
				First: int64(from) + half, N: int64(end-from) - half}})
		if err != nil {
			t.Fatal(err)
		}
		from = end
	}
	return decided
}

// If chains survey parts, cut anywhere, the decisions equal those of one survey, and each chain
// treats its part like one chain of the whole, including nulls and the values under them.
func TestSurveysInParts(t *testing.T) {
	const n = 3000
	columns := append(swapData(n, 7, 20, 3), floats(0, slices.Repeat([]float64{4}, n)...), floats(2, incomes(n, 3)...))
	columns[0].Null = []int{5, 77, 1500}
	columns[3].Null = []int{9, 10, 2999} // of the attribute
	setup := testSetup(t, columns...)
	noise := mask(&record.Noise{Columns: []string{"f"}, SD: &core.Amount{Value: 2}})
	other := mask(&Swap{Keys: []string{"e"}, Attribute: "b", Columns: []string{"f"}, Rate: ptr(0.2), Policy: "random",
		Scope: "dataset"})
	for name, masks := range map[string][]core.Spec{
		"random":     {mask(swapMask("random", "dataset", 0.7))},
		"unique":     {mask(swapMask("unique", "dataset", 0.9))},
		"two swaps":  {noise, mask(swapMask("random", "dataset", 0.4)), other},
		"none heads": {mask(swapMask("random", "dataset", 0))},
	} {
		one := chain(t, setup, masks...)
		surveyed(t, one, n, columns...)
		want := apply(t, one, block(0, n, columns...))
		draw := rand.New(rand.NewPCG(1, 2))
		for _, parts := range []int{1, 2, 7, 40} {
			ends := []int{n}
			for len(ends) < parts {
				ends = append(ends, draw.IntN(n+1)) // some parts are empty
			}
			slices.Sort(ends)
			decided := surveyedInParts(t, setup, masks, ends, columns...)
			from, touched := 0, int64(0)
			for i, end := range ends {
				c := chain(t, setup, masks...)
				if err := c.UseDecisions(decided[i], []core.Stretch{{Stream: 0, First: int64(from), N: int64(end - from)}}); err != nil {
					t.Fatal(err)
				}
				got := apply(t, c, block(from, end, columns...))
				for k := range columns {
					a, b := got.Columns[k].Out(), want.Columns[k].Out()
					if !slices.Equal(a.Values[:end-from], b.Values[from:end]) {
						t.Errorf("%s in %d: column %d of part %d", name, parts, k, i)
					}
					for row := from; row < end; row++ {
						if a.Valid.Has(row-from) != b.Valid.Has(row) {
							t.Fatalf("%s in %d parts: column %d has different nulls", name, parts, k)
						}
					}
				}
				for _, mask := range c.Touched() {
					touched += mask.Records
				}
				from = end
			}
			var all int64
			for _, mask := range one.Touched() {
				all += mask.Records
			}
			if touched != all || all == 0 && name != "none heads" {
				t.Errorf("%s in %d parts: %d records are exchanged, and %d in one part", name, parts, touched, all)
			}
		}
	}
}

// Truncated and extended bytes are errors, wherever they are cut. The limit on records applies to
// all parts together. Calls in the wrong order are refused.
func TestSurveysInPartsThatAreNone(t *testing.T) {
	columns := swapData(60, 3, 2, 3)
	setup := testSetup(t, columns...)
	swap := mask(swapMask("random", "dataset", 0.7))
	part := chain(t, setup, swap)
	if err := part.Survey(block(0, 60, columns...)); err != nil {
		t.Fatal(err)
	}
	found, err := part.MarshalSurvey()
	if err != nil {
		t.Fatal(err)
	}
	of := []core.Stretch{{Stream: 0, First: 0, N: 60}}
	decided := surveyedInParts(t, setup, []core.Spec{swap}, []int{60}, columns...)[0]
	for what, c := range map[string]struct {
		text []byte
		take func(c *core.Chain, text []byte, of []core.Stretch) error
	}{
		"survey":   {found, (*core.Chain).MergeSurvey},
		"decision": {decided, (*core.Chain).UseDecisions},
	} {
		for k := range c.text {
			if err := c.take(chain(t, setup, swap), c.text[:k], of); err == nil {
				t.Fatalf("%s: cut off after %d of %d bytes", what, k, len(c.text))
			}
			// The digest of the file detects changed bytes; here they must do no harm.
			other := slices.Clone(c.text)
			other[k] ^= 0xff
			_ = c.take(chain(t, setup, swap), other, of)
		}
		if err := c.take(chain(t, setup, swap), append(slices.Clone(c.text), 0), of); err == nil {
			t.Errorf("%s: a byte too much", what)
		}
		if err := c.take(chain(t, setup, swap), c.text, of); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	whole := chain(t, setup, swap)
	dataset := whole.InParts()[0].(*datasetSwap)
	dataset.most = part.InParts()[0].(*datasetSwap).kept
	if err := whole.MergeSurvey(found, of); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	var many *core.SurveyError
	if err := whole.MergeSurvey(found, of); !errors.As(err, &many) {
		t.Errorf("too many of two parts: %v", err)
	}
	if _, err := whole.MarshalDecisions(nil); err == nil {
		t.Error("decided before the end")
	}
	for name, mask := range map[string]core.Spec{"no survey": mask(&record.Round{Columns: []string{"a"}, Base: ptr(5.0)}),
		"ranks": mask(&RankSwap{Columns: []string{"a"}, P: ptr(0.1)})} {
		c := chain(t, setup, mask)
		_, err := c.MarshalSurvey()
		if err == nil || c.MergeSurvey(found, nil) == nil || c.UseDecisions(decided, nil) == nil || c.SurveysInParts() {
			t.Errorf("%s: %v", name, fmt.Sprint(err))
		}
	}
}
