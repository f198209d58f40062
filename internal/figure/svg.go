package figure

import (
	"fmt"
	"html"
	"image"
	"strconv"
	"strings"
	"unicode/utf8"
)

// drawing is a picture that is being drawn. It writes SVG and, if it has a raster,
// paints the same elements on it, so that a PNG file shows the same picture as the SVG
// without parsing the SVG. Strings are escaped; coordinates have one decimal.
//
// Text that is written directly to the builder, without these methods, is in the SVG
// only: the head and the end, and elements that are useful on a screen only.
type drawing struct {
	strings.Builder
	pixels *raster
}

// written replaces characters that XML cannot represent, which a column's name may
// contain, by question marks.
func written(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == utf8.RuneError || c == 0xfffe || c == 0xffff {
			return '?'
		}
		return c
	}, s)
}

// escaped returns a text escaped for XML.
func escaped(s string) string { return html.EscapeString(written(s)) }

// at formats a coordinate.
func at(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// placed returns the coordinate as at rounds it, for the raster.
func placed(v float64) float64 {
	w, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 1, 64), 64)
	if err != nil {
		return 0
	}
	return w
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	w, h = max(w, 0), max(h, 0)
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, at(x), at(y), at(w), at(h))
	if d.pixels != nil {
		var o path
		o.rect(placed(x), placed(y), placed(w), placed(h))
		d.pixels.draw("rect", class, o, nil)
	}
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, at(x1), at(y1), at(x2), at(y2))
	if d.pixels != nil {
		var o path
		o.moveTo(placed(x1), placed(y1))
		o.lineTo(placed(x2), placed(y2))
		d.pixels.draw("line", class, o, nil)
	}
}

func (d *drawing) circle(class string, x, y, r float64) {
	fmt.Fprintf(d, `<circle%s cx="%s" cy="%s" r="%s"/>`, classed(class), at(x), at(y), at(r))
	if d.pixels != nil {
		var o path
		o.circle(placed(x), placed(y), placed(r))
		d.pixels.draw("circle", class, o, nil)
	}
}

// text writes s at (x, y); anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(d, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, at(x), at(y), escaped(s))
	if d.pixels != nil {
		d.pixels.text(class, anchor, placed(x), placed(y), written(s))
	}
}

// outline is a sequence of lines, for the SVG and for the raster.
type outline struct {
	data  strings.Builder
	lines path
}

func (o *outline) move(x, y float64) {
	o.data.WriteString("M" + at(x) + " " + at(y))
	o.lines.moveTo(placed(x), placed(y))
}

func (o *outline) to(x, y float64) {
	o.data.WriteString("L" + at(x) + " " + at(y))
	o.lines.lineTo(placed(x), placed(y))
}

func (o *outline) close() {
	o.data.WriteByte('Z')
	o.lines.close()
}

func (o *outline) empty() bool { return len(o.lines) == 0 }

// polygon returns the closed outline through the points x, y, x, y and so on.
func polygon(places ...float64) *outline {
	o := new(outline)
	for i := 0; i+1 < len(places); i += 2 {
		if i == 0 {
			o.move(places[i], places[i+1])
		} else {
			o.to(places[i], places[i+1])
		}
	}
	o.close()
	return o
}

func (d *drawing) path(class string, o *outline) {
	fmt.Fprintf(d, `<path%s d="%s"/>`, classed(class), o.data.String())
	if d.pixels != nil {
		d.pixels.draw("path", class, o.lines, nil)
	}
}

// clipped draws a path with a title, of which only the part within an area is visible.
func (d *drawing) clipped(class string, o *outline, a area, title string) {
	fmt.Fprintf(d, `<path class="%s" clip-path="url(#%s)" d="%s"><title>%s</title></path>`, class, escaped(a.id),
		o.data.String(), escaped(title))
	if d.pixels != nil {
		d.pixels.draw("path", class, o.lines, &a)
	}
}

// area is a rectangle that paths are clipped to.
type area struct {
	id         string
	x, y, w, h float64
}

func (d *drawing) define(a area) {
	fmt.Fprintf(d, `<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>`, escaped(a.id), at(a.x),
		at(a.y), at(a.w), at(a.h))
}

// open begins a group; attributes are written as they are.
func (d *drawing) open(class, attributes string) {
	fmt.Fprintf(d, `<g%s%s>`, classed(class), attributes)
	if d.pixels != nil {
		d.pixels.enter("g", class)
	}
}

// shift begins a group that is translated by (x, y).
func (d *drawing) shift(x, y float64) {
	fmt.Fprintf(d, `<g transform="translate(%s %s)">`, at(x), at(y))
	if d.pixels != nil {
		d.pixels.enter("g", "")
		d.pixels.origin(placed(x), placed(y))
	}
}

// close ends a group.
func (d *drawing) close() {
	d.WriteString("</g>")
	if d.pixels != nil {
		d.pixels.leave()
	}
}

func classed(class string) string {
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

// hint writes above a picture how to see its numbers.
func (d *drawing) hint() {
	d.text("hint", "start", 4, 18, "Point at a mark, or tab to it, for its numbers.")
}

// marker draws a point whose shape shows the knowledge state without colour.
func (d *drawing) marker(knowledge string, x, y, r float64) {
	d.shape("mark "+KnowledgeClass(knowledge), knowledge, x, y, r)
}

// shape draws the mark of a knowledge state in any style.
func (d *drawing) shape(class, knowledge string, x, y, r float64) {
	switch knowledge {
	case "position":
		d.path(class, polygon(x, y-r*1.3, x+r*1.3, y, x, y+r*1.3, x-r*1.3, y))
	case "mean":
		d.path(class, polygon(x, y-r*1.25, x+r*1.2, y+r*0.9, x-r*1.2, y+r*0.9))
	default:
		d.circle(class, x, y, r)
	}
}

// KnowledgeClass returns the style class of a knowledge state; other words have none.
func KnowledgeClass(knowledge string) string {
	switch knowledge {
	case "index", "position", "mean":
		return "k-" + knowledge
	}
	return "k-other"
}

// pixels returns the area in whole pixels.
func (a *area) pixels(origin point, scale float64) image.Rectangle {
	x, y := (placed(a.x)+origin.x)*scale, (placed(a.y)+origin.y)*scale
	return image.Rect(int(x), int(y), ceil(x+placed(a.w)*scale), ceil(y+placed(a.h)*scale))
}

// spread moves positions, sorted ascending, apart to at least gap and keeps them
// within [lo, hi] if there is room. It keeps their order and moves them as little as
// necessary.
func spread(want []float64, gap, lo, hi float64) []float64 {
	got := append([]float64(nil), want...)
	if len(got) == 0 {
		return got
	}
	if room := hi - lo; gap*float64(len(got)-1) > room {
		gap = room / float64(len(got)-1)
	}
	// Blocks of adjacent labels, each centred on the mean of the positions that its
	// members want.
	type block struct {
		sum  float64 // of the starts that its members want
		n    int
		from float64
	}
	var blocks []block
	place := func(b block) block {
		b.from = min(max(b.sum/float64(b.n), lo), hi-gap*float64(b.n-1))
		return b
	}
	for _, w := range got {
		b := place(block{sum: w, n: 1})
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.from+gap*float64(last.n) <= b.from {
				break
			}
			b = place(block{sum: last.sum + b.sum - gap*float64(last.n*b.n), n: last.n + b.n})
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for k := range b.n {
			got[i] = b.from + gap*float64(k)
			i++
		}
	}
	return got
}
