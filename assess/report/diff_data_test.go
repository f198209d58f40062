package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

func contentsOf(name string, n int64, columns ...ColumnContents) *Contents {
	return &Contents{Name: name, Records: n, Columns: columns}
}

func profiled(n int64, mean float64) *assess.ColumnProfile {
	return &assess.ColumnProfile{N: n, Mean: mean, SD: 3,
		Quantiles: []assess.Quantile{{Target: "p25", Value: 1}, {Target: "p50", Value: mean}, {Target: "p75", Value: 9}}}
}

func changesOf(d *Difference) (list []string) {
	for _, c := range d.Changes {
		list = append(list, fmt.Sprintf("%s | %s | %s | %s | %s", c.About, c.Name, c.Before, c.After, c.Tone))
	}
	return list
}

func TestDifferenceOfContents(t *testing.T) {
	region := func(north, south, rare int64) ColumnContents {
		return ColumnContents{Name: "region", Type: "utf8",
			Categories: map[string]int64{"north": north, "south": south, "Klein Siersleben": rare}}
	}
	wage := func(n int64, mean float64) ColumnContents {
		return ColumnContents{Name: "wage", Type: "double", Numbers: profiled(n, mean)}
	}
	for name, c := range map[string]struct {
		before, after *Contents
		want          []string
	}{
		"the same": {contentsOf("a", 100, region(50, 41, 9), wage(100, 5)),
			contentsOf("b", 100, region(50, 41, 9), wage(100, 5)), nil},
		"shares, but not of few": {contentsOf("a", 100, region(50, 41, 9)), contentsOf("b", 100, region(51, 49, 0)),
			[]string{"column | region, share of \"north\" | 50.0 % | 51.0 % | neutral",
				"column | region, share of \"south\" | 41.0 % | 49.0 % | neutral"}},
		"a category of enough on one side": {contentsOf("a", 100, region(50, 40, 10)),
			contentsOf("b", 100, region(50, 40, 9)),
			[]string{"column | region, share of \"Klein Siersleben\" | 10.0 % | fewer than 10 records | neutral"}},
		"numbers": {contentsOf("a", 100, wage(10, 5)), contentsOf("b", 100, wage(10, 5.0004)), nil},
		"numbers that differ": {contentsOf("a", 100, wage(10, 5)), contentsOf("b", 100, wage(10, 5.01)),
			[]string{"column | wage, mean | 5.000 | 5.010 | neutral", "column | wage, p50 | 5.000 | 5.010 | neutral"}},
		"numbers of few":  {contentsOf("a", 100, wage(10, 5)), contentsOf("b", 100, wage(9, 7)), nil},
		"numbers of few ": {contentsOf("a", 100, wage(9, 5)), contentsOf("b", 100, wage(10, 7)), nil},
		"columns": {contentsOf("a", 1, wage(1, 5), region(1, 0, 0)),
			contentsOf("b", 2, region(2, 0, 0), ColumnContents{Name: "sex", Type: "utf8"}),
			[]string{"records | records | 1 record | 2 records | neutral", "column | wage | double |  | neutral",
				"column | sex |  | utf8 | neutral"}},
		"order": {contentsOf("a", 1, wage(1, 5), region(1, 0, 0)), contentsOf("b", 1, region(1, 0, 0), wage(1, 5)),
			[]string{"columns | order | as before | another | neutral"}},
		"missing": {contentsOf("a", 200, ColumnContents{Name: "x", Type: "utf8", Missing: 3}),
			contentsOf("b", 200, ColumnContents{Name: "x", Type: "int64", Missing: 5}),
			[]string{"column | x | utf8 | int64 | neutral", "column | x, missing | 1.5 % | 2.5 % | neutral"}},
		"nothing": {contentsOf("a", 0), contentsOf("b", 0), nil},
	} {
		for i, want := range c.want {
			c.want[i] = strings.ReplaceAll(want, " %", "\u00a0%") // shares stay on one line
		}
		if got := changesOf(CompareContents(c.before, c.after)); !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(c.want))) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
