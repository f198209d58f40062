package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/decimals"
)

const (
	leastInBin    = 10 // least number of respondents on either side of a bin that is not empty
	targetedWidth = 30 // desired number of bins over the bulk, before adding the tails and merging
)

// histogram returns the histogram of a column before and after masking, in common
// bins. The bins' width is 1, 2 or 5 times a power of ten, and their edges lie half a
// step of the data's own grid beside its multiples, so that no edge is a respondent's
// value; the outermost edges disclose only the order of magnitude of the extremes.
// It is nil if there are too few respondents for any bin.
func histogram(original, released []float64) *Histogram {
	x, y := cell.Present(original), cell.Present(released)
	if len(x) < leastInBin || len(y) < leastInBin {
		return nil
	}
	probe := make([]float64, 0, 2048)
	for _, v := range [][]float64{x, y} {
		for i := 0; i < len(v); i += max(1, len(v)/1000) {
			probe = append(probe, v[i])
		}
	}
	slices.Sort(probe)
	cut := len(probe) / 200
	lo, hi := probe[cut], probe[len(probe)-1-cut]
	width := 1.0
	if hi > lo {
		width = niceAbove((hi - lo) / targetedWidth)
	}
	h, clash := binned(x, y, lo, hi, width, halfStep(x, width))
	if clash {
		h, _ = binned(x, y, lo, hi, width, width/7)
	}
	return h
}

// binned returns the histogram with inner edges at offset below multiples of width; clash
// says that an original value is an edge.
func binned(x, y []float64, lo, hi, width, offset float64) (h *Histogram, clash bool) {
	first := math.Floor(lo/width)*width - offset
	count := int(math.Ceil((hi-first)/width)) + 1
	if !cell.Finite(first) || !cell.Finite(width*float64(count)) || first+width == first {
		return nil, false
	}
	// A bin is wider than a thirtieth of the distance between lo and hi, so that count is at most
	// 33. Two open-ended bins hold the tails.
	inner := count
	edges := make([]float64, 0, inner+3)
	low, high := min(slices.Min(x), slices.Min(y)), max(slices.Max(x), slices.Max(y))
	last := first + float64(inner)*width
	if low < first {
		edges = append(edges, first-niceAbove(first-low)-offset)
	}
	for i := range inner + 1 {
		edges = append(edges, first+float64(i)*width)
	}
	if high >= last {
		edges = append(edges, last+niceAbove(math.Nextafter(high-last, math.Inf(1)))+offset)
	}
	h = new(Histogram)
	h.Original, clash = countIn(x, edges, first, width)
	h.Released, _ = countIn(y, edges, first, width)
	for _, e := range edges {
		h.Edges = append(h.Edges, Float(e))
	}
	if !h.mergeSmall() {
		return nil, clash
	}
	return h, clash
}

// niceAbove returns the least of the numbers 1, 2 and 5 times a power of ten that exceeds v > 0.
func niceAbove(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	// The logarithm is rounded, and that of 1000 is below 3: the search begins one power lower.
	for k := math.Floor(math.Log10(v)) - 1; ; k++ {
		for _, m := range []float64{1, 2, 5} {
			if nice := m * math.Pow(10, k); nice > v {
				return nice
			}
		}
	}
}

// halfStep returns half a unit of the last decimal of the values, or half the width of the bins
// if that is less; 0 if the values are on no decimal grid, since a value is then an edge by
// chance only.
func halfStep(x []float64, width float64) float64 {
	d := decimals.Of(x, 0)
	if d < 0 {
		return 0
	}
	return min(math.Pow(10, -float64(d)), width) / 2
}

// countIn counts values in bins. The inner edges are width apart, so that a division finds the
// bin up to rounding. clash says that a value is an edge.
func countIn(v, edges []float64, first, width float64) (counts []int, clash bool) {
	counts = make([]int, len(edges)-1)
	offset := 0
	if edges[0] < first {
		offset = 1
	}
	top := float64(len(counts) - 1)
	for _, x := range v {
		i := int(max(0, min(math.Floor((x-first)/width)+float64(offset), top)))
		for i > 0 && x < edges[i] {
			i--
		}
		for i < len(counts)-1 && x >= edges[i+1] {
			i++
		}
		counts[i]++
		clash = clash || x == edges[i]
	}
	return counts, clash
}

// mergeSmall merges bins until each is empty or has enough values on either side that is not empty.
// It reports whether that was possible.
func (h *Histogram) mergeSmall() bool {
	enough := func(n int) bool { return n == 0 || n >= leastInBin }
	edges, original, released := h.Edges[:1], h.Original[:0], h.Released[:0]
	var x, y int
	open := false
	for i, e := range h.Edges[1:] {
		x, y = x+h.Original[i], y+h.Released[i]
		if open = !enough(x) || !enough(y); !open {
			edges, original, released = append(edges, e), append(original, x), append(released, y)
			x, y = 0, 0
		}
	}
	for open && len(original) > 0 {
		// The remaining values go into the last bin, and with them more bins if that is necessary.
		k := len(original) - 1
		x, y = x+original[k], y+released[k]
		original, released, edges = original[:k], released[:k], edges[:k+1]
		if open = !enough(x) || !enough(y); !open {
			edges, original, released = append(edges, h.Edges[len(h.Edges)-1]), append(original, x), append(released, y)
		}
	}
	h.Edges, h.Original, h.Released = edges, original, released
	return !open
}
