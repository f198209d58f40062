package figure

import (
	"cmp"
	"math"
	"sort"
	"strconv"
)

// SVGOptions are the options of a drawing. Zero sizes of a map stand for 720 × 480.
type SVGOptions struct {
	Width, Height int
	ID            string // prefix of element ids, unique within a page
	// Standalone makes a separate file: with its styles, and without elements that need
	// a pointer or a keyboard.
	Standalone bool
	// Still omits elements that need a pointer or a keyboard: for print.
	Still bool
	// Beside is true if a dot plot beside the map names its marks (RiskDotsSVG), so
	// that only a few of many marks at one utility need labels.
	Beside bool
}

// longestWord is the greatest width of a unit or a target in a figure, in characters.
const longestWord = 18

// narrow is the width below which labels are shortened.
const narrow = 520

// ruFrame is the geometry of one map.
type ruFrame struct {
	*drawing
	panel                    bool // one of several maps in a picture with one legend
	m                        RUMap
	o                        SVGOptions
	left, right, top, bottom float64 // of the plot
	lane                     float64 // y of infinite R; 0: none
	lo, hi                   int     // decades of R
	maxU                     float64
	slim                     bool
}

// RUMapSVG draws the map: efficiency to the right, R upwards on a log scale with the
// corresponding error in the column's unit on the other side, one mark for each target
// and knowledge state, the gate's thresholds, and the region that satisfies all of them
// shaded.
func RUMapSVG(m RUMap, o SVGOptions) []byte { return RUMapsSVG([]RUMap{m}, o) }

func (o *SVGOptions) fill() {
	if o.Width == 0 {
		o.Width = 720
	}
	if o.Height == 0 {
		o.Height = 480
	}
	if o.ID == "" {
		o.ID = "ru"
	}
	o.Still = o.Still || o.Standalone
}

// newRUFrame returns the frame of a map, either one of several (panel) or the only one
// of a picture.
func newRUFrame(d *drawing, m RUMap, o SVGOptions, panel bool) *ruFrame {
	m = m.drawable()
	m.Unit = Isolated(Cut(m.Unit, longestWord))
	f := &ruFrame{drawing: d, panel: panel, m: m, o: o, slim: o.Width < narrow}
	f.lo, f.hi = m.rangeR()
	f.maxU = m.rangeU()
	f.left, f.right = 62, float64(o.Width)-62
	if f.slim {
		f.left, f.right = 44, float64(o.Width)-54
	}
	f.top = 54
	switch {
	case o.Still:
		f.top = 34 // without the line for the mark that has the focus
	case len(m.Settings) > 0:
		f.top = 74 // with a second line for that mark
	}
	f.bottom = float64(o.Height) - 48
	if !panel {
		f.bottom -= rowHeight * float64(legendRows(f.legendItems(), float64(o.Width)))
	}
	if m.unbounded() {
		f.lane = f.top + 12
	}
	return f
}

// draw draws everything except the head, the legend and the end of the picture.
func (f *ruFrame) draw() {
	f.define(f.plot())
	f.rect("plot", f.left, f.top, f.right-f.left, f.bottom-f.top)
	f.region()
	f.axes()
	f.curves()
	f.thresholds()
	f.trails()
	f.settings()
	f.points()
}

func (f *ruFrame) x(efficiency float64) float64 {
	return f.left + (f.right-f.left)*min(max(efficiency, 0), f.maxU)/f.maxU
}

func (f *ruFrame) y(r float64) float64 {
	if math.IsInf(r, 1) {
		return f.lane
	}
	return f.height(min(max(math.Log10(r), float64(f.lo)), float64(f.hi)))
}

// height returns the y of a power of ten of R, also outside the plot.
func (f *ruFrame) height(exponent float64) float64 {
	top := f.top
	if f.lane != 0 {
		top += 36
	}
	return f.bottom - (f.bottom-top)*(exponent-float64(f.lo))/float64(f.hi-f.lo)
}

// plot returns the area of the curves.
func (f *ruFrame) plot() area {
	return area{f.o.ID + "-clip", f.left, f.top, f.right - f.left, f.bottom - f.top}
}

func (f *ruFrame) region() {
	limit, lines := f.m.AdmissibleR()
	if !lines && f.m.MinEfficiency == 0 {
		return
	}
	top := f.top
	if lines {
		top = f.y(limit)
	}
	x := f.x(f.m.MinEfficiency)
	f.rect("admissible", x, top, f.right-x, f.bottom-top)
}

