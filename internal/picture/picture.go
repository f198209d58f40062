// Package picture counts what a picture of original and released values shows, so that
// no record can be seen in it: every cell, class and step that is not empty holds at
// least Least records, edges are round numbers beside the values, and the extremes are
// not drawn. It draws nothing: that is internal/figure.
package picture

import (
	"math"
	"slices"
)

// Least is the fewest records in whatever is drawn.
const Least = 10

// Pair is a column before and after. A nil part has too few records, or no spread.
type Pair struct {
	Column, Unit string
	Density      *Density
	Distribution *Distribution
}

// Of looks at the values of a column, a record at the same index on both sides, NaN
// where it has none.
func Of(column, unit string, original, released []float64) Pair {
	g := newGrid(original, released)
	return Pair{Column: column, Unit: unit, Density: g.density(original, released),
		Distribution: g.distribution(original, released)}
}

// Density counts pairs in cells of equal width, the same on both axes.
type Density struct {
	Edges  []float64 // ascending, one more than rows and columns
	Counts [][]int   // by original (columns) and released (rows); 0 where there are fewer than Least
	Most   int       // of a cell
	Drawn  int       // pairs in cells that are shown
	Left   int       // pairs in cells of few, and beyond the edges
}

// Distribution is the share of records below some values.
type Distribution struct {
	At                 []float64 // ascending
	Original, Released []float64 // shares strictly between 0 and 1
}

// grid is where the edges of a column may lie.
type grid struct {
	sorted []float64 // values of both sides
	step   float64   // of the values, 0 where they have none
}

func newGrid(original, released []float64) grid {
	g := grid{sorted: make([]float64, 0, len(original)+len(released))}
	for _, side := range [][]float64{original, released} {
		for _, v := range side {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				g.sorted = append(g.sorted, v)
			}
		}
	}
	g.step = stepOf(g.sorted)
	slices.Sort(g.sorted)
	return g
}

// stepOf is 10^−d of the fewest decimals d that write all values; 0 where more than
// six are needed.
func stepOf(values []float64) float64 {
	scale := 1.0
	for range 7 {
		if !slices.ContainsFunc(values, func(v float64) bool {
			x := v * scale
			return math.Abs(x-math.Round(x)) > 1e-6 || math.Abs(x) > 1<<50
		}) {
			return 1 / scale
		}
		scale *= 10
	}
	return 0
}

// edges are about n round values over all but a share of the records at either end,
// half a step beside what a record can have; nil where nothing varies.
func (g grid) edges(n int, tail float64) []float64 {
	last := len(g.sorted) - 1
	if last < 0 {
		return nil
	}
	lo, hi := g.sorted[int(tail*float64(last))], g.sorted[last-int(tail*float64(last))]
	if !(hi > lo) {
		return nil
	}
	width := math.Max(roundAbove((hi-lo)/float64(n)), g.step)
	first := math.Floor(lo / width)
	var edges []float64
	for k := first; ; k++ {
		e := k*width - g.step/2
		if len(edges) > 0 && e <= edges[len(edges)-1] || len(edges) > 4*n+4 {
			return nil // beyond what a float64 tells apart
		}
		edges = append(edges, e)
		if e > hi {
			return edges
		}
	}
}

// roundAbove is the smallest value of 1, 2 and 5 times a power of ten that is at least v.
func roundAbove(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v {
			return m * p
		}
	}
	return 10 * p
}

// bin is the index of the bin that holds v, −1 below the first edge and len(edges)−1
// from the last one on. NaN has none.
func bin(edges []float64, v float64) int {
	i, found := slices.BinarySearch(edges, v)
	if !found {
		i--
	}
	return i
}

const (
	mostCells  = 24 // of an axis
	leastCells = 4
	densityOut = 0.01 // share of either end that the cells leave out
	steps      = 100  // of a distribution, before those of few are merged
	stepsOut   = 0.005
)

