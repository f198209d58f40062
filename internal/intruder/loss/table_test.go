package loss

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// By hand: cells (1,1): 2 → 1, (1,2): 1 → 1, (2,1): 1 → 0, (2,2): 0 → 2.
func TestTableLossByHand(t *testing.T) {
	l, err := TableLossOf(t.Context(), [][]int32{{1, 1, 1, 2}, {1, 1, 2, 1}}, [][]int32{{1, 1, 2, 2}, {1, 2, 2, 2}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if l.Cells != 4 || l.FalseZero != 1 || l.FalseNonzero != 1 {
		t.Errorf("%+v", l)
	}
	close12(t, "absolute", l.Absolute.Mean, 1)
	close12(t, "relative", l.Relative.Mean, (0.5+0+1+1)/4)
	close12(t, "root", l.Root.Max, 1.4142135623730951)
	close12(t, "median", l.Absolute.Median, 1)
	close12(t, "p90", l.Absolute.P90, 1.7)
	for _, bad := range [][2][][]int32{{nil, nil}, {{{1}}, {{1}, {2}}}, {{{1}, {1, 2}}, {{1}, {1}}}, {{{}}, {{}}}} {
		if _, err := TableLossOf(t.Context(), bad[0], bad[1], false); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// sdcMicro's infoLoss of a record swap, by region and nationality, which are 75 cells
// and the 20 of the margins.
func TestGoldenTableLoss(t *testing.T) {
	before, after := golden.RecordSwap(t)
	if len(before[0]) != 6810 || len(after[0]) != 6810 {
		t.Fatalf("%d and %d persons", len(before[0]), len(after[0]))
	}
	l, err := TableLossOf(t.Context(), before, after, true)
	if err != nil {
		t.Fatal(err)
	}
	if l.Cells != 95 || l.FalseZero != 0 || l.FalseNonzero != 0 {
		t.Errorf("%d cells, %d emptied, %d new", l.Cells, l.FalseZero, l.FalseNonzero)
	}
	want := golden.RecordSwapLoss(t)
	if len(want) != 14 {
		t.Errorf("%d statistics", len(want))
	}
	for name, three := range want {
		for k, s := range []*Spread{&l.Absolute, &l.Root, &l.Relative} {
			var got float64
			switch name {
			case "Min":
				got = s.Min
			case "Max":
				got = s.Max
			case "Mean":
				got = s.Mean
			case "Median":
				got = s.Median
			default:
				p, err := strconv.ParseFloat(strings.TrimSuffix(name, "%"), 64)
				if err != nil {
					t.Fatal(err)
				}
				got = s.Quantile(p / 100)
			}
			near(t, name, got, three[k], 0)
		}
	}
}
