package figure

import (
	_ "embed"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
)

// paint is a colour: "" for unspecified, none, currentColor, or the name of a colour of
// the palette.
type paint string

const (
	none    paint = "none"
	current paint = "currentColor"
)

// look is the style that a class gives to its elements. Zero fields specify nothing.
type look struct {
	fill, stroke, colour       paint
	fillOpacity, strokeOpacity float64
	width                      float64   // of the stroke
	dashes                     []float64 // lengths above 0
	solid                      bool      // no dashes, independent of the surrounding elements
	weight                     int       // of the font
	behind                     bool      // the stroke is behind the fill: a rim around letters
	css                        string    // further CSS that a browser needs
}

// rule is the look of the elements that have all classes of on and are within
// elements with each of within.
type rule struct {
	within, on string
	look
}

// rim keeps letters legible over lines.
var rim = look{stroke: "plot", width: 4, behind: true, css: "stroke-linejoin:round"}

func rimmed(l look) look {
	l.stroke, l.width, l.behind = rim.stroke, rim.width, rim.behind
	l.css += rim.css
	return l
}

// palette holds the figures' colours on white paper; figure.css has those for dark
// mode.
var palette = []struct {
	name paint
	rgb  uint32
}{
	{"paper", 0xffffff}, {"ink", 0x1b2127}, {"soft", 0x57616b}, {"faint", 0x8a949e}, {"rule", 0xe3e7ea},
	{"plot", 0xfbfcfc},
	{"ok", 0x00684a}, {"ok-fill", 0x0b8f6a}, {"no", 0xa8201a}, {"unsure", 0x8a5a00},
	{"k-index", 0x0064a8}, {"k-position", 0xb84a00}, {"k-mean", 0x5f5aa8}, {"before", 0xb9c3cc}, {"after", 0x0064a8},
	{"c1", 0x0064a8}, {"c2", 0xb84a00}, {"c3", 0x7a4fc0}, {"c4", 0x8a6a00}, {"c5", 0xb8307c}, {"c6", 0x00808f},
	{"c7", 0x56606a}, {"c8", 0x7c3f20},
}

// rules holds the looks of the elements of a picture, in ascending precedence. The
// style sheet of SVG and the raster both use this list. Styles that are needed on a
// screen only are in figure.css.
var rules = []rule{
	{on: "paper", look: look{fill: "paper"}},
	{on: "plot", look: look{fill: "plot"}},
	{on: "frame", look: look{fill: none, stroke: "faint"}},
	{on: "grid", look: look{stroke: "rule"}},
	{on: "nib", look: look{stroke: "faint"}},
	{on: "base", look: look{stroke: "faint"}},
	{on: "lane", look: look{stroke: "faint", dashes: []float64{1, 4}}},
	{on: "axis", look: look{fill: "ink"}},
	{on: "admissible", look: look{fill: "ok-fill", fillOpacity: .13}},
	{on: "swatch", look: look{stroke: "ok-fill", strokeOpacity: .6}},
	{on: "threshold", look: look{stroke: "ok", width: 1.5, dashes: []float64{6, 4}}},
	{on: "gate", look: look{stroke: "ok", width: 2}},
	{on: "limit", look: rimmed(look{fill: "ok", weight: 600})},
	{on: "curve", look: look{fill: none, stroke: "faint", width: 1.5, dashes: []float64{2, 3}}},
	{on: "c1", look: look{colour: "c1"}}, {on: "c2", look: look{colour: "c2"}},
	{on: "c3", look: look{colour: "c3"}}, {on: "c4", look: look{colour: "c4"}},
	{on: "c5", look: look{colour: "c5"}}, {on: "c6", look: look{colour: "c6"}},
	{on: "c7", look: look{colour: "c7"}}, {on: "c8", look: look{colour: "c8"}},
	{on: "neutral", look: look{colour: "soft"}},
	{on: "series", look: look{fill: none, stroke: current, width: 1.75, css: "stroke-linejoin:round"}},
	{on: "d1", look: look{dashes: []float64{7, 3}}},
	{on: "d2", look: look{dashes: []float64{2, 3}}},
	{on: "d3", look: look{dashes: []float64{9, 3, 2, 3}}},
	{on: "d4", look: look{dashes: []float64{4, 2}}},
	{on: "thin", look: look{width: .9, strokeOpacity: .5}},
	{on: "strong", look: look{width: 2.25}},
	{on: "spot", look: look{fill: current, stroke: "plot", width: .75, solid: true}},
	{on: "hollow", look: look{fill: "plot", stroke: current, width: 1.4}},
	{on: "unjudged", look: look{fill: "plot", stroke: "unsure", width: 1.6}},
	{on: "error", look: look{stroke: current, width: 1, strokeOpacity: .65, solid: true}},
	{on: "guide", look: look{stroke: none}},
	{on: "pick", look: look{fill: none, stroke: "ok", width: 2, solid: true}},
	{on: "picked", look: rimmed(look{fill: "ok"})},
	{on: "word", look: look{weight: 650}},
	{on: "leader", look: look{fill: none, stroke: "faint", width: 1}},
	{on: "halo", look: look{fill: none, stroke: none}},
	{on: "mark", look: look{stroke: "plot", width: 1}},
	{on: "k-index", look: look{fill: "k-index", colour: "k-index"}},
	{on: "k-position", look: look{fill: "k-position", colour: "k-position"}},
	{on: "k-mean", look: look{fill: "k-mean", colour: "k-mean"}},
	{on: "k-other", look: look{fill: "soft", colour: "soft"}},
	{on: "trail", look: look{fillOpacity: .45}},
	{on: "way", look: look{fill: none, stroke: current, strokeOpacity: .5, width: 1.5, css: "stroke-linejoin:round"}},
	{on: "label", look: rimmed(look{fill: "ink", css: "white-space:pre;"})},
	{within: "recommended", on: "guide", look: look{stroke: "ok", width: 1, dashes: []float64{1, 3}}},
	{within: "failed", on: "label", look: look{fill: "no", weight: 600}},
	{within: "failed", on: "halo", look: look{stroke: "no", width: 2}},
}

