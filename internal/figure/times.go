package figure

import (
	"fmt"
	"math"
	"time"
)

// TimePanel is the panel of one quantity over time.
type TimePanel struct {
	Title  string
	Unit   string
	Log    bool // on a log scale, if all values are above 0
	Share  bool // in per cent, on an axis from 0 to 100 %
	Points []TimePoint
}

// TimePoint is a value at a time. NaN and infinite values interrupt the line, and so
// does a point with Begins, because the values between it and the previous point are
// unknown.
type TimePoint struct {
	At     time.Time
	Value  float64
	Begins bool
}

// TimesSVG draws quantities over the same period, one below the other or, if there is
// room, side by side. It returns nil if no panel has a point.
func TimesSVG(list []TimePanel, o SVGOptions) []byte {
	from, to := time.Time{}, time.Time{}
	for _, p := range list {
		for _, q := range p.Points {
			if from.IsZero() || q.At.Before(from) {
				from = q.At
			}
			if q.At.After(to) {
				to = q.At
			}
		}
	}
	if from.IsZero() {
		return nil
	}
	if to.Sub(from) < time.Second {
		from = to.Add(-time.Second)
	}
	const height = 150.0
	columns := 1
	if o.Width >= narrow {
		columns = 2
	}
	width := math.Floor((float64(o.Width) - panelGap*float64(columns-1)) / float64(columns))
	rows := (len(list) + columns - 1) / columns
	var d drawing
	fmt.Fprintf(&d,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure times" viewBox="0 0 %d %s" width="%d" height="%s" role="group" aria-label="Risk, utility, lag and throughput over time. The table of snapshots holds the last numbers.">`,
		o.Width, at(height*float64(rows)), o.Width, at(height*float64(rows)))
	for i, p := range list {
		d.shift((width+panelGap)*float64(i%columns), height*float64(i/columns))
		f := timeFrame{drawing: &d, p: p, from: from, to: to, left: 58, right: width - 14, top: 26, bottom: height - 30}
		f.draw()
		d.close()
	}
	d.WriteString("</svg>")
	return []byte(d.String())
}

// timeFrame is the geometry of one panel.
type timeFrame struct {
	*drawing
	p                        TimePanel
	from, to                 time.Time
	left, right, top, bottom float64
	lo, hi                   float64 // ends of the axis; exponents if it is logarithmic
}

func (f *timeFrame) draw() {
	last := math.NaN()
	for _, q := range f.p.Points {
		last = q.Value
	}
	name := f.p.Title
	if f.p.Unit != "" {
		name += ", " + Isolated(Cut(f.p.Unit, longestWord))
	}
	f.text("axis word", "start", 4, 14, Cut(name, int((f.right-84)/7.2)))
	f.text("axis", "end", f.right, 14, f.value(last))
	f.rect("plot", f.left, f.top, f.right-f.left, f.bottom-f.top)
	f.scale()
	for _, v := range f.ticks() {
		f.line("grid", f.left, f.y(v), f.right, f.y(v))
		f.text("tick", "end", f.left-8, f.y(v)+4, f.value(v))
	}
	f.rect("frame", f.left, f.top, f.right-f.left, f.bottom-f.top)
	layout := "15:04:05"
	if f.to.Sub(f.from) > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	f.text("tick", "start", f.left, f.bottom+16, f.from.UTC().Format(layout))
	f.text("tick", "end", f.right, f.bottom+16, f.to.UTC().Format(layout)+" UTC")
	f.open("c1", "")
	f.curve()
	f.close()
}

// drawable reports whether a value can be drawn on the axis.
func (f *timeFrame) drawable(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!f.p.Log || v > 0)
}

func (f *timeFrame) scale() {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, q := range f.p.Points {
		if f.drawable(q.Value) {
			lo, hi = math.Min(lo, q.Value), math.Max(hi, q.Value)
		}
	}
	switch {
	case f.p.Share:
		f.lo, f.hi = 0, math.Max(1, math.Min(hi, 3))
	case lo > hi:
		f.lo, f.hi = 0, 1
	case f.p.Log:
		f.lo, f.hi = math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
		if f.hi == f.lo {
			f.hi++
		}
	default:
		f.lo, f.hi = 0, math.Max(hi, 1)*1.08
	}
}

func (f *timeFrame) ticks() (list []float64) {
	if !f.p.Log {
		if f.p.Share {
			return []float64{0, 0.5, 1}
		}
		return roundTicks(f.lo, f.hi, 3)
	}
	for e := f.lo; e <= f.hi; e += math.Floor((f.hi-f.lo)/4) + 1 {
		list = append(list, math.Pow(10, e))
	}
	return list
}

func (f *timeFrame) value(v float64) string {
	if f.p.Share {
		return Percent(v)
	}
	return Trimmed(v)
}

func (f *timeFrame) x(t time.Time) float64 {
	return f.left + (f.right-f.left)*t.Sub(f.from).Seconds()/f.to.Sub(f.from).Seconds()
}

func (f *timeFrame) y(v float64) float64 {
	if f.p.Log {
		v = math.Log10(v)
	}
	return f.bottom - (f.bottom-f.top)*(math.Min(math.Max(v, f.lo), f.hi)-f.lo)/(f.hi-f.lo)
}

// curve connects the points; an isolated point is drawn as a dot.
func (f *timeFrame) curve() {
	var line outline
	alone := -1
	dot := func() {
		if alone >= 0 {
			f.circle("spot", f.x(f.p.Points[alone].At), f.y(f.p.Points[alone].Value), 2.5)
		}
		alone = -1
	}
	begin := true
	for i, q := range f.p.Points {
		if !f.drawable(q.Value) {
			dot()
			begin = true
			continue
		}
		if begin || q.Begins {
			dot()
			line.move(f.x(q.At), f.y(q.Value))
			alone, begin = i, false
			continue
		}
		line.to(f.x(q.At), f.y(q.Value))
		alone = -1
	}
	dot()
	if !line.empty() {
		f.path("series d0", &line)
	}
}
