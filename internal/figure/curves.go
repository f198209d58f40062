package figure

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// unbounded reports whether a mark of the map has an infinite R, which is drawn in a
// lane above the plot.
func (m *RUMap) unbounded() bool {
	for _, p := range m.Points {
		if math.IsInf(p.R, 1) {
			return true
		}
	}
	for _, s := range m.Settings {
		for _, k := range s.Marks {
			if math.IsInf(k.R, 1) {
				return true
			}
		}
	}
	return false
}

func (f *ruFrame) curves() {
	for _, c := range f.m.Curves {
		class := "curve"
		if c.Style.Colour > 0 {
			class = "series " + c.Style.class()
		}
		if line := f.polyline(c); !line.empty() {
			f.clipped(class, line, f.plot(), c.Label)
		}
	}
}

// polyline returns the path of a curve. Points more than one decade outside the plot
// are omitted; the decade on either side is kept so that the curve reaches the frame.
func (f *ruFrame) polyline(c RUCurve) *outline {
	line, begin := new(outline), true
	for i, r := range c.R {
		l := math.Log10(r)
		if math.IsNaN(c.Efficiency[i]) || !(l >= float64(f.lo)-1 && l <= float64(f.hi)+1) {
			begin = true
			continue
		}
		if begin {
			line.move(f.x(c.Efficiency[i]), f.height(l))
		} else {
			line.to(f.x(c.Efficiency[i]), f.height(l))
		}
		begin = false
	}
	return line
}

// settings draws the marks of each choice of parameters, the recommended one last, so
// that it is on top.
func (f *ruFrame) settings() {
	for _, s := range f.m.Settings {
		if !s.Recommended {
			f.setting(s)
		}
	}
	for _, s := range f.m.Settings {
		if s.Recommended {
			f.setting(s)
		}
	}
	if len(f.m.Settings) > 0 && len(f.m.Points) == 0 && !f.o.Still && !f.panel {
		f.hint()
	}
}

func (f *ruFrame) setting(s RUSetting) {
	class, focus := f.reached("setting"), ""
	if s.Recommended {
		class += " recommended"
	}
	if !f.o.Still {
		focus = ` tabindex="0"`
	}
	name := s.Name
	if s.Recommended {
		name = "Recommended: " + name
	}
	what := []string{name, "efficiency " + Percent(s.Efficiency)}
	if s.Note != "" {
		what = append(what, s.Note)
	}
	texts := append([]string(nil), what...)
	for _, k := range s.Marks {
		texts = append(texts, f.markText(k))
	}
	f.open(class, fmt.Sprintf(` role="img"%s aria-label="%s"`, focus, escaped(strings.Join(texts, "; "))))
	x := f.x(s.Efficiency)
	f.line("guide", x, f.top, x, f.bottom)
	for _, k := range s.Marks {
		f.mark(s, k, x)
	}
	if !f.o.Still {
		width := float64(f.o.Width) - 8
		f.text("detail", "start", 4, 18, Cut(strings.Join(what, "; "), int(width/6.9)))
		for _, k := range s.Marks {
			if k.Worst {
				f.text("detail usual", "start", 4, 38, Cut(f.markText(k), int(width/6.9)))
			}
		}
	}
	if s.Recommended {
		f.recommendation(s, x)
	}
	f.close()
}

// markText returns a mark's numbers as text.
func (f *ruFrame) markText(k RUMark) string {
	s := k.Label + ": " + cmp.Or(f.m.Symbol, "R") + " = " + Pretty(k.R, RiskDigits)
	if k.RSE > 0 && !math.IsInf(k.RSE, 0) {
		s += " (SE " + Pretty(k.RSE, 2) + ")"
	}
	if f.m.Risk != "" { // no error that R stands for
		return s
	}
	s += ", known to ± " + Pretty(1/math.Sqrt(k.R), RiskDigits)
	if f.m.Unit != "" {
		s += " " + f.m.Unit
	}
	return s
}

// markRadius is the radius of a mark on a curve.
const markRadius = 3.2

