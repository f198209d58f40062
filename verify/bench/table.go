package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table writes a Markdown table; the first row is its head.
func table(out io.Writer, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(out, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	fmt.Fprintln(out)
}

// median of a copy of v, which is not empty.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// medianOf is the median of one figure of several runs.
func medianOf(runs []usage, of func(usage) float64) float64 {
	list := make([]float64, len(runs))
	for i, u := range runs {
		list[i] = of(u)
	}
	return median(list)
}

// medianRatio is the median of the ratios of runs that were made in turn.
func medianRatio(a, b []usage, of func(usage) float64) float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = of(a[i]) / of(b[i])
	}
	return median(list)
}

func wall(u usage) float64 { return u.wall }
func cpu(u usage) float64  { return u.cpu }
func peak(u usage) float64 { return u.peak }

// seconds writes a time with three digits.
func seconds(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f", s)
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	}
	return fmt.Sprintf("%.2f", s)
}

// thousands writes a whole number so that it can be read.
func thousands(v int) string {
	text := fmt.Sprint(v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
