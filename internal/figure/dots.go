package figure

import (
	"fmt"
	"math"
	"slices"
)

// dotFrame is the geometry of one dot plot.
type dotFrame struct {
	drawing
	m           RUMap
	o           SVGOptions
	left, right float64 // of the log axis
	lane        float64 // x of infinite R; 0: none
	lo, hi      int     // decades of R
	slim        bool
}

// Geometry of a dot plot, in units.
const (
	dotRow   = 18.0 // distance between lines
	dotApart = 7.0  // additional distance between targets
	dotTop   = 70.0 // top of the plot
)

// RiskDotsSVG draws the risks of a map whose points share one utility: a line for each
// target and state of knowledge, R to the right on a log scale, with the gate's limit
// on the same line. It complements the map, where the marks of one release are in one
// vertical line. The height depends on the number of points. It returns nil if there is
// nothing to draw.
func RiskDotsSVG(m RUMap, o SVGOptions) []byte {
	if o.Width == 0 {
		o.Width = 520
	}
	m = m.drawable()
	m.Unit = Isolated(Cut(m.Unit, longestWord))
	if len(m.Points) == 0 {
		return nil
	}
	points := byTarget(m.Points)
	f := &dotFrame{m: m, o: o, slim: o.Width < narrow}
	for i := range m.Points {
		m.Points[i].Trail = nil // trails are drawn on maps only
	}
	f.lo, f.hi = m.rangeR()
	names := 0
	for _, p := range points {
		names = max(names, Cells(f.name(p)))
	}
	f.left = 14 + 6.8*float64(names)
	f.right = float64(o.Width) - 74
	if !f.slim {
		f.left += 62
	}
	if m.unbounded() {
		f.lane = f.right - 10
		f.right -= 38
	}
	o.Height = int(dotTop + f.height(points) + 72)
	fmt.Fprintf(f,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure dots" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="%s">`,
		o.Width, o.Height, o.Width, o.Height,
		escaped("Disclosure risk of "+m.Column+" by target and knowledge. The table of risks holds the same numbers."))
	f.axis(dotTop, dotTop+f.height(points))
	y := dotTop - dotApart
	for i, p := range points {
		first := i == 0 || points[i-1].Target != p.Target
		y += dotRow
		if first {
			y += dotApart
		}
		f.row(p, y-dotRow/2, first)
	}
	f.hint()
	f.key(points, dotTop+f.height(points)+60)
	f.WriteString("</svg>")
	return []byte(f.String())
}

// byTarget groups the points by target, in the order of the first occurrence of the
// targets.
func byTarget(points []RUPoint) []RUPoint {
	var order []string
	for _, p := range points {
		if !slices.Contains(order, p.Target) {
			order = append(order, p.Target)
		}
	}
	out := slices.Clone(points)
	slices.SortStableFunc(out, func(a, b RUPoint) int {
		return slices.Index(order, a.Target) - slices.Index(order, b.Target)
	})
	return out
}

func (f *dotFrame) height(points []RUPoint) float64 {
	h := -dotApart
	for i, p := range points {
		h += dotRow
		if i == 0 || points[i-1].Target != p.Target {
			h += dotApart
		}
	}
	return h
}

func (f *dotFrame) name(p RUPoint) string {
	if f.slim {
		return Cut(p.Target, 10)
	}
	return Cut(p.Target, longestWord)
}

func (f *dotFrame) x(r float64) float64 {
	if math.IsInf(r, 1) {
		return f.lane
	}
	exponent := min(max(math.Log10(r), float64(f.lo)), float64(f.hi))
	return f.left + (f.right-f.left)*(exponent-float64(f.lo))/float64(f.hi-f.lo)
}

// end returns the right end of the plot, including the lane of infinite R.
func (f *dotFrame) end() float64 {
	if f.lane != 0 {
		return f.lane + 10
	}
	return f.right
}

