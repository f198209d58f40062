package golden

import (
	"bytes"
	"embed"
	"encoding/csv"
	"strconv"
	"testing"
)

// The record swap is of made-up households (sdcMicro's createDat), and only counts of
// them are kept: how many persons there are by region and nationality before and after,
// and what sdcMicro's infoLoss makes of these counts. The call is
//
//	set.seed(2021); dat <- createDat(2000)
//	recordSwap(dat, hid = "hid", hierarchy = c("nuts1", "nuts2"), similar = list("hsize"), swaprate = .05,
//	  k_anonymity = 3, risk_variables = c("ageGroup", "national"), return_swapped_id = TRUE, seed = 2021)
//	infoLoss(table_vars = c("nuts2", "national"))
//
//go:embed testdata/record_swap_cells.csv testdata/record_swap_measures.csv
var recordSwap embed.FS

func rows(tb testing.TB, name string) [][]string {
	tb.Helper()
	text, err := recordSwap.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	return all[1:]
}

// RecordSwap returns the persons of the record swap by region and nationality, as codes,
// before and after; the order of persons is not kept.
func RecordSwap(tb testing.TB) (before, after [][]int32) {
	tb.Helper()
	before, after = make([][]int32, 2), make([][]int32, 2)
	for _, row := range rows(tb, "record_swap_cells.csv") {
		if row[0] == "" || row[1] == "" {
			continue // a margin
		}
		var cell [4]int
		for k, text := range row {
			n, err := strconv.Atoi(text)
			if err != nil {
				tb.Fatal(err)
			}
			cell[k] = n
		}
		for k := range 2 {
			for range cell[2] {
				before[k] = append(before[k], int32(cell[k]))
			}
			for range cell[3] {
				after[k] = append(after[k], int32(cell[k]))
			}
		}
	}
	return before, after
}

// RecordSwapLoss returns what sdcMicro makes of the swap, by the name of the statistic
// (Min, 10%, …, Max): of absolute differences, of those of roots, and of relative ones.
func RecordSwapLoss(tb testing.TB) map[string][3]float64 {
	tb.Helper()
	all := map[string][3]float64{}
	for _, row := range rows(tb, "record_swap_measures.csv") {
		var three [3]float64
		for k := range three {
			v, err := strconv.ParseFloat(row[k+1], 64)
			if err != nil {
				tb.Fatal(err)
			}
			three[k] = v
		}
		all[row[0]] = three
	}
	return all
}
