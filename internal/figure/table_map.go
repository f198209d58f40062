package figure

import (
	"fmt"
	"io"
	"math"
)

// TableMap is the R-U confidentiality map of tables (Duncan, Fienberg, Krishnan, Padman
// and Roehrig 2001, figure 3): R against U, both on log scales, a mark for each way to
// protect them.
type TableMap struct {
	Title      string
	Groups     []string // methods, distinguished by colours and shapes
	Points     []TablePoint
	MaxRisk    float64 // greatest admissible R; +Inf: no limit
	MinUtility float64 // least admissible U; 0: no limit
}

// TablePoint is one method of protection; R and U may be 0 and +Inf.
type TablePoint struct {
	Group                   int
	Text                    string
	R, U                    float64
	Admissible, Recommended bool
}

// TableMapSVG draws the map.
func TableMapSVG(m TableMap, o SVGOptions) []byte {
	f := newTableFrame(new(drawing), m, o)
	f.draw()
	return []byte(f.String())
}

// WriteTableMapPNG writes the same picture as PNG, with scale pixels per unit of the
// SVG.
func WriteTableMapPNG(w io.Writer, m TableMap, o SVGOptions, scale float64) error {
	o.Standalone = true
	f := newTableFrame(new(drawing), m, o)
	var err error
	if f.pixels, err = newRaster(float64(f.o.Width), float64(f.o.Height), scale); err != nil {
		return err
	}
	f.draw()
	return f.pixels.encode(w)
}

// tableFrame is the geometry of one map.
type tableFrame struct {
	*drawing
	m                        TableMap
	o                        SVGOptions
	left, right, top, bottom float64
	r, u                     logScale
}

// logScale is an axis in decades, with a lane for 0 and one for +Inf if they are needed.
type logScale struct {
	lo, hi             int
	zero, infinite     bool
	from, to           float64 // places of lo and hi
	zeroAt, infiniteAt float64
}

// laneWidth is the width of a lane for 0 or +Inf.
const laneWidth = 26.0

func newTableFrame(d *drawing, m TableMap, o SVGOptions) *tableFrame {
	o.fill()
	f := &tableFrame{drawing: d, m: m, o: o, left: 62, right: float64(o.Width) - 20, top: 34}
	f.bottom = float64(o.Height) - 52 - rowHeight*float64(legendRows(f.items(), float64(o.Width)))
	var rs, us []float64
	for _, p := range m.Points {
		rs, us = append(rs, p.R), append(us, p.U)
	}
	f.r, f.u = newLogScale(append(rs, m.MaxRisk), f.bottom, f.top, rs),
		newLogScale(append(us, m.MinUtility), f.left, f.right, us)
	return f
}

// newLogScale returns a scale that covers all finite values above 0, with lanes for the
// values 0 and +Inf of marked.
func newLogScale(values []float64, from, to float64, marked []float64) logScale {
	s := logScale{lo: math.MaxInt, hi: math.MinInt, from: from, to: to}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			s.lo, s.hi = min(s.lo, int(math.Floor(math.Log10(v)))), max(s.hi, int(math.Ceil(math.Log10(v))))
		}
	}
	if s.lo > s.hi {
		s.lo, s.hi = 0, 0
	}
	if s.lo == s.hi {
		s.lo, s.hi = s.lo-1, s.hi+1
	}
	for _, v := range marked {
		s.zero, s.infinite = s.zero || v == 0, s.infinite || math.IsInf(v, 1)
	}
	way := math.Copysign(1, to-from)
	if s.zero {
		s.zeroAt, s.from = from+way*laneWidth/2, from+way*laneWidth
	}
	if s.infinite {
		s.infiniteAt, s.to = to-way*laneWidth/2, to-way*laneWidth
	}
	return s
}

func (s *logScale) at(v float64) float64 {
	switch {
	case math.IsInf(v, 1):
		return s.infiniteAt
	case v <= 0:
		return s.zeroAt
	}
	return s.from + (s.to-s.from)*(math.Log10(v)-float64(s.lo))/float64(s.hi-s.lo)
}

// ticks returns the decades, or fewer if there are many.
func (s *logScale) ticks() (list []int) {
	for d := s.lo; d <= s.hi; d += (s.hi-s.lo)/9 + 1 {
		list = append(list, d)
	}
	return list
}