func (f *ruFrame) mark(s RUSetting, k RUMark, x float64) {
	y := f.y(k.R)
	f.open("at "+k.Style.class(), "")
	if !f.o.Still {
		fmt.Fprintf(f, `<title>%s</title>`, escaped(s.Name+"; "+f.markText(k)))
	}
	if !math.IsInf(k.R, 1) && k.RSE > 0 && !math.IsInf(k.RSE, 0) {
		low := f.bottom
		if k.R > k.RSE {
			low = f.y(k.R - k.RSE)
		}
		f.line("error", x, f.y(k.R+k.RSE), x, low)
	}
	if se := s.EfficiencySE; se > 0 && !math.IsInf(se, 0) {
		f.line("error", f.x(s.Efficiency-se), y, f.x(s.Efficiency+se), y)
	}
	class := "spot"
	switch {
	case !s.Admissible:
		class = "spot hollow"
	case s.Unjudged:
		class = "spot unjudged"
	}
	if s.Recommended {
		f.circle("pick", x, y, 7)
	}
	f.shape(class, k.Style.Knowledge, x, y, markRadius)
	if !f.o.Still {
		f.circle("hit", x, y, 8)
		width := float64(f.o.Width) - 8
		f.text("detail own", "start", 4, 38, Cut(f.markText(k), int(width/6.9)))
	}
	f.close()
}

// recommendation labels the recommended setting at the top of its guide line, on the
// side that has more room, because the curves are low there.
func (f *ruFrame) recommendation(s RUSetting, x float64) {
	anchor, at, room := "end", x-8, x-f.left
	if x < (f.left+f.right)/2 {
		anchor, at, room = "start", x+8, f.right-x
	}
	y := f.top + 18
	if f.lane != 0 {
		y = f.lane + 36
	}
	longest := int((room - 16) / 6.6)
	for i, l := range []string{"Recommended", s.Name, "efficiency " + Percent(s.Efficiency)} {
		class := "picked"
		if i == 0 {
			class = "picked word"
		}
		f.text(class, anchor, at, y+15*float64(i), Cut(l, longest))
		if f.panel {
			return // a panel has no room for more; the page has this text above the picture
		}
	}
}

// keys returns the legend's entries for curves and settings.
func (f *ruFrame) keys() []legendItem {
	var items []legendItem
	for _, k := range f.m.Key {
		items = append(items, legendItem{func(x, y float64) {
			if k.Style.Colour == 0 && !k.Mark {
				return
			}
			f.open(k.Style.class(), "")
			var line outline
			line.move(x-2, y)
			line.to(x+22, y)
			f.path("series "+k.Style.class(), &line)
			if k.Mark {
				f.shape("spot", k.Style.Knowledge, x+10, y, markRadius)
			}
			f.close()
		}, k.Text})
	}
	return append(items, f.signs()...)
}

// signs returns the legend's entries for the appearance of the settings' marks.
func (f *ruFrame) signs() []legendItem {
	var items []legendItem
	hollow, bars, picked, unjudged := false, false, false, false
	for _, s := range f.m.Settings {
		unjudged = unjudged || s.Admissible && s.Unjudged
		hollow = hollow || !s.Admissible
		picked = picked || s.Recommended
		for _, k := range s.Marks {
			bars = bars || k.RSE > 0
		}
	}
	if hollow {
		items = append(items, legendItem{func(x, y float64) {
			f.open("neutral", "")
			f.shape("spot hollow", "", x+9, y, markRadius)
			f.close()
		}, "not admissible"})
	}
	if unjudged {
		items = append(items, legendItem{func(x, y float64) {
			f.open("neutral", "")
			f.shape("spot unjudged", "", x+9, y, markRadius)
			f.close()
		}, "admissible, but a rule could not be judged"})
	}
	if picked {
		items = append(items, legendItem{func(x, y float64) {
			f.open("neutral", "")
			f.circle("pick", x+9, y, 7)
			f.shape("spot", "", x+9, y, markRadius)
			f.close()
		}, "recommended"})
	}
	if bars {
		items = append(items, legendItem{func(x, y float64) {
			f.open("neutral", "")
			f.line("error", x+9, y-7, x+9, y+7)
			f.close()
		}, "± one standard error"})
	}
	return items
}