func (f *dotFrame) axis(top, bottom float64) {
	f.rect("plot", f.left, top, f.end()-f.left, bottom-top)
	room := int((f.right - f.left) / 34)
	for d := f.lo; d <= f.hi; d += (f.hi-f.lo)/max(room, 1) + 1 {
		x := f.x(math.Pow(10, float64(d)))
		f.line("grid", x, top, x, bottom)
		f.text("tick", "middle", x, bottom+17, power(d))
	}
	if f.lane != 0 {
		f.line("lane", f.lane-12, top, f.lane-12, bottom)
		f.text("tick", "middle", f.lane, bottom+17, "∞")
	}
	f.rect("frame", f.left, top, f.end()-f.left, bottom-top)
	known := "known to"
	if f.m.Unit != "" && !f.slim {
		known += " ± " + f.m.Unit
	}
	f.text("axis", "end", float64(f.o.Width)-4, top-12, known)
	risk := "R"
	if !f.slim {
		risk = "Disclosure risk R"
		if unit := RiskUnit(f.m.Unit); unit != "" {
			risk += ", " + unit
		}
	}
	f.text("axis", "start", 4, top-12, "target")
	f.text("axis", "end", f.end(), bottom+34, risk+" →")
}

// limit returns the greatest R that the gate admits for a point; ok is false if there
// is no limit.
func (m *RUMap) limit(p RUPoint) (limit float64, ok bool) {
	limit = math.Inf(1)
	for _, l := range m.Lines {
		if (l.Target == "" || l.Target == p.Target) && (l.Knowledge == "" || l.Knowledge == p.Knowledge) {
			limit, ok = math.Min(limit, l.R), true
		}
	}
	return limit, ok
}

func (f *dotFrame) row(p RUPoint, y float64, first bool) {
	x := f.x(p.R)
	known := "± " + Pretty(1/math.Sqrt(p.R), RiskDigits)
	what := fmt.Sprintf("%s, %s: R = %s, known to %s", p.Target, p.Knowledge, Pretty(p.R, RiskDigits), known)
	if f.m.Unit != "" {
		what += " " + f.m.Unit
	}
	limit, judged := f.m.limit(p)
	if judged {
		what += "; the gate’s limit is " + Pretty(limit, RiskDigits)
	}
	class, sign := "pt", ""
	if p.Failed {
		class, sign = "pt failed", "✗ "
		what += ", which it does not keep"
	}
	f.open(class, fmt.Sprintf(` role="img" tabindex="0" aria-label="%s"`, escaped(what)))
	fmt.Fprintf(f, `<title>%s</title>`, escaped(what))
	if judged {
		f.rect("admissible", f.left, y-dotRow/2+1, f.x(limit)-f.left, dotRow-2)
	}
	f.line("grid", f.left, y, f.end(), y)
	if judged {
		f.line("gate", f.x(limit), y-dotRow/2, f.x(limit), y+dotRow/2)
	}
	f.circle("halo", x, y, 8)
	f.marker(p.Knowledge, x, y, 4.5)
	if first {
		f.text("label", "start", 4, y+4, f.name(p))
	}
	if !f.slim {
		f.text("tick", "end", f.left-8, y+4, Cut(p.Knowledge, 9))
	}
	f.text("label", "end", float64(f.o.Width)-4, y+4, sign+known)
	f.rect("hit", 0, y-dotRow/2, float64(f.o.Width), dotRow)
	f.text("detail", "start", 4, 18, Cut(what, int((float64(f.o.Width)-8)/7.2)))
	f.close()
}

// key draws the legend of the shapes and of the gate's line.
func (f *dotFrame) key(points []RUPoint, y float64) {
	x := 6.0
	entry := func(draw func(x, y float64), text string) {
		draw(x, y-4)
		f.text("legend", "start", x+16, y, text)
		x += 16 + 6.6*float64(Cells(text)) + 16
	}
	for _, k := range []string{"index", "position", "mean", "order"} {
		if slices.ContainsFunc(points, func(p RUPoint) bool { return p.Knowledge == k }) {
			entry(func(x, y float64) { f.marker(k, x+5, y, 4.5) }, k)
		}
	}
	if slices.ContainsFunc(points, func(p RUPoint) bool { _, ok := f.m.limit(p); return ok }) {
		entry(func(x, y float64) { f.line("gate", x+5, y-7, x+5, y+7) }, "the gate’s line")
	}
}
