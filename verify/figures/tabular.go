package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/rounding"
	"github.com/sdlfilter/sdlfilter/verify/papers"
)

// The two-way margins of table 1 of Duncan et al. (2001). Its inner cells are not legible
// in our copy.
var (
	marginIJ = [][]float64{{3, 87, 68, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	marginJK = [][]float64{{5, 2, 68}, {10, 10, 85}, {69, 81, 61}, {7, 132, 51}}
	marginIK = [][]float64{{74, 75, 81}, {3, 85, 9}, {8, 61, 52}, {6, 4, 123}}
)

// The figures as printed in the paper.
var (
	printedTable2 = [][]float64{{3, 87, 69, 72, 231}, {6, 9, 81, 3, 99}, {3, 3, 6, 108, 120}, {63, 6, 57, 6, 132},
		{75, 105, 213, 189, 582}}
	printedTable3 = [][]float64{
		{.0007, .0683, .7746, .1482, .0178, .0017, .001, 0, 0, 0},
		{.0026, .1151, .6193, .2235, .515, .0096, .0016, .0002, 0, 0},
		{.0088, .1655, .4382, .2708, .1121, .380, .0114, .0032, .008, .002},
	}
	printedTable5 = [][]float64{
		{.001, .146, .751, .096, .006, 0, 0, 0, 0},
		{.005, .259, .579, .139, .016, .002, 0, 0, 0},
		{.015, .403, .381, .157, .032, .009, .002, 0, 0},
	}
)

var (
	thetas     = []float64{0.05, 0.1, 0.2}
	table4     = []float64{0, .3, .3, .15, .1, .05, .04, .03, .02, .01}
	dataSquare = papers.Perturbation{Row: 15, Column: 18, Total: 115}
)

// withTotals returns a table with its totals, rows then columns.
func withTotals(inner [][]float64) [][]float64 {
	all := make([]float64, len(inner[0])+1)
	var out [][]float64
	for _, row := range inner {
		sum := 0.0
		for j, v := range row {
			sum += v
			all[j] += v
		}
		all[len(row)] += sum
		out = append(out, append(slices.Clone(row), sum))
	}
	return append(out, all)
}

// rounded returns table 1's IJ+, rounded by the program to base 3 so that sums hold.
func rounded() ([][]float64, error) {
	flat := func(name string) (*tables.Dimension, error) {
		d, problems := tables.NewDimension(name, "", tables.Flat("", []string{"1", "2", "3", "4"}))
		if len(problems) > 0 {
			return nil, problems[0]
		}
		return d, nil
	}
	i, errI := flat("I")
	j, errJ := flat("J")
	if err := errors.Join(errI, errJ); err != nil {
		return nil, err
	}
	set, problems := tables.NewSet(tables.Table{Name: "IJ+", Dimensions: []*tables.Dimension{i, j}})
	if len(problems) > 0 {
		return nil, problems[0]
	}
	full := withTotals(marginIJ)
	place := func(cell int) (row, column int) { // totals are first in a set and last in the paper
		return (cell/5 + 4) % 5, (cell%5 + 4) % 5
	}
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Counts: true}
	for cell := range q.Value {
		row, column := place(cell)
		q.Value[cell] = full[row][column]
	}
	rounded, err := rounding.Controlled(q, 3, rounding.Limits{})
	if err != nil {
		return nil, err
	}
	out := withTotals(marginIJ)
	for cell, v := range rounded.Value {
		row, column := place(cell)
		out[row][column] = v
	}
	return out, nil
}

// changes returns the sum of the absolute values of all changes.
func changes(a, b [][]float64) (sum float64) {
	for i := range a {
		for j := range a[i] {
			sum += math.Abs(a[i][j] - b[i][j])
		}
	}
	return sum
}

// limitation draws figure 1 of Duncan et al. (2001), which has no numbers, with those of
// table 1's IJ+: unbiased random rounding with varying base. R is the greatest for a count
// below 5, U that of all 25 counts; both are expectations over the method's randomness.
func limitation(context.Context, string) ([]chart, error) {
	line := curve{id: "random rounding",
		name: "released data: each count rounded at random without a bias, base 2 (right) to 24 (left)", parameter: "base",
		dots: true}
	for base := int64(2); base <= 24; base++ {
		p, err := roundedAtRandom(base)
		if err != nil {
			return nil, err
		}
		line.points = append(line.points, p)
	}
	c := chart{
		name: "duncan2001-figure1", title: "Figure 1: the statistical disclosure limitation problem",
		source: "Duncan et al. (2001), section 2, with the numbers of table 1's margin IJ+",
		x: axis{label: "data utility U = 1/mean squared error, 1/count²", min: 0.01, max: 5, log: true,
			ticks: decades(0.01, 5)},
		y:      axis{label: "disclosure risk R = 1/entropy, 1/nat", min: 0.2, max: 5, log: true, ticks: decades(0.2, 5)},
		curves: []curve{line}, level: &level{0.9, "a tolerable risk, R = 0.9"},
		describe: "R against U. The original data, beyond the upper right corner, have infinite risk and utility; no data, beyond the lower left one, have none. Rounding to bases from 2 to 24 leads from the one to the other; bases whose R is at most 0.9 are tolerable.",
		marks: []mark{
			{x: 4.6, y: 4.5, text: "original data (R = U = ∞) ↗", left: true, down: true, plain: true},
			{x: 0.011, y: 0.215, text: "↙ no data (R = U = 0)", plain: true},
		},
	}
	for _, base := range []int{2, 3, 5, 10, 20} {
		p := line.points[base-2]
		c.marks = append(c.marks,
			mark{x: p.x, y: p.y, text: fmt.Sprintf("base %d", base), left: base != 3, down: base == 3, plain: true})
	}
	return []chart{c}, nil
}

// roundedAtRandom returns one point of figure 1.
func roundedAtRandom(base int64) (point, error) {
	likelihood := rounding.OfRandom(base)
	risk, square, n := 0.0, 0.0, 0.0
	for _, row := range withTotals(marginIJ) {
		for _, v := range row {
			rest := int64(v) % base
			square += float64(rest * (base - rest)) // the variance of the published count
			n++
			if v >= 5 {
				continue
			}
			for _, published := range []int64{int64(v) - rest, int64(v) - rest + base} {
				first, l := likelihood(published)
				if rest == 0 && published != int64(v) {
					continue
				}
				prior := make([]float64, len(l))
				for i := range prior {
					prior[i] = 1
				}
				b, err := papers.CellPosterior(prior, l)
				if err != nil {
					return point{}, fmt.Errorf("base %d, from %d: %w", base, first, err)
				}
				risk = max(risk, papers.CellRisk(b))
			}
		}
	}
	return point{float64(base), n / square, risk}, nil
}
