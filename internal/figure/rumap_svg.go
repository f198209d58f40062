package figure

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

// SVGOptions say how a map is drawn. Zero sizes stand for 720 × 480.
type SVGOptions struct {
	Width, Height int
	ID            string // prefix of element ids, unique within a page
	// Standalone makes a file of its own: with its styles, and nothing that
	// needs a pointer or a keyboard.
	Standalone bool
}

// longestWord is the greatest width of a unit or a target in a figure, in characters.
const longestWord = 18

// narrow is the width below which labels are shortened.
const narrow = 520

// ruFrame is the geometry of one map.
type ruFrame struct {
	drawing
	m                        RUMap
	o                        SVGOptions
	left, right, top, bottom float64 // of the plot
	lane                     float64 // y of infinite R; 0: none
	lo, hi                   int     // decades of R
	maxU                     float64
	slim                     bool
}

// RUMapSVG draws the map: efficiency to the right, R upwards on a log scale with
// the error it means in the column's unit on the other side, one mark for each
// target and knowledge state, the gate's thresholds, and the region admissible
// to all of them shaded.
func RUMapSVG(m RUMap, o SVGOptions) []byte {
	f := newRUFrame(m, o)
	f.draw()
	return []byte(f.String())
}

// WriteRUMapPNG draws the same picture in pixels, as a file of its own in the light
// colours, with scale pixels to the SVG's unit. It returns an error for more than 64
// million pixels.
func WriteRUMapPNG(w io.Writer, m RUMap, o SVGOptions, scale float64) error {
	o.Standalone = true
	f := newRUFrame(m, o)
	var err error
	if f.pixels, err = newRaster(float64(f.o.Width), float64(f.o.Height), scale); err != nil {
		return err
	}
	f.draw()
	return f.pixels.encode(w)
}

func newRUFrame(m RUMap, o SVGOptions) *ruFrame {
	if o.Width == 0 {
		o.Width = 720
	}
	if o.Height == 0 {
		o.Height = 480
	}
	if o.ID == "" {
		o.ID = "ru"
	}
	m = m.drawable()
	m.Unit = Cut(m.Unit, longestWord)
	f := &ruFrame{m: m, o: o, slim: o.Width < narrow}
	f.lo, f.hi = m.rangeR()
	f.maxU = m.rangeU()
	f.left, f.right = 62, float64(o.Width)-62
	if f.slim {
		f.left, f.right = 44, float64(o.Width)-54
	}
	f.top = 54
	switch {
	case o.Standalone:
		f.top = 34 // without the line for what has the focus
	case len(m.Settings) > 0:
		f.top = 74 // with a second one for the mark
	}
	f.bottom = float64(o.Height) - 48 - 20*float64(f.legendRows())
	if m.unbounded() {
		f.lane = f.top + 12
	}
	return f
}

func (f *ruFrame) draw() {
	f.head()
	f.region()
	f.axes()
	f.curves()
	f.thresholds()
	f.trails()
	f.settings()
	f.points()
	f.legend()
	f.WriteString("</svg>")
	if f.o.Standalone {
		f.WriteByte('\n')
	}
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

// height is the place of a power of ten of R, also beyond the plot.
func (f *ruFrame) height(exponent float64) float64 {
	top := f.top
	if f.lane != 0 {
		top += 36
	}
	return f.bottom - (f.bottom-top)*(exponent-float64(f.lo))/float64(f.hi-f.lo)
}

func (f *ruFrame) head() {
	title := "R-U confidentiality map of " + f.m.Column
	fmt.Fprintf(f, `<svg xmlns="http://www.w3.org/2000/svg" class="figure ru" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="%s">`,
		f.o.Width, f.o.Height, f.o.Width, f.o.Height, escaped(title+". The table of risks holds the same numbers."))
	if f.o.Standalone {
		fmt.Fprintf(f, `<title>%s</title><style>%s</style>`, escaped(title), figureCSS)
		f.rect("paper", 0, 0, float64(f.o.Width), float64(f.o.Height))
	}
	f.define(f.plot())
	f.rect("plot", f.left, f.top, f.right-f.left, f.bottom-f.top)
}

// plot is the area of the curves.
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
		f.text("tick", "end", f.left-8, y+4, "10"+superscripts.Replace(strconv.Itoa(d)))
	}
	if f.lane != 0 {
		f.line("lane", f.left, f.lane+16, f.right, f.lane+16)
		f.text("tick", "end", f.left-8, f.lane+5, "∞")
		f.text("tick", "start", f.right+8, f.lane+5, "± 0")
	}
	for _, rmse := range f.errorTicks() {
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
	if f.m.Unit != "" && (!f.slim || len(f.m.Unit) <= 8) {
		known += " " + f.m.Unit
	}
	f.text("axis", "start", 4, f.top-12, "↑ "+risk)
	f.text("axis", "end", float64(f.o.Width)-4, f.top-12, known)
	utility := "Data utility: efficiency U/U₀, % →"
	f.text("axis", "end", f.right, f.bottom+38, utility)
}

