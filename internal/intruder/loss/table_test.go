package loss

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
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

// sdcMicro's infoLoss of its record swap r01, by region and nationality, which are
// 75 cells and the 20 of the margins.
func TestGoldenTableLoss(t *testing.T) {
	codes := func(file string) (columns [][]int32) {
		names, all := golden.Columns(t, "golden", file)
		for _, name := range []string{"nuts2", "national"} {
			var c []int32
			for _, v := range all[slices.Index(names, name)] {
				c = append(c, int32(v))
			}
			columns = append(columns, c)
		}
		return columns
	}
	l, err := TableLossOf(t.Context(), codes("r01_recordSwap_input.csv"), codes("r01_recordSwap_swapped.csv"), true)
	if err != nil {
		t.Fatal(err)
	}
	if l.Cells != 95 || l.FalseZero != 0 || l.FalseNonzero != 0 {
		t.Errorf("%d cells, %d emptied, %d new", l.Cells, l.FalseZero, l.FalseNonzero)
	}
	f, err := os.Open(golden.Path(t, "golden", "r01_infoLoss_measures.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for k, s := range []*Spread{&l.Absolute, &l.Root, &l.Relative} {
			want, err := strconv.ParseFloat(row[k+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			var got float64
			switch what := row[0]; what {
			case "Min":
				got = s.Min
			case "Max":
				got = s.Max
			case "Mean":
				got = s.Mean
			case "Median":
				got = s.Median
			default:
				p, err := strconv.ParseFloat(what[:len(what)-1], 64)
				if err != nil {
					t.Fatal(err)
				}
				got = s.Quantile(p / 100)
			}
			near(t, row[0], got, want, 0)
		}
	}
}
