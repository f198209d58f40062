package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// drawnShare is the least share of respondents whose bins a histogram shows on its
// axis, because the few respondents in long tails would compress all other bins into a
// corner. Undrawn bins are named below the histogram and listed in the table.
const drawnShare = 0.98

// HistogramSVG draws the original distribution as filled bars and the released
// one as an outline over them, by density, because bins differ in width. It returns nil
// if there is nothing to draw.
func HistogramSVG(c *assess.ColumnMeasures, width, height int) []byte {
	h := c.Histogram
	if !DrawableHistogram(h) {
		return nil
	}
	from, to := drawnBins(h)
	left, right, top, bottom := 12.0, float64(width)-12, 12.0, float64(height)-44
	lo, hi := float64(h.Edges[from]), float64(h.Edges[to])
	x := func(v float64) float64 { return left + (right-left)*(v-lo)/(hi-lo) }
	before, after := densities(h, h.Original), densities(h, h.Released)
	top1 := 0.0
	for i := from; i < to; i++ {
		top1 = math.Max(top1, math.Max(before[i], after[i]))
	}
	y := func(density float64) float64 { return bottom - (bottom-top)*density/top1 }

	var d drawing
	title := "Distribution of " + c.Name +
		", original as filled bars and released as an outline. The table of bins holds the counts."
	fmt.Fprintf(&d,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure hist" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		width, height, width, height, escaped(title))
	for i := from; i < to; i++ {
		x0, x1 := x(float64(h.Edges[i])), x(float64(h.Edges[i+1]))
		gap := math.Min(1, (x1-x0)/8)
		d.rect("before", x0+gap/2, y(before[i]), x1-x0-gap, bottom-y(before[i]))
	}
	var path strings.Builder
	path.WriteString("M" + at(left) + " " + at(bottom))
	for i := from; i < to; i++ {
		path.WriteString("L" + at(x(float64(h.Edges[i]))) + " " + at(y(after[i])) + "H" + at(x(float64(h.Edges[i+1]))))
	}
	path.WriteString("L" + at(right) + " " + at(bottom))
	fmt.Fprintf(&d, `<path class="after" d="%s"/>`, path.String())
	for i := from; i < to; i++ {
		x0, x1 := x(float64(h.Edges[i])), x(float64(h.Edges[i+1]))
		what := fmt.Sprintf("%s to %s: original %s, released %s", Trimmed(float64(h.Edges[i])),
			Trimmed(float64(h.Edges[i+1])),
			Count(int64(h.Original[i])), Count(int64(h.Released[i])))
		fmt.Fprintf(&d, `<rect class="hit" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
			at(x0), at(top), at(x1-x0), at(bottom-top), escaped(what))
	}
	d.line("base", left, bottom, right, bottom)
	for _, v := range roundTicks(lo, hi, max(2, width/110)) {
		d.line("nib", x(v), bottom, x(v), bottom+4)
		anchor := "middle"
		if x(v) < left+16 {
			anchor = "start"
		} else if x(v) > right-16 {
			anchor = "end"
		}
		d.text("tick", anchor, x(v), bottom+18, Trimmed(v))
	}
	if c.Unit != "" {
		d.text("axis", "end", right, bottom+36, Cut(c.Unit, longestWord))
	}
	d.rect("before", left, bottom+28, 18, 9)
	d.text("legend", "start", left+24, bottom+37, "original")
	fmt.Fprintf(&d, `<path class="after" d="M%s %sV%sH%sV%s"/>`, at(left+90), at(bottom+37), at(bottom+28), at(left+108),
		at(bottom+37))
	d.text("legend", "start", left+114, bottom+37, "released")
	d.WriteString("</svg>")
	return []byte(d.String())
}

// DrawableHistogram reports whether the parts of a histogram are consistent.
func DrawableHistogram(h *assess.Histogram) bool {
	if h == nil || len(h.Original) == 0 || len(h.Released) != len(h.Original) || len(h.Edges) != len(h.Original)+1 {
		return false
	}
	for i := range h.Original {
		if width := float64(h.Edges[i+1] - h.Edges[i]); !(width > 0) || math.IsInf(width, 0) {
			return false
		}
	}
	return sum(h.Original) > 0 || sum(h.Released) > 0
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// densities returns the shares of respondents per unit of the column.
func densities(h *assess.Histogram, counts []int) []float64 {
	total := math.Max(1, float64(sum(counts)))
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = float64(n) / total / float64(h.Edges[i+1]-h.Edges[i])
	}
	return out
}

// drawnBins returns the bins [from, to) to draw. It omits outer bins while they contain
// at most the undrawn share both before and after masking, the wider bin first, because
// it compresses the other bins most.
func drawnBins(h *assess.Histogram) (from, to int) {
	from, to = 0, len(h.Original)
	budget := func(counts []int) int { return int((1 - drawnShare) * float64(sum(counts))) }
	before, after := budget(h.Original), budget(h.Released)
	width := func(i int) float64 { return float64(h.Edges[i+1] - h.Edges[i]) }
	for to-from > 2 {
		i := from
		if width(to-1) >= width(from) {
			i = to - 1
		}
		// A bin narrower than a twentieth of the drawn range does not compress the
		// others.
		if h.Original[i] > before || h.Released[i] > after || width(i) < float64(h.Edges[to]-h.Edges[from])/20 {
			break
		}
		before, after = before-h.Original[i], after-h.Released[i]
		if i == from {
			from++
		} else {
			to--
		}
	}
	return from, to
}

// Undrawn returns text that names the bins that HistogramSVG omits, with their counts;
// "" if it draws all.
func Undrawn(h *assess.Histogram) string {
	from, to := drawnBins(h)
	var left []string
	if from > 0 {
		left = append(left, fmt.Sprintf("%s original and %s released values below %s", Count(int64(sum(h.Original[:from]))),
			Count(int64(sum(h.Released[:from]))), Trimmed(float64(h.Edges[from]))))
	}
	if to < len(h.Original) {
		left = append(left, fmt.Sprintf("%s original and %s released values above %s", Count(int64(sum(h.Original[to:]))),
			Count(int64(sum(h.Released[to:]))), Trimmed(float64(h.Edges[to]))))
	}
	return strings.Join(left, " and ")
}

// roundTicks returns about n round values within [lo, hi].
func roundTicks(lo, hi float64, n int) []float64 {
	raw := (hi - lo) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, s := range []float64{10, 5, 2} {
		if raw >= s/2*step*1.01 {
			step *= s
			break
		}
	}
	var ticks []float64
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+step*1e-9; k++ {
		ticks = append(ticks, k*step)
		if len(ticks) > 50 { // the range is too narrow for its magnitude, such as 1e300 to 1e300+ε
			break
		}
	}
	return ticks
}
