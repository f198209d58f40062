package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is an R-U map: curves of points (U, R), horizontal lines and marks.
type chart struct {
	name     string // of the file, without its extension
	title    string
	source   string // one line below the title: the original figure and the data
	x, y     axis
	curves   []curve
	level    *level
	marks    []mark
	describe string // a description for readers who cannot see it
}

type axis struct {
	label    string
	min, max float64
	log      bool
	ticks    []float64
}

type curve struct {
	id        string // in figures.csv
	name      string // in the legend
	parameter string // name in figures.csv of the parameter that varies along it
	points    []point
	style     int  // index of a line style
	dots      bool // a dot at every point
	only      bool // dots without a line
}

type point struct{ parameter, x, y float64 }

// level is a horizontal line, the tolerable risk.
type level struct {
	y    float64
	name string
}

// mark is a text beside a place, by default above and to the right of it, with a dot unless
// a curve has one there.
type mark struct {
	x, y  float64
	text  string
	left  bool
	down  bool
	plain bool
}

// styles of lines differ in colour (Okabe and Ito's, which colour-blind readers can
// distinguish) and in dashes.
var styles = []struct {
	colour color.RGBA
	dashes []vg.Length
	shape  draw.GlyphDrawer
}{
	{color.RGBA{0, 114, 178, 255}, nil, draw.CircleGlyph{}},
	{color.RGBA{213, 94, 0, 255}, []vg.Length{7, 3}, draw.BoxGlyph{}},
	{color.RGBA{0, 130, 95, 255}, []vg.Length{2, 2.5}, draw.PyramidGlyph{}},
	{color.RGBA{150, 70, 130, 255}, []vg.Length{9, 3, 2, 3}, draw.RingGlyph{}},
}

var ink, grey, pale = color.RGBA{30, 30, 30, 255}, color.RGBA{95, 95, 95, 255}, color.RGBA{225, 225, 225, 255}

const width, height = 560, 420 // points