// errorTicks are values of √(1/R) of the form 1, 2 or 5 times a power of ten
// within the map; fewer where they would crowd.
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
	lines := append([]RULine(nil), f.m.Lines...)
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].R > lines[j].R })
	want := make([]float64, len(lines))
	for i, l := range lines {
		want[i] = f.y(l.R) - 6
		f.line("threshold", f.left, f.y(l.R), f.right, f.y(l.R))
	}
	// Of two lines close together the lower one is labelled below.
	if n := len(lines); n > 1 && f.y(lines[n-1].R)-f.y(lines[n-2].R) < 18 && f.y(lines[n-1].R) < f.bottom-40 {
		want[n-1] = f.y(lines[n-1].R) + 14
	}
	// The labels of the points stand on the emptier side; these on the other.
	anchor, x := "start", f.left+6
	if !f.labelsLeft() {
		anchor, x = "end", f.right-6
	}
	for i, y := range spread(want, 15, f.top+12, f.bottom-24) {
		l := lines[i]
		s := l.Subject() + " ≤ " + Pretty(l.R, RiskDigits)
		if f.slim {
			s = "≤ " + Pretty(l.R, 2)
		}
		f.text("limit", anchor, x, y, s)
	}
}

// Subject names the targets and knowledge states that a threshold is for.
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

// labelsLeft says whether the points' labels stand left of them, which they do
// where the points are in the right half.
func (f *ruFrame) labelsLeft() bool {
	for _, p := range f.m.Points {
		return f.x(p.Efficiency) > (f.left+f.right)/2
	}
	return true
}

// trails draws where each point was before, from snapshot to snapshot, as a line
// through small dots up to where it is.
func (f *ruFrame) trails() {
	for _, p := range f.m.Points {
		var way outline
		var dots []point
		begin := true
		next := func(x, y float64) {
			if begin {
				way.move(x, y)
			} else {
				way.to(x, y)
			}
			begin = false
		}
		for _, t := range p.Trail {
			// A place without a finite R is in another lane: the line starts anew after it.
			if !t.drawable() || math.IsInf(t.R, 1) {
				begin = true
				continue
			}
			next(f.x(t.Efficiency), f.y(t.R))
			dots = append(dots, point{f.x(t.Efficiency), f.y(t.R)})
		}
		if len(dots) == 0 {
			continue
		}
		if !math.IsInf(p.R, 1) {
			next(f.x(p.Efficiency), f.y(p.R))
		}
		f.open("trail "+KnowledgeClass(p.Knowledge), "")
		f.path("way", &way)
		for _, d := range dots {
			f.circle("", d.x, d.y, 1.8)
		}
		f.close()
	}
}

