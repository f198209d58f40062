package transform

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Records set aside have no influence: if their values change, and their draws affect no other
// record, the releases of all others stay the same. Without a share set aside the releases change.
func TestHeldOutRecordsAreNotLearntFrom(t *testing.T) {
	const n = 1200
	for name, m := range map[string]Synthesise{
		"parametric": {Columns: []string{"a", "b"}, On: []string{"c"}, By: []string{"d"}},
		"categories": {Columns: []string{"e", "b"}, On: []string{"a"}, Categories: []string{"e"}},
		"cart":       {Columns: []string{"a", "e", "b"}, By: []string{"d"}, Categories: []string{"e"}, Method: "cart"},
		"first":      {Columns: []string{"e"}, Categories: []string{"e"}},
	} {
		released := func(share *float64, other bool) (out [][]float64, held []bool) {
			columns := tiedData(n, 6)
			columns = append(columns, floats(0, make([]float64, n)...))
			for i, v := range columns[0].Values {
				columns[4].Values[i] = math.Round(min(v, 3))
			}
			one := m
			one.HeldOut = share
			set := HeldOut{Share: 0.25, Draw: core.NewHeldDraw(testSetup(t).Key)}
			for i := range n {
				held = append(held, set.Of("", 0, int64(i)))
				if other && held[i] {
					for k, v := range map[int]float64{0: 900, 1: -700, 4: 7} {
						if slices.Contains(m.Columns, string(rune('a'+k))) {
							columns[k].Values[i] = v + float64(i%3)
						}
					}
				}
			}
			return whole(t, chain(t, testSetup(t, columns...), mask(&one)), 500, columns...), held
		}
		differ := func(share *float64) (others, own int) {
			before, held := released(share, false)
			after, _ := released(share, true)
			for k := range before {
				for i := range n {
					switch {
					case before[k][i] == after[k][i]:
					case held[i]:
						own++
					default:
						others++
					}
				}
			}
			return others, own
		}
		if others, own := differ(ptr(0.25)); others != 0 || own == 0 {
			t.Errorf("%s: changing held-out values changed %d released values of other records and %d of these", name, others,
				own)
		}
		if others, _ := differ(nil); others < n/20 {
			t.Errorf("%s: without held-out records %d values change, so this tests nothing", name, others)
		}
	}
}

// The records set aside are drawn by place: for 20,000 records at 0.2, the share has an SD of 0.28
// %. Copies, replicates and masks use the same records, and a smaller share is a subset of a
// greater one.
func TestHeldOutIsADrawByPlace(t *testing.T) {
	columns := tiedData(200, 7)
	masks := []Spec{
		synthesise(Synthesise{Columns: []string{"a"}, Categories: []string{"a"}, HeldOut: ptr(0.2), Copies: ptr(2)}),
		mask(&Noise{Columns: []string{"d"}, SD: amount(1)}),
		synthesise(Synthesise{Columns: []string{"b", "c"}, HeldOut: ptr(0.4)}),
		synthesise(Synthesise{Columns: []string{"d"}})}
	if got := HoldOut(masks); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("records are set aside for %v", got)
	}
	list := chain(t, testSetup(t, columns...), OfCopy(masks, 1)...).HeldOut()
	if len(list) != 3 || list[0].Column != "a" || !list[0].Categories || list[1].Column != "b" || list[1].Categories ||
		list[2].Share != 0.4 {
		t.Fatalf("got %+v", list)
	}
	second := chain(t, testSetup(t, columns...), OfCopy(masks, 2)...).Replicate(3).HeldOut()
	const n = 20_000
	less, more, elsewhere := 0, 0, 0
	for i := range int64(n) {
		a, b := list[0].Of("", 1, i), list[1].Of("", 1, i)
		if a != second[0].Of("", 1, i) || b != second[1].Of("", 1, i) || b != list[2].Of("", 1, i) {
			t.Fatalf("record %d: differs in another copy, replicate or column", i)
		}
		if a && !b {
			t.Fatalf("record %d is in the smaller share alone", i)
		}
		if a {
			less++
		}
		if b {
			more++
		}
		if a == list[0].Of("", 2, i) {
			elsewhere++
		}
	}
	if math.Abs(float64(less)/n-0.2) > 5*0.0029 || math.Abs(float64(more)/n-0.4) > 5*0.0035 || elsewhere == n {
		t.Errorf("%d and %d of %d are set aside, in another file the same %d", less, more, n, elsewhere)
	}
}

func TestHeldOutIsRefused(t *testing.T) {
	for _, share := range []float64{0, 0.009, 0.51, math.NaN()} {
		ps := (&Synthesise{Columns: []string{"a"}, HeldOut: &share}).Check()
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), "held_out: must be between 0.01 and 0.5") &&
			!strings.HasPrefix(ps[0].Error(), "held_out: must be at least 0.01 and at most 0.5") {
			t.Errorf("%v: %v", share, ps)
		}
	}
	// 14 records are enough, but not if half of them are set aside.
	columns := tiedData(14, 9)
	for share, want := range map[float64]string{
		0.01: "", 0.5: "masks[0].synthesise.columns[0]: must have at least 11 records"} {
		c := chain(t, testSetup(t, columns...), synthesise(Synthesise{Columns: []string{"a"}, HeldOut: &share}))
		if err := c.Survey(block(0, 14, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", share, err)
		}
	}
}