func face(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// newLegend returns a legend without entries.
func newLegend() plot.Legend {
	legend := plot.NewLegend()
	legend.TextStyle.Font = face(10)
	legend.TextStyle.Color = ink
	legend.Left, legend.Top = true, true
	legend.ThumbnailWidth = 34
	legend.Padding = 2
	legend.YPosition = draw.PosCenter
	return legend
}

// svg draws the chart.
func (c chart) svg() ([]byte, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	c.x.apply(&p.X)
	c.y.apply(&p.Y)
	p.Y.Label.Text = ""
	for _, t := range c.x.ticks {
		p.Add(bare{across(t, c.y, true, pale)})
	}
	for _, t := range c.y.ticks {
		p.Add(bare{across(t, c.x, false, pale)})
	}
	legend := newLegend()
	entries := len(c.curves)
	for _, v := range c.curves {
		thumbs, err := v.add(p, c.x, c.y)
		if err != nil {
			return nil, err
		}
		legend.Add(v.name, thumbs...)
	}
	if c.level != nil {
		line := across(c.level.y, c.x, false, ink)
		line.Dashes = []vg.Length{4, 3}
		p.Add(bare{line})
		legend.Add(c.level.name, line)
		entries++
	}
	if err := c.addMarks(p); err != nil {
		return nil, err
	}

	canvas := vgsvg.New(width, height)
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	head := text.Style{Font: face(13), Color: ink, XAlign: draw.XLeft, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	head.Font.Weight = 2 // bold
	page.FillText(head, vg.Point{X: 14, Y: height - 10}, c.title)
	head.Font = face(9.5)
	head.Color = grey
	page.FillText(head, vg.Point{X: 14, Y: height - 28}, c.source)
	below := vg.Length(entries)*13 + 12
	p.Draw(draw.Crop(page, 26, -18, below, -48))
	// plot would put a vertical label of a logarithmic axis at the middle of its
	// values, and shrink the drawing to make room for it.
	upright := p.X.Label.TextStyle
	upright.Rotation = math.Pi / 2
	upright.XAlign, upright.YAlign = draw.XCenter, draw.YTop
	page.FillText(upright, vg.Point{X: 10, Y: (height - 48 + below + 30) / 2}, c.y.label)
	legend.Draw(draw.Crop(page, 60, -10, 0, below-height-4))

	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return c.readable(out.Bytes()), nil
}

var (
	opening  = regexp.MustCompile(`(?s)^.*?(<svg )(.*?>\n)`)
	fontName = []byte(`font-family:Liberation Sans;font-variant:normal;`)
)

// readable makes the drawing self-contained: fonts that every reader has, and a title and a
// description for readers who cannot see it.
func (c chart) readable(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, fontName, []byte(`font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
	opened := opening.FindSubmatch(svg)
	var out bytes.Buffer
	fmt.Fprintf(&out,
		"<svg role=\"img\" aria-labelledby=\"title desc\" %s<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n",
		opened[2], html.EscapeString(c.title), html.EscapeString(c.describe))
	out.Write(svg[len(opened[0]):])
	return out.Bytes()
}

func (a axis) apply(to *plot.Axis) {
	to.Min, to.Max = a.min, a.max
	to.Padding = 0
	to.LineStyle.Color, to.Tick.LineStyle.Color = grey, grey
	to.Label.Text = a.label
	to.Label.TextStyle.Font = face(10.5)
	to.Label.TextStyle.Color = ink
	to.Label.Padding = 4
	to.Tick.Label.Font = face(9.5)
	to.Tick.Label.Color = ink
	if a.log {
		to.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(a.ticks))
	for i, v := range a.ticks {
		ticks[i] = plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)}
	}
	to.Tick.Marker = ticks
}

func (a axis) within(v float64) bool { return v >= a.min && v <= a.max }

// across returns a line through the whole chart at v.
func across(v float64, along axis, upright bool, colour color.Color) *plotter.Line {
	line := &plotter.Line{XYs: plotter.XYs{{X: along.min, Y: v}, {X: along.max, Y: v}}}
	if upright {
		line.XYs = plotter.XYs{{X: v, Y: along.min}, {X: v, Y: along.max}}
	}
	line.LineStyle = draw.LineStyle{Color: colour, Width: 0.8}
	return line
}

// add draws the part of the curve within the axes, and returns its symbols for the
// legend.
func (v curve) add(p *plot.Plot, x, y axis) ([]plot.Thumbnailer, error) {
	var inside plotter.XYs
	for _, pt := range v.points {
		if x.within(pt.x) && y.within(pt.y) {
			inside = append(inside, plotter.XY{X: pt.x, Y: pt.y})
		}
	}
	if len(inside) == 0 {
		return nil, fmt.Errorf("curve %q has no point within the axes", v.name)
	}
	var thumbs []plot.Thumbnailer
	s := styles[v.style]
	if !v.only {
		line, err := plotter.NewLine(inside)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: s.colour, Width: 1.8, Dashes: s.dashes}
		p.Add(bare{line})
		thumbs = append(thumbs, line)
	}
	if v.dots || v.only {
		dots, err := plotter.NewScatter(inside)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: s.colour, Radius: 2.6, Shape: s.shape}
		p.Add(bare{dots})
		thumbs = append(thumbs, dots)
	}
	return thumbs, nil
}

// bare is a plotter that does not change the range of the axes: plot.Plot would extend them
// for it.
type bare struct{ plot.Plotter }

func (c chart) addMarks(p *plot.Plot) error {
	for _, m := range c.marks {
		dot, err := plotter.NewScatter(plotter.XYs{{X: m.x, Y: m.y}})
		if err != nil {
			return err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: 2.8, Shape: draw.CircleGlyph{}}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: m.x, Y: m.y}}, Labels: []string{m.text}})
		if err != nil {
			return err
		}
		label.TextStyle[0].Font = face(9.5)
		label.TextStyle[0].Color = ink
		label.TextStyle[0].YAlign = draw.YBottom
		label.Offset = vg.Point{X: 5, Y: 4}
		if m.left {
			label.TextStyle[0].XAlign = draw.XRight
			label.Offset.X = -5
		}
		if m.down {
			label.TextStyle[0].YAlign = draw.YTop
			label.Offset.Y = -4
		}
		if !m.plain {
			p.Add(bare{dot})
		}
		p.Add(bare{label})
	}
	return nil
}

// decades returns 1, 2 and 5 times the powers of ten between the bounds.
func decades(min, max float64) []float64 {
	var t []float64
	for e := math.Floor(math.Log10(min)); e <= math.Log10(max); e++ {
		for _, m := range []string{"1", "2", "5"} {
			// parsed, not multiplied: 0.2 and not 0.20000000000000001
			v, _ := strconv.ParseFloat(m+"e"+strconv.Itoa(int(e)), 64)
			if v >= min*(1-1e-12) && v <= max*(1+1e-12) {
				t = append(t, v)
			}
		}
	}
	return t
}

// steps returns from, from+step, … up to to.
func steps(from, to, step float64) []float64 {
	var t []float64
	for i := 0; from+float64(i)*step <= to+step/1e6; i++ {
		t = append(t, from+float64(i)*step)
	}
	return t
}

// numbers returns every point of every chart, in the units of its axes, with six digits.
func numbers(charts []chart) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	rows := [][]string{{"figure", "curve", "parameter", "value", "U", "R"}}
	format := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, c := range charts {
		for _, v := range c.curves {
			for _, p := range v.points {
				rows = append(rows, []string{c.name, v.id, v.parameter, format(p.parameter), format(p.x), format(p.y)})
			}
		}
	}
	err := w.WriteAll(rows)
	return out.Bytes(), err
}