func (g grid) density(original, released []float64) *Density {
	var pairs int
	for i := range original {
		if !math.IsNaN(original[i]) && !math.IsNaN(released[i]) {
			pairs++
		}
	}
	// Cells of ten records on average, were they all alike.
	cells := min(mostCells, int(math.Sqrt(float64(pairs)/Least)))
	if cells < leastCells {
		return nil
	}
	edges := g.edges(cells, densityOut)
	if len(edges) < 3 {
		return nil
	}
	d := &Density{Edges: edges, Counts: make([][]int, len(edges)-1)}
	for i := range d.Counts {
		d.Counts[i] = make([]int, len(edges)-1)
	}
	for i := range original {
		if math.IsNaN(original[i]) || math.IsNaN(released[i]) {
			continue
		}
		column, row := bin(edges, original[i]), bin(edges, released[i])
		if column >= 0 && row >= 0 && column < len(d.Counts) && row < len(d.Counts) {
			d.Counts[row][column]++
		}
	}
	for _, row := range d.Counts {
		for i, n := range row {
			if n < Least {
				row[i] = 0
				continue
			}
			d.Drawn += n
			d.Most = max(d.Most, n)
		}
	}
	if d.Left = pairs - d.Drawn; d.Drawn == 0 {
		return nil
	}
	return d
}

func (g grid) distribution(original, released []float64) *Distribution {
	edges := g.edges(steps, stepsOut)
	if edges == nil {
		return nil
	}
	below := func(side []float64) (counts []int, total int) {
		counts = make([]int, len(edges)+1)
		for _, v := range side {
			if !math.IsNaN(v) {
				counts[bin(edges, v)+1]++
				total++
			}
		}
		return counts, total
	}
	x, n := below(original)
	y, m := below(released)
	d := &Distribution{}
	// Records below the edge, and since the last one that is kept.
	var atX, atY, sinceX, sinceY int
	few := func(count int) bool { return count > 0 && count < Least }
	for i, e := range edges {
		atX, atY, sinceX, sinceY = atX+x[i], atY+y[i], sinceX+x[i], sinceY+y[i]
		if few(sinceX) || few(sinceY) || atX < Least || atY < Least {
			continue
		}
		if n-atX < Least || m-atY < Least {
			break
		}
		d.At = append(d.At, e)
		d.Original, d.Released = append(d.Original, float64(atX)/float64(n)), append(d.Released, float64(atY)/float64(m))
		sinceX, sinceY = 0, 0
	}
	if len(d.At) < 2 {
		return nil
	}
	return d
}

// Class is a range of a figure of the records, and how many are within.
type Class struct {
	From, To float64 // the least and the greatest of its records, or its fixed limits
	Records  int
	Sum      float64 // over the records, of what was asked for
}

// Classes sorts records by a figure of theirs into at most n classes of equal numbers
// as far as equal figures allow, none of fewer than Least, and adds up another one. A
// record whose figure is NaN is left out; nil where there are too few.
func Classes(by, of []float64, n int) []Class {
	var order []int
	for i, v := range by {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	if len(order) < 2*Least {
		return nil
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case by[i] < by[j]:
			return -1
		case by[i] > by[j]:
			return 1
		}
		return 0
	})
	each := max(Least, (len(order)+n-1)/n)
	var classes []Class
	for from := 0; from < len(order); {
		to := min(from+each, len(order))
		for to < len(order) && by[order[to]] == by[order[to-1]] {
			to++
		}
		if len(order)-to < Least {
			to = len(order)
		}
		c := Class{From: by[order[from]], To: by[order[to-1]], Records: to - from}
		for _, i := range order[from:to] {
			c.Sum += of[i]
		}
		classes = append(classes, c)
		from = to
	}
	return classes
}

// riskEdges are the limits of the classes of a probability.
var riskEdges = []float64{0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}

// Risks counts records by a probability of theirs, in fixed classes that include their
// upper limit, the first one also 0.
func Risks(risk []float64) []Class {
	classes := make([]Class, len(riskEdges)-1)
	for i := range classes {
		classes[i].From, classes[i].To = riskEdges[i], riskEdges[i+1]
	}
	for _, v := range risk {
		if math.IsNaN(v) {
			continue
		}
		i, _ := slices.BinarySearch(riskEdges, v)
		c := &classes[min(max(i-1, 0), len(classes)-1)]
		c.Records++
		c.Sum += v
	}
	return classes
}