//go:embed figure.css
var screenCSS string

// figureCSS is the complete style sheet.
var figureCSS = styleSheet()

// Style returns the style sheet of the figures in a page. It uses light or dark colours
// according to the reader's preference.
func Style() string { return figureCSS }

func styleSheet() string {
	var b strings.Builder
	b.WriteString(":root{")
	for i, c := range palette {
		if i > 0 {
			b.WriteByte(';')
		}
		fmt.Fprintf(&b, "--%s:#%06x", c.name, c.rgb)
	}
	b.WriteString("}\n.figure text{fill:var(--soft)}\n")
	for _, r := range rules {
		b.WriteString(".figure ")
		if r.within != "" {
			b.WriteString("." + r.within + " ")
		}
		fmt.Fprintf(&b, ".%s{%s}\n", r.on, r.declarations())
	}
	b.WriteString(screenCSS)
	return b.String()
}

// declarations returns the look as CSS.
func (l *look) declarations() string {
	var list []string
	say := func(property, value string) { list = append(list, property+":"+value) }
	colour := func(property string, p paint) {
		switch p {
		case "":
		case none, current:
			say(property, string(p))
		default:
			say(property, "var(--"+string(p)+")")
		}
	}
	number := func(property string, v float64, unit string) {
		if v != 0 {
			say(property, strconv.FormatFloat(v, 'f', -1, 64)+unit)
		}
	}
	colour("color", l.colour)
	colour("fill", l.fill)
	number("fill-opacity", l.fillOpacity, "")
	if l.behind {
		say("paint-order", "stroke")
	}
	colour("stroke", l.stroke)
	number("stroke-opacity", l.strokeOpacity, "")
	number("stroke-width", l.width, "px")
	if l.solid {
		say("stroke-dasharray", "none")
	} else if len(l.dashes) > 0 {
		say("stroke-dasharray", strings.Trim(fmt.Sprint(l.dashes), "[]"))
	}
	number("font-weight", float64(l.weight), "")
	if l.css != "" {
		list = append(list, strings.TrimSuffix(l.css, ";"))
	}
	return strings.Join(list, ";")
}

// style holds the properties with which an element is painted.
type style struct {
	fill, stroke, current      color.NRGBA
	fillCurrent, strokeCurrent bool // the paint is currentColor
	fillOpacity, strokeOpacity float64
	strokeWidth                float64
	dashes                     []float64
	size                       float64 // of the font
	bold, strokeFirst          bool
}

// initial is the style of a picture before any rule: the defaults of SVG, and the font
// of figure.css.
var initial = style{fill: color.NRGBA{A: 255}, current: color.NRGBA{A: 255}, fillOpacity: 1, strokeOpacity: 1,
	strokeWidth: 1, size: 12}

// with returns the style after the look is applied.
func (s style) with(l *look) style {
	set := func(p paint, c *color.NRGBA, asCurrent *bool) {
		switch p {
		case "":
		case current:
			*asCurrent = true
		default:
			*c, *asCurrent = colourOf(p), false
		}
	}
	var never bool
	set(l.fill, &s.fill, &s.fillCurrent)
	set(l.stroke, &s.stroke, &s.strokeCurrent)
	set(l.colour, &s.current, &never)
	if l.fillOpacity != 0 {
		s.fillOpacity = l.fillOpacity
	}
	if l.strokeOpacity != 0 {
		s.strokeOpacity = l.strokeOpacity
	}
	if l.width != 0 {
		s.strokeWidth = l.width
	}
	if l.solid || len(l.dashes) > 0 {
		s.dashes = l.dashes
	}
	s.bold = s.bold || l.weight >= 600
	s.strokeFirst = s.strokeFirst || l.behind
	return s
}

// colourOf returns a colour of the palette; none and unknown names are transparent.
func colourOf(p paint) (c color.NRGBA) {
	for _, entry := range palette {
		if entry.name == p {
			return color.NRGBA{uint8(entry.rgb >> 16), uint8(entry.rgb >> 8), uint8(entry.rgb), 255}
		}
	}
	return c
}

// styled returns the style of an element within others. All properties are inherited,
// as in SVG; currentColor is that of the element itself.
func styled(around style, name string, classes []string, open [][]string) style {
	s := around
	if name == "text" {
		s = s.with(&look{fill: "soft"})
	}
	for i := range rules {
		r := &rules[i]
		if slices.Contains(classes, r.on) &&
			(r.within == "" || slices.ContainsFunc(open, func(c []string) bool { return slices.Contains(c, r.within) })) {
			s = s.with(&r.look)
		}
	}
	if s.fillCurrent {
		s.fill = s.current
	}
	if s.strokeCurrent {
		s.stroke = s.current
	}
	return s
}
