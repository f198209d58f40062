package figure

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// trails draws the earlier places of each point, from snapshot to snapshot, as a line
// through small dots to its present place.
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
			// A place with an infinite R is in another lane: a new line starts after it.
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

// labelled is the greatest number of points at one utility that have labels if a dot
// plot beside the map names all points; more labels would be stacked at one place.
const labelled = 8

// labelsLeft reports whether the points' labels are on the left of the points, which is
// so if there is more room there.
func (f *ruFrame) labelsLeft() bool {
	least, most := f.extent()
	return least-f.left >= f.right-most
}

// extent returns the x of the leftmost and of the rightmost point.
func (f *ruFrame) extent() (least, most float64) {
	if len(f.m.Points) == 0 {
		return f.right, f.right
	}
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range f.m.Points {
		least, most = math.Min(least, f.x(p.Efficiency)), math.Max(most, f.x(p.Efficiency))
	}
	return least, most
}

// points draws the marks and, in one column beside all of them, their labels in the
// same order, so that no leader crosses another one or a label.
func (f *ruFrame) points() {
	points, labels := f.sortedPoints(), f.captions().points
	for i, p := range points {
		f.point(p, labels[i])
	}
	if len(points) > 0 && !f.o.Still && !f.panel {
		f.hint()
	}
}

// sortedPoints returns the points from the top of the map downwards.
func (f *ruFrame) sortedPoints() []RUPoint {
	points := append([]RUPoint(nil), f.m.Points...)
	sort.SliceStable(points, func(i, j int) bool { return points[i].R > points[j].R })
	return points
}

// caption is a text within the plot; "" for none.
type caption struct {
	text   string
	anchor string
	x, y   float64
	bend   float64 // of a point's caption: x at which its leader leaves the height of the mark
}

// captions holds the labels of a map's points and thresholds, in the order of
// sortedPoints and sortedLines.
type captions struct{ points, limits []caption }

func (f *ruFrame) captions() captions {
	lines := f.sortedLines()
	c := captions{f.pointLabels(), make([]caption, len(lines))}
	// The labels of the thresholds are at the end of their lines where the points are
	// not, on the side of the points' labels.
	anchor, x := "start", f.left+6
	if !f.labelsLeft() {
		anchor, x = "end", f.right-6
	}
	widest := 0.0
	for i, l := range lines {
		c.limits[i] = caption{text: f.limitText(l), anchor: anchor, x: x, y: f.y(l.R) - 6}
		widest = math.Max(widest, 6.9*float64(Cells(c.limits[i].text)))
	}
	// Of two lines close together the lower one is labelled below.
	if n := len(lines); n > 1 && f.y(lines[n-1].R)-f.y(lines[n-2].R) < 18 && f.y(lines[n-1].R) < f.bottom-40 {
		c.limits[n-1].y = f.y(lines[n-1].R) + 14
	}
	room := math.Inf(1)
	for _, p := range c.points {
		if p.text != "" {
			room = math.Min(room, math.Abs(p.x-x)-6.4*float64(Cells(p.text)))
		}
	}
	var apart []*caption
	for i := range c.limits {
		apart = append(apart, &c.limits[i])
	}
	// The lowest line is reserved for the label of the least efficiency.
	low := f.bottom - 24
	if room < widest+8 {
		// They would overlap the points' labels, so all are arranged in one column, in
		// their order.
		apart = append(apart, c.labelled()...)
	} else {
		settle(c.labelled(), 17, f.top+14, low-2)
	}
	settle(apart, 15, f.top+12, low)
	return c
}

// labelled returns the points' labels that have text.
func (c *captions) labelled() (list []*caption) {
	for i := range c.points {
		if c.points[i].text != "" {
			list = append(list, &c.points[i])
		}
	}
	return list
}

