package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/picture"
)

// DensitySVG draws original against released values as cells, darker with more records,
// and the line of unchanged values. It returns nil if there is nothing to draw.
func DensitySVG(p picture.Pair, width int) []byte {
	d := p.Density
	if d == nil || d.Drawn == 0 {
		return nil
	}
	side := float64(width) - 74
	left, top := 62.0, 30.0
	right, bottom := left+side, top+side
	lo, hi := d.Edges[0], d.Edges[len(d.Edges)-1]
	to := func(v float64) float64 { return side * (v - lo) / (hi - lo) }
	var s drawing
	title := fmt.Sprintf(
		"Released against original values of %s, %s records in cells of at least %d. The diagonal is where nothing changes.",
		p.Column, Count(int64(d.Drawn)), picture.Least)
	s.begin("density", float64(width), bottom+46, title)
	s.rect("plot", left, top, side, side)
	s.WriteString(`<g class="c1">`)
	for i, row := range d.Counts {
		for j, n := range row {
			if n < picture.Least {
				continue
			}
			x, y := left+to(d.Edges[j]), bottom-to(d.Edges[i+1])
			fmt.Fprintf(&s, `<rect fill="currentColor" fill-opacity="%.2f" x="%s" y="%s" width="%s" height="%s"/>`,
				shade(n, d.Most),
				at(x), at(y), at(left+to(d.Edges[j+1])-x), at(bottom-to(d.Edges[i])-y))
		}
	}
	s.WriteString("</g>")
	s.line("curve", left, bottom, right, top)
	s.rect("frame", left, top, side, side)
	for _, v := range roundTicks(lo, hi, max(2, width/100)) {
		s.line("nib", left+to(v), bottom, left+to(v), bottom+4)
		s.line("nib", left-4, bottom-to(v), left, bottom-to(v))
		s.text("tick", inside(left+to(v), left, right), left+to(v), bottom+18, Trimmed(v))
		s.text("tick", "end", left-7, bottom-to(v)+4, Trimmed(v))
	}
	s.text("axis", "start", 4, top-12, "↑ released"+inUnit(p.Unit))
	s.text("axis", "end", right, bottom+38, "original"+inUnit(p.Unit)+" →")
	s.WriteString("</svg>")
	return []byte(s.String())
}

// shade returns the opacity of a cell, by the logarithm of its number of records.
func shade(n, most int) float64 {
	if most <= picture.Least {
		return 0.85
	}
	return 0.15 + 0.85*math.Log(float64(n)/picture.Least)/math.Log(float64(most)/picture.Least)
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return ", " + Cut(unit, longestWord)
}

// inside returns the anchor of a text such that the text stays between two edges.
func inside(x, left, right float64) string {
	switch {
	case x < left+16:
		return "start"
	case x > right-16:
		return "end"
	}
	return "middle"
}

// DistributionSVG draws the share of records below each value, before and after
// masking. It returns nil if there is nothing to draw.
func DistributionSVG(p picture.Pair, width int) []byte {
	d := p.Distribution
	if d == nil || len(d.At) < 2 {
		return nil
	}
	left, right, top := 44.0, float64(width)-12, 30.0
	bottom := top + float64(width) - 74
	lo, hi := d.At[0], d.At[len(d.At)-1]
	x := func(v float64) float64 { return left + (right-left)*(v-lo)/(hi-lo) }
	y := func(share float64) float64 { return bottom - (bottom-top)*share }
	var s drawing
	title := "Share of records below each value of " + p.Column +
		", original and released. The table of shares holds the same numbers."
	s.begin("distribution", float64(width), bottom+46, title)
	s.rect("plot", left, top, right-left, bottom-top)
	for i := 0; i <= 4; i++ {
		share := float64(i) / 4
		s.line("grid", left, y(share), right, y(share))
		s.text("tick", "end", left-7, y(share)+4, Trimmed(100*share))
	}
	s.rect("frame", left, top, right-left, bottom-top)
	for _, v := range roundTicks(lo, hi, max(2, width/100)) {
		s.line("nib", x(v), bottom, x(v), bottom+4)
		s.text("tick", inside(x(v), left, right), x(v), bottom+18, Trimmed(v))
	}
	for _, curve := range []struct {
		class, dashes string
		shares        []float64
	}{{"c7", "d1", d.Original}, {"c1", "strong", d.Released}} {
		var path strings.Builder
		for i, v := range d.At {
			word := "L"
			if i == 0 {
				word = "M"
			}
			path.WriteString(word + at(x(v)) + " " + at(y(curve.shares[i])))
		}
		fmt.Fprintf(&s, `<g class="%s"><path class="series %s" d="%s"/></g>`, curve.class, curve.dashes, path.String())
	}
	s.text("axis", "start", 4, top-12, "↑ records below, %")
	s.text("axis", "end", right, bottom+38, "value"+inUnit(p.Unit)+" →")
	s.WriteString(`<g class="c7">`)
	fmt.Fprintf(&s,
		`<path class="series d1" d="M%s %sh22"/></g><g class="c1"><path class="series strong" d="M%s %sh22"/></g>`, at(left),
		at(bottom+34), at(left+84), at(bottom+34))
	s.text("legend", "start", left+27, bottom+38, "original")
	s.text("legend", "start", left+111, bottom+38, "released")
	s.WriteString("</svg>")
	return []byte(s.String())
}

// begin writes the head of a picture, with its description for screen readers.
func (d *drawing) begin(class string, width, height float64, title string) {
	fmt.Fprintf(d,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure %s" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">`,
		class, at(width), at(height), at(width), at(height), escaped(title))
}

// Bar is one row of a picture of bars.
type Bar struct {
	Label  string
	Length float64 // 0 to 1
	Text   string  // beside the bar
	Strong bool    // emphasised, the subject of the picture
}

// Part returns the length of a bar, 0 to 1, if the longest bar has the value most; 0 if
// most is not above 0.
func Part(v, most float64) float64 {
	if !(most > 0) {
		return 0
	}
	return v / most
}

// BarsSVG draws rows of bars with their numbers beside them. head is the heading of the
// labels. It returns nil if there are no bars.
func BarsSVG(title, head, what string, bars []Bar, width int) []byte {
	if len(bars) == 0 {
		return nil
	}
	const row, top = 24.0, 30.0
	label, text := len([]rune(head)), 0
	for _, b := range bars {
		label, text = max(label, len([]rune(b.Label))), max(text, len([]rune(b.Text)))
	}
	left := 14 + 6.8*float64(label)
	right := float64(width) - 16 - 6.8*float64(text)
	bottom := top + row*float64(len(bars))
	var d drawing
	d.begin("bars", float64(width), bottom+12, title)
	d.text("axis", "end", left-8, top-10, head)
	d.text("axis", "start", left, top-10, what)
	for i, b := range bars {
		y := top + row*float64(i)
		class := "before"
		if b.Strong {
			class = "k-index"
		}
		length := math.Max((right-left)*math.Min(math.Max(b.Length, 0), 1), 0.5)
		d.rect(class, left, y+4, length, row-8)
		d.text("tick", "end", left-8, y+16, b.Label)
		d.text("label", "start", left+length+7, y+16, b.Text)
	}
	d.line("base", left, top, left, bottom)
	d.WriteString("</svg>")
	return []byte(d.String())
}
