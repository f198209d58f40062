package figure

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// RUMapsSVG draws maps of one column in one picture: a single map like RUMapSVG,
// several as panels with the same axes and one legend, each with its own title.
// SVGOptions.Height is the height of a single map; that of panels is computed.
func RUMapsSVG(maps []RUMap, o SVGOptions) []byte {
	d := new(drawing)
	layOut(d, maps, o).draw()
	return []byte(d.String())
}

// WriteRUMapsPNG writes the same picture as PNG, in light colours, with scale pixels
// per unit of the SVG. It returns an error for more than 64 million pixels, or that of
// w.
func WriteRUMapsPNG(w io.Writer, maps []RUMap, o SVGOptions, scale float64) error {
	o.Standalone = true
	d := new(drawing)
	p := layOut(d, maps, o)
	var err error
	if d.pixels, err = newRaster(float64(p.o.Width), float64(p.o.Height), scale); err != nil {
		return err
	}
	p.draw()
	return d.pixels.encode(w)
}

// Geometry of panels, in units.
const (
	panelWidth = 340.0 // the least
	panelGap   = 24.0
	panelTitle = 22.0 // height of a title
	panelPlot  = 0.6  // height of a plot as a share of the width of its panel
)

// panels is the layout of a picture of maps.
type panels struct {
	*drawing
	o      SVGOptions
	frames []*ruFrame
	places []point // of the frames; nil: a single map that fills the picture
	legend []legendItem
	foot   float64 // y of the legend
}

func layOut(d *drawing, maps []RUMap, o SVGOptions) *panels {
	o.fill()
	p := &panels{drawing: d, o: o}
	if len(maps) == 0 {
		maps = []RUMap{{}}
	}
	if len(maps) == 1 {
		f := newRUFrame(d, maps[0], o, false)
		p.frames, p.legend, p.foot = []*ruFrame{f}, f.legendItems(), f.bottom+62
		return p
	}
	columns := min(max(int((float64(o.Width)+panelGap)/(panelWidth+panelGap)), 1), len(maps))
	width := math.Floor((float64(o.Width) - panelGap*float64(columns-1)) / float64(columns))
	height := 0.0
	for i, m := range maps {
		of := o
		of.Width, of.ID = int(width), fmt.Sprintf("%s-%d", o.ID, i+1)
		f := newRUFrame(d, m, of, true)
		height = f.top + math.Round(panelPlot*width) + 48
		f.o.Height, f.bottom = int(height), height-48
		p.frames = append(p.frames, f)
		for _, item := range f.legendItems() {
			if !slices.ContainsFunc(p.legend, func(l legendItem) bool { return l.text == item.text }) {
				p.legend = append(p.legend, item)
			}
		}
	}
	p.share()
	height += panelTitle + panelGap/2
	for i := range p.frames {
		p.places = append(p.places,
			point{math.Round((width + panelGap) * float64(i%columns)), panelTitle + height*float64(i/columns)})
	}
	rows := (len(maps) + columns - 1) / columns
	p.foot = height*float64(rows) + 10
	p.o.Height = int(p.foot + rowHeight*float64(legendRows(p.legend, float64(o.Width))-1) + 12)
	return p
}

// share sets the same axes for all frames.
func (p *panels) share() {
	lo, hi, most, lane := math.MaxInt, math.MinInt, 0.0, 0.0
	for _, f := range p.frames {
		lo, hi, most, lane = min(lo, f.lo), max(hi, f.hi), max(most, f.maxU), max(lane, f.lane)
	}
	for _, f := range p.frames {
		f.lo, f.hi, f.maxU, f.lane = lo, hi, most, lane
	}
}

func (p *panels) draw() {
	title := "R-U confidentiality map of " + p.frames[0].m.Column
	fmt.Fprintf(p,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure ru" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="%s">`,
		p.o.Width, p.o.Height, p.o.Width, p.o.Height, escaped(title+". The table of risks holds the same numbers."))
	if p.o.Standalone {
		fmt.Fprintf(p, `<title>%s</title><style>%s</style>`, escaped(title), figureCSS)
		p.rect("paper", 0, 0, float64(p.o.Width), float64(p.o.Height))
	}
	for i, f := range p.frames {
		if p.places == nil {
			f.draw()
			break
		}
		p.shift(p.places[i].x, p.places[i].y)
		p.text("axis word", "start", 4, -6, Cut(f.m.Title, int(float64(f.o.Width)/7)))
		f.draw()
		if i == 0 && !p.o.Still && len(f.m.Settings) > 0 {
			p.hint()
		}
		p.close()
	}
	p.drawing.legend(p.legend, float64(p.o.Width), p.foot)
	p.WriteString("</svg>")
	if p.o.Standalone {
		p.WriteByte('\n')
	}
}

// reached returns the class of a mark that a pointer and the keyboard can select,
// unless the picture is for print.
func (f *ruFrame) reached(class string) string {
	if f.o.Still {
		return class
	}
	return strings.TrimSpace("pt " + class)
}
