package exchange

import (
	"errors"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"math"
	"slices"
	"strings"
	"testing"
)

func ranked(p float64, columns ...string) *RankSwap { return &RankSwap{Columns: columns, P: &p} }

// ranksOf returns the ranks of distinct values.
func ranksOf(values []float64) []int {
	sorted := slices.Sorted(slices.Values(values))
	ranks := make([]int, len(values))
	for i, v := range values {
		ranks[i], _ = slices.BinarySearch(sorted, v)
	}
	return ranks
}

// Values are exchanged in pairs within reach, each record at most once, and no two neighbours stay
// that could have been exchanged. The column keeps its values, bit by bit.
func TestRankSwapIsPairsWithinReach(t *testing.T) {
	for _, n := range []int{20, 777, 5000} {
		for _, p := range []float64{0.05, 0.3, 1} {
			columns := []testColumn{floats(-1, incomes(n, uint64(n))...), floats(-1, incomes(n, 3)...)}
			for i := range n { // all distinct
				columns[0].Values[i] += float64(i) * 1e-7
				columns[1].Values[i] += float64(i) * 1e-7
			}
			got := whole(t, chain(t, testSetup(t, columns...), mask(ranked(p, "a", "b"))), 300, columns...)
			reach := int(math.Floor(p * float64(n)))
			var partners [2][]int
			for c := range 2 {
				if !slices.Equal(slices.Sorted(slices.Values(got[c])), slices.Sorted(slices.Values(columns[c].Values))) {
					t.Fatal("the values of the column are not the same any more")
				}
				ranks := ranksOf(columns[c].Values)
				at := map[float64]int{}
				for i, v := range columns[c].Values {
					at[v] = i
				}
				last := -1 // rank of the last record that stays
				stays := make([]bool, n)
				for i, y := range got[c] {
					j := at[y]
					partners[c] = append(partners[c], j)
					if stays[ranks[i]] = i == j; got[c][j] != columns[c].Values[i] {
						t.Fatalf("record %d has the value of record %d, which does not have the value of the first", i, j)
					}
					if d := ranks[i] - ranks[j]; d > reach || -d > reach {
						t.Fatalf("p = %v: exchanged over %d ranks, at most %d", p, d, reach)
					}
				}
				for rank, stay := range stays {
					if stay {
						if last >= 0 && rank-last <= reach {
							t.Errorf("records of ranks %d and %d keep their values, but could have been exchanged", last, rank)
						}
						last = rank
					}
				}
			}
			if n > 20 && slices.Equal(partners[0], partners[1]) {
				t.Error("two columns have the same exchanges")
			}
		}
	}
}

// The first record is exchanged with each record within reach with the same probability: the counts
// are binomial with 1/reach, 5 standard deviations.
func TestRankSwapPartnersAreUniform(t *testing.T) {
	const keys, n, reach = 4000, 20, 5
	var counts [reach + 1]float64
	column := floats(0, make([]float64, n)...)
	for i := range n {
		column.Values[i] = float64(i)
	}
	setup := testSetup(t, column)
	c := chain(t, setup, mask(ranked(0.25, "a")))
	for m := range keys {
		counts[int(whole(t, c.Replicate(m+1), n, column)[0][0])]++
	}
	if counts[0] > 0 {
		t.Error("the first record stayed")
	}
	const p = 1.0 / reach
	for k, count := range counts[1:] {
		if z := (count - keys*p) / math.Sqrt(keys*p*(1-p)); !(math.Abs(z) <= 5) {
			t.Errorf("the partner %d ranks on was taken %v times of %d", k+1, count, keys)
		}
	}
}

// At the ends, and only there, the mean is released; the means of the column are kept.
func TestRankSwapEnds(t *testing.T) {
	column := floats(-1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 100)
	m := ranked(0.2, "a")
	m.Bottom, m.Top, m.Least, m.Share = ptr(0.2), ptr(0.3), ptr(2), ptr(1.0)
	got := whole(t, chain(t, testSetup(t, column), mask(m)), 10, column)[0]
	for i, y := range got {
		switch x := column.Values[i]; {
		case x <= 2 && y != 1.5, x >= 8 && y != 39:
			t.Errorf("%v became %v", x, y)
		case x > 2 && x < 8 && (y < 3 || y > 7 || math.Abs(y-x) > 2):
			t.Errorf("%v became %v", x, y)
		}
	}
}

// Missing values stay in their places, and ties are broken independently of place.
func TestRankSwapMissingAndTies(t *testing.T) {
	column := floats(0, make([]float64, 600)...)
	for i := range column.Values {
		column.Values[i] = float64(i / 300)
		if i%7 == 0 {
			column.Null = append(column.Null, i)
		}
	}
	got := whole(t, chain(t, testSetup(t, column), mask(ranked(0.1, "a"))), 100, column)[0]
	moved := 0
	for i, y := range got {
		if (y != y) != (i%7 == 0) {
			t.Fatalf("record %d: missing is %v", i, y != y)
		}
		if y == y && y != column.Values[i] {
			moved++
		}
	}
	// About 26 of 51 values within reach of the border on either side cross it; the maximum is 102.
	if moved == 0 || moved > 102 {
		t.Errorf("%d values changed", moved)
	}
}

func TestRankSwapRefusals(t *testing.T) {
	column := floats(0, 1, 2, 3, 4)
	c := chain(t, testSetup(t, column), mask(ranked(0.1, "a")))
	if err := c.Survey(block(0, 4, column)); err != nil {
		t.Fatal(err)
	}
	err := c.EndSurvey()
	var of *core.SurveyError
	if !errors.As(err, &of) ||
		!strings.HasPrefix(err.Error(),
			"masks[0].rankswap.p: must be at least 1 record of those with a value in columns[0]: a share of 0.1 of 4 is less") {
		t.Errorf("got %v", err)
	}
	for path, m := range map[string]*RankSwap{
		"p": ranked(0, "a"), "columns": ranked(0.05), "bottom": {Columns: []string{"a"}, P: ptr(0.05), Bottom: ptr(-0.1)},
		"top": {Columns: []string{"a"}, P: ptr(0.05), Bottom: ptr(0.5), Top: ptr(0.5)},
	} {
		if ps := m.Check(); len(ps) != 1 || ps[0].Path != path {
			t.Errorf("%s: %v", path, ps)
		}
	}
	if ps := (&RankSwap{Columns: []string{"a"}}).Check(); len(ps) != 1 || ps[0].Path != "p" {
		t.Errorf("without p: %v", ps)
	}
}

// If only a correlation is asked for, the reach is that of all records.
func TestReachOfACorrelation(t *testing.T) {
	if share := (&RankSwap{MinCorrelation: ptr(0.9)}).within(); share != 1 {
		t.Errorf("all ranks are %v", share)
	}
	if share := (&RankSwap{P: ptr(0.25), MinCorrelation: ptr(0.9)}).within(); share != 0.25 {
		t.Errorf("a quarter is %v", share)
	}
}