func (f *tableFrame) draw() {
	fmt.Fprintf(f,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure ru" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="%s">`,
		f.o.Width, f.o.Height, f.o.Width, f.o.Height, escaped(f.m.Title+". The table of points holds the same numbers."))
	if f.o.Standalone {
		fmt.Fprintf(f, `<title>%s</title><style>%s</style>`, escaped(f.m.Title), figureCSS)
		f.rect("paper", 0, 0, float64(f.o.Width), float64(f.o.Height))
	}
	f.rect("plot", f.left, f.top, f.right-f.left, f.bottom-f.top)
	f.axes()
	f.limits()
	for _, last := range []bool{false, true} { // the recommended point on top
		for _, p := range f.m.Points {
			if p.Recommended == last {
				f.point(p)
			}
		}
	}
	f.legend(f.items(), float64(f.o.Width), f.bottom+62)
	f.WriteString("</svg>")
	if f.o.Standalone {
		f.WriteByte('\n')
	}
}

// limits shades the region that both limits admit.
func (f *tableFrame) limits() {
	risk, utility := !math.IsInf(f.m.MaxRisk, 1), f.m.MinUtility > 0
	if !risk && !utility {
		return
	}
	top, left := f.top, f.left
	if risk {
		top = f.r.at(f.m.MaxRisk)
	}
	if utility {
		left = f.u.at(f.m.MinUtility)
	}
	f.rect("admissible", left, top, f.right-left, f.bottom-top)
	if risk {
		f.line("threshold", f.left, top, f.right, top)
		f.text("limit", "start", f.left+6, top-6, "R ≤ "+Pretty(f.m.MaxRisk, RiskDigits))
	}
	if utility {
		f.line("threshold", left, f.top, left, f.bottom)
		f.text("limit", "start", left+6, f.bottom-8, "U ≥ "+Pretty(f.m.MinUtility, RiskDigits))
	}
}

func (f *tableFrame) axes() {
	for _, d := range f.r.ticks() {
		y := f.r.at(math.Pow(10, float64(d)))
		f.line("grid", f.left, y, f.right, y)
		f.text("tick", "end", f.left-8, y+4, power(d))
	}
	for _, d := range f.u.ticks() {
		x := f.u.at(math.Pow(10, float64(d)))
		f.line("nib", x, f.bottom, x, f.bottom+4)
		f.text("tick", "middle", x, f.bottom+18, power(d))
	}
	for _, l := range []struct {
		there bool
		y     float64
		text  string
	}{{f.r.infinite, f.r.infiniteAt, "∞"}, {f.r.zero, f.r.zeroAt, "0"}} {
		if l.there {
			f.text("tick", "end", f.left-8, l.y+4, l.text)
		}
	}
	for _, l := range []struct {
		there bool
		x     float64
		text  string
	}{{f.u.infinite, f.u.infiniteAt, "∞"}, {f.u.zero, f.u.zeroAt, "0"}} {
		if l.there {
			f.text("tick", "middle", l.x, f.bottom+18, l.text)
		}
	}
	f.rect("frame", f.left, f.top, f.right-f.left, f.bottom-f.top)
	f.text("axis", "start", 4, f.top-12, "↑ Disclosure risk R = 1/entropy")
	f.text("axis", "end", f.right, f.bottom+38, "Data utility U = 1/mean squared error →")
}

func (f *tableFrame) point(p TablePoint) {
	if !(p.R >= 0) || !(p.U >= 0) {
		return
	}
	x, y := f.u.at(p.U), f.r.at(p.R)
	what := fmt.Sprintf("%s: R = %s, U = %s", p.Text, Pretty(p.R, RiskDigits), Pretty(p.U, RiskDigits))
	class := fmt.Sprintf("c%d", p.Group%Colours+1)
	if !p.Admissible {
		what += "; the gate refuses it"
	}
	if p.Recommended {
		what += "; recommended"
	}
	f.open(class, fmt.Sprintf(` role="img" aria-label="%s"`, escaped(what)))
	fmt.Fprintf(f, `<title>%s</title>`, escaped(what))
	if p.Recommended {
		f.circle("pick", x, y, 9)
	}
	f.mark(p.Group, p.Admissible, x, y)
	f.close()
}

// mark draws the shape of a method: filled if the gate admits the point.
func (f *tableFrame) mark(group int, admissible bool, x, y float64) {
	class := "hollow"
	if admissible {
		class = "spot"
	}
	f.shape(class, []string{"index", "position", "mean"}[group%3], x, y, 4.5)
}

func (f *tableFrame) items() (items []legendItem) {
	for i, name := range f.m.Groups {
		items = append(items, legendItem{func(x, y float64) {
			f.open(fmt.Sprintf("c%d", i%Colours+1), "")
			f.mark(i, true, x+9, y)
			f.close()
		}, name})
	}
	return append(items, legendItem{func(x, y float64) {
		f.open("neutral", "")
		f.mark(0, false, x+9, y)
		f.close()
	}, "hollow: refused by the gate"})
}
