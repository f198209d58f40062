package attack

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// cellsOfReach is the number of cells into which what can be released of one value is divided.
// Under normal noise a cell is 0.06 standard deviations wide, which hides no more than about
// 0.06²/12 of the noise's variance from the snooper.
const cellsOfReach = 256

// mostCells bounds the cells of a column.
const mostCells = 1 << 20

// noisyKey returns a numeric key with noise as a snooper knows it: the law of its released value,
// in cells, for each original value.
func noisyKey(pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs, c *attack.CategoricalColumn) (
	known *attack.Known, cells []int32) {
	at := slices.IndexFunc(pl.Assessed, func(a assess.Column) bool { return a.Name == c.Name })
	switch {
	case !p.Complete:
		return &attack.Known{Not: "has noise, and its posterior is not computed from a sample"}, nil
	case at < 0 || chain == nil:
		return &attack.Known{Not: "has noise, and its law is not known here"}, nil
	}
	law, ok := chain.Law(c.Name)
	if !ok {
		return &attack.Known{Not: "has noise of which the law has no closed form, so that its posterior is not computed"}, nil
	}
	original, released := p.Original[at], p.Released[at]
	low, high := math.Inf(1), math.Inf(-1)
	for _, y := range released {
		low, high = min(low, orNone(y, low)), max(high, orNone(y, high))
	}
	width := math.Inf(1) // of a cell, by the value with the least noise
	values := distinct(original)
	for _, x := range values {
		if from, to := law.Reach(x); to > from {
			width = min(width, (to-from)/cellsOfReach)
		}
	}
	if _, _, step := law.Support(); step > 0 {
		width = max(1, math.Round(width/step)) * step // whole steps, with bounds between them
		low -= step / 2
	}
	if !(width > 0) || math.IsInf(width, 1) || !(high >= low) || (high-low)/width > mostCells {
		return &attack.Known{
			Not: "has noise that is too small or too great beside its values for its posterior to be computed"}, nil
	}
	cell := func(y float64) int32 { return int32(math.Floor((y - low) / width)) }
	last := cell(high)
	k := &uniqueness.Law{Row: make([]int32, len(original))}
	row := make(map[float64]int32, len(values))
	for i, x := range values {
		row[x] = int32(i)
		from, to := law.Reach(x)
		first, end := max(0, cell(max(from, low))), min(last, cell(min(to, high)))
		var share []float64
		before := law.Below(x, low+float64(first)*width)
		for at := first; at <= end; at++ {
			upTo := law.Below(x, low+float64(at+1)*width)
			share = append(share, max(0, upTo-before))
			before = upTo
		}
		k.P, k.From = append(k.P, share), append(k.From, first)
	}
	cells = make([]int32, len(released))
	for i, y := range released {
		if cells[i], k.Row[i] = -1, -1; y == y {
			cells[i] = cell(y)
		}
		if x := original[i]; x == x {
			k.Row[i] = row[x]
		}
		if r := k.Row[i]; r >= 0 && cells[i] >= 0 {
			if at := cells[i] - k.From[r]; at < 0 || int(at) >= len(k.P[r]) || !(k.P[r][at] > 0) {
				return &attack.Known{Not: "has a released value that the law of its masks does not explain"}, nil
			}
		}
	}
	return &attack.Known{Law: k}, cells
}

func orNone(y, none float64) float64 {
	if y != y {
		return none
	}
	return y
}

// distinct returns the different values, without NaN, ascending.
func distinct(values []float64) []float64 {
	list := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(list)
	return slices.Compact(list)
}