func (f *ruFrame) axes() {
	for d := f.lo; d <= f.hi; d += (f.hi-f.lo)/12 + 1 {
		y := f.y(math.Pow(10, float64(d)))
		f.line("grid", f.left, y, f.right, y)
		f.text("tick", "end", f.left-8, y+4, power(d))
	}
	if f.lane != 0 {
		f.line("lane", f.left, f.lane+16, f.right, f.lane+16)
		f.text("tick", "end", f.left-8, f.lane+5, "∞")
		if f.m.Risk == "" {
			f.text("tick", "start", f.right+8, f.lane+5, "± 0")
		}
	}
	for _, rmse := range f.errorTicks() {
		if f.m.Risk != "" {
			break
		}
		y := f.y(1 / (rmse * rmse))
		f.line("nib", f.right, y, f.right+4, y)
		f.text("tick", "start", f.right+8, y+4, Trimmed(rmse))
	}
	step := 0.2
	if f.maxU > 1.6 {
		step = 0.5
	}
	for i := 0; float64(i)*step <= f.maxU+1e-9; i++ {
		u := float64(i) * step
		f.line("nib", f.x(u), f.bottom, f.x(u), f.bottom+4)
		if f.slim && i%2 == 1 && step == 0.2 && i != 5 {
			continue
		}
		f.text("tick", "middle", f.x(u), f.bottom+18, strconv.Itoa(int(math.Round(100*u))))
	}
	f.rect("frame", f.left, f.top, f.right-f.left, f.bottom-f.top)
	risk, known := "Disclosure risk R", "Known to ±"
	if unit := RiskUnit(f.m.Unit); unit != "" && !f.slim {
		risk += ", " + unit
	}
	if f.m.Unit != "" && (!f.slim || Cells(f.m.Unit) <= 8) {
		known += " " + f.m.Unit
	}
	f.text("axis", "start", 4, f.top-12, "↑ "+cmp.Or(f.m.Risk, risk))
	if f.m.Risk == "" {
		f.text("axis", "end", float64(f.o.Width)-4, f.top-12, known)
	}
	utility := cmp.Or(f.m.Utility, "Data utility: efficiency U/U₀, %") + " →"
	f.text("axis", "end", f.right, f.bottom+38, utility)
}

// power formats 10 to a whole exponent.
func power(exponent int) string { return "10" + superscripts.Replace(strconv.Itoa(exponent)) }

// errorTicks are values of √(1/R) of the form 1, 2 or 5 times a power of ten
// within the map, fewer if they would be too dense.
func (f *ruFrame) errorTicks() []float64 {
	least, most := -float64(f.hi)/2, -float64(f.lo)/2
	steps := []float64{1, 2, 5}
	apart := math.Floor((most-least)/10) + 1 // decades between ticks
	if (f.bottom-f.top)/(most-least)*0.3 < 20 {
		steps = []float64{1}
	}
	var ticks []float64
	for d := math.Floor(least); d <= most; d += apart {
		for _, s := range steps {
			if v := s * math.Pow(10, d); math.Log10(v) >= least-1e-9 && math.Log10(v) <= most+1e-9 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

func (f *ruFrame) thresholds() {
	if u := f.m.MinEfficiency; u > 0 {
		f.line("threshold", f.x(u), f.top, f.x(u), f.bottom)
		s := "at least " + Percent(u)
		if f.slim {
			s = "≥ " + Percent(u)
		}
		anchor, x := "end", f.x(u)-6
		if f.x(u)-f.left < 110 {
			anchor, x = "start", f.x(u)+6
		}
		f.text("limit", anchor, x, f.bottom-8, s)
	}
	lines := f.sortedLines()
	for _, l := range lines {
		f.line("threshold", f.left, f.y(l.R), f.right, f.y(l.R))
	}
	for i, p := range f.captions().limits {
		f.text("limit", p.anchor, p.x, p.y, Cut(f.limitText(lines[i]), int((f.right-f.left-12)/6.9)))
	}
}

// sortedLines returns the thresholds from the top of the map downwards.
func (f *ruFrame) sortedLines() []RULine {
	lines := append([]RULine(nil), f.m.Lines...)
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].R > lines[j].R })
	return lines
}

func (f *ruFrame) limitText(l RULine) string {
	if f.slim {
		return "≤ " + Pretty(l.R, 2)
	}
	return l.Subject() + " ≤ " + Pretty(l.R, RiskDigits)
}

// Subject returns the targets and knowledge states of a threshold as text.
func (l RULine) Subject() string {
	s := Cut(l.Target, longestWord)
	if s == "" {
		s = "every target"
	}
	if l.Knowledge != "" {
		s += ", " + Cut(l.Knowledge, longestWord)
	}
	return s
}