// settle moves captions apart to at least gap, within [lo, hi].
func settle(list []*caption, gap, lo, hi float64) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].y < list[j].y })
	want := make([]float64, len(list))
	for i, c := range list {
		want[i] = c.y
	}
	for i, y := range spread(want, gap, lo, hi) {
		list[i].y = y
	}
}

// pointLabels returns the labels of the points, each at the height of its mark.
func (f *ruFrame) pointLabels() []caption {
	points := f.sortedPoints()
	list := make([]caption, len(points))
	side, anchor, leader := 1.0, "start", 52.0
	least, edge := f.extent()
	room := f.right - edge
	if f.labelsLeft() {
		side, anchor, edge = -1, "end", least
		room = edge - f.left
	}
	if f.slim {
		leader = 36
	}
	if f.o.Beside && room < leader+40 {
		return list // the marks fill the whole width; the dot plot names them
	}
	for i, p := range points {
		if !f.named(points, i) {
			continue
		}
		s := Cut(p.Target, longestWord) + ", " + Cut(p.Knowledge, longestWord)
		if !f.slim {
			s += "  ± " + Pretty(1/math.Sqrt(p.R), RiskDigits)
		}
		if p.Failed {
			s = "✗ " + s
		}
		list[i] = caption{Cut(s, max(3, int((room-leader-8)/6.4))), anchor, edge + side*(leader+4), f.y(p.R) + 4,
			edge + side*12}
	}
	return list
}

// named reports whether the i-th point has a label. Without a dot plot beside the map
// all points have one. With a dot plot, no point of a slim map has one, and of more
// than labelled points only failed ones and those with the greatest and the least risk.
func (f *ruFrame) named(points []RUPoint, i int) bool {
	switch {
	case !f.o.Beside:
		return true
	case f.slim:
		return false
	case len(points) <= labelled:
		return true
	}
	if i == 0 || i == len(points)-1 {
		return true
	}
	failed := 0
	for _, p := range points[:i] {
		if p.Failed {
			failed++
		}
	}
	return points[i].Failed && failed < labelled-2
}

func (f *ruFrame) point(p RUPoint, label caption) {
	x, y := f.x(p.Efficiency), f.y(p.R)
	known := "known to ± " + Pretty(1/math.Sqrt(p.R), RiskDigits)
	if f.m.Unit != "" {
		known += " " + f.m.Unit
	}
	what := fmt.Sprintf("%s, %s: R = %s, %s, efficiency %s", p.Target, p.Knowledge, Pretty(p.R, RiskDigits), known,
		Percent(p.Efficiency))
	class := f.reached("")
	if p.Failed {
		class = f.reached("failed")
		what += "; above its threshold"
	}
	focus := ""
	if !f.o.Still {
		focus = ` tabindex="0"`
	}
	f.open(class, fmt.Sprintf(` role="img"%s aria-label="%s"`, focus, escaped(what)))
	fmt.Fprintf(f, `<title>%s</title>`, escaped(what))
	if label.text != "" {
		gap := math.Copysign(4, label.x-label.bend)
		var line outline
		line.move(x, y)
		line.to(label.bend, y)
		line.to(label.x-gap, label.y-4)
		f.path("leader", &line)
	}
	f.circle("halo", x, y, 10)
	f.marker(p.Knowledge, x, y, 5)
	if label.text != "" {
		f.text("label", label.anchor, label.x, label.y, label.text)
	}
	if !f.o.Still {
		f.detail(p, known)
	}
	f.close()
}

// detail draws the line above the map that is shown while a mark has the focus.
func (f *ruFrame) detail(p RUPoint, known string) {
	target, knowledge := Cut(p.Target, longestWord), Cut(p.Knowledge, longestWord)
	s := fmt.Sprintf("%s, %s: R = %s, %s", target, knowledge, Pretty(p.R, RiskDigits), known)
	if f.slim {
		s = fmt.Sprintf("%s, %s: %s", target, knowledge, strings.TrimPrefix(known, "known to "))
	}
	f.text("detail", "start", 4, 18, s)
}