func (f *ruFrame) points() {
	points := append([]RUPoint(nil), f.m.Points...)
	sort.SliceStable(points, func(i, j int) bool { return points[i].R > points[j].R })
	want := make([]float64, len(points))
	for i, p := range points {
		want[i] = f.y(p.R)
	}
	// The line at the foot belongs to the label of the least efficiency.
	labels := spread(want, 17, f.top+10, f.bottom-30)
	side, anchor, leader := 1.0, "start", 52.0
	if f.slim {
		leader = 36
	}
	if f.labelsLeft() {
		side, anchor = -1, "end"
	}
	for i, p := range points {
		x, y := f.x(p.Efficiency), f.y(p.R)
		known := "known to ± " + Pretty(1/math.Sqrt(p.R), RiskDigits)
		if f.m.Unit != "" {
			known += " " + f.m.Unit
		}
		what := fmt.Sprintf("%s, %s: R = %s, %s, efficiency %s", p.Target, p.Knowledge, Pretty(p.R, RiskDigits), known, Percent(p.Efficiency))
		class, mark := "pt", ""
		if p.Failed {
			class, mark = "pt failed", "✗ "
			what += "; above its threshold"
		}
		focus := ""
		if !f.o.Standalone {
			focus = ` tabindex="0"`
		}
		f.open(class, fmt.Sprintf(` role="img"%s aria-label="%s"`, focus, escaped(what)))
		fmt.Fprintf(f, `<title>%s</title>`, escaped(what))
		var line outline
		line.move(x, y)
		line.to(x+side*12, y)
		line.to(x+side*leader, labels[i])
		f.path("leader", &line)
		f.circle("halo", x, y, 10)
		f.marker(p.Knowledge, x, y, 5)
		s := Cut(p.Target, longestWord) + ", " + Cut(p.Knowledge, longestWord)
		if !f.slim {
			s += "  ± " + Pretty(1/math.Sqrt(p.R), RiskDigits)
		}
		f.text("label", anchor, x+side*(leader+4), labels[i]+4, mark+s)
		if !f.o.Standalone {
			f.detail(p, known)
		}
		f.close()
	}
	if !f.o.Standalone {
		f.text("hint", "start", 4, 18, "Point at a mark, or tab to it, for its numbers.")
	}
}

// detail is the line above the map that shows while a mark has the focus.
func (f *ruFrame) detail(p RUPoint, known string) {
	target, knowledge := Cut(p.Target, longestWord), Cut(p.Knowledge, longestWord)
	s := fmt.Sprintf("%s, %s: R = %s, %s", target, knowledge, Pretty(p.R, RiskDigits), known)
	if f.slim {
		s = fmt.Sprintf("%s, %s: %s", target, knowledge, strings.TrimPrefix(known, "known to "))
	}
	f.text("detail", "start", 4, 18, s)
}

// legendItem is one entry below the map.
type legendItem struct {
	draw func(x, y float64)
	text string
}

func (f *ruFrame) legendItems() []legendItem {
	var items []legendItem
	meaning := []struct{ knowledge, text string }{
		{"index", "index: which record is the target’s"},
		{"position", "position: the target’s rank"},
		{"mean", "mean: only that it is in the data"},
		{"order", "order: the records in the source’s order"},
	}
	for _, k := range meaning {
		for _, p := range f.m.Points {
			if p.Knowledge == k.knowledge {
				items = append(items, legendItem{func(x, y float64) { f.marker(k.knowledge, x+9, y, 5) }, k.text})
				break
			}
		}
	}
	if len(f.m.Lines) > 0 || f.m.MinEfficiency > 0 {
		items = append(items, legendItem{func(x, y float64) { f.rect("admissible swatch", x, y-6, 18, 12) }, "admissible to every rule"})
	}
	for _, c := range f.m.Curves {
		if c.Style.Colour == 0 {
			items = append(items, legendItem{func(x, y float64) { f.line("curve", x, y, x+18, y) }, c.Label})
		}
	}
	return append(items, f.keys()...)
}

// legendPlaces gives the x and row of each entry, filling rows in order.
func (f *ruFrame) legendPlaces() (xs []float64, rows []int) {
	x, row := 0.0, 0
	limit := float64(f.o.Width) - 8
	for _, item := range f.legendItems() {
		w := 26 + 6.1*float64(len([]rune(item.text))) + 18
		if x > 0 && x+w-18 > limit {
			x, row = 0, row+1
		}
		xs, rows = append(xs, 6+x), append(rows, row)
		x += w
	}
	return xs, rows
}

func (f *ruFrame) legendRows() int {
	_, rows := f.legendPlaces()
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1] + 1
}

func (f *ruFrame) legend() {
	xs, rows := f.legendPlaces()
	for i, item := range f.legendItems() {
		y := f.bottom + 62 + 20*float64(rows[i])
		item.draw(xs[i], y-4)
		f.text("legend", "start", xs[i]+26, y, item.text)
	}
}
