package figure

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// drawing builds SVG text. Strings are escaped, coordinates have one decimal.
type drawing struct {
	strings.Builder
}

// escaped is a text as XML holds it. Characters that XML has no form for, which a
// column's name may hold, become question marks.
func escaped(s string) string {
	return html.EscapeString(strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == utf8.RuneError || c == 0xfffe || c == 0xffff {
			return '?'
		}
		return c
	}, s))
}

// at writes a coordinate.
func at(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, at(x), at(y), at(max(w, 0)), at(max(h, 0)))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, at(x1), at(y1), at(x2), at(y2))
}

// text writes s at (x, y); anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(d, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, at(x), at(y), escaped(s))
}

// marker draws a point whose shape tells the knowledge state without colour.
func (d *drawing) marker(knowledge string, x, y, r float64) {
	d.shape("mark "+KnowledgeClass(knowledge), knowledge, x, y, r)
}

// shape draws the mark of a knowledge state in any style.
func (d *drawing) shape(class, knowledge string, x, y, r float64) {
	switch knowledge {
	case "position":
		fmt.Fprintf(d, `<path class="%s" d="M%s %sL%s %sL%s %sL%s %sZ"/>`, class,
			at(x), at(y-r*1.3), at(x+r*1.3), at(y), at(x), at(y+r*1.3), at(x-r*1.3), at(y))
	case "mean":
		fmt.Fprintf(d, `<path class="%s" d="M%s %sL%s %sL%s %sZ"/>`, class,
			at(x), at(y-r*1.25), at(x+r*1.2), at(y+r*0.9), at(x-r*1.2), at(y+r*0.9))
	default:
		fmt.Fprintf(d, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, at(x), at(y), at(r))
	}
}

// KnowledgeClass maps a knowledge state to a style class; any other word has none.
func KnowledgeClass(knowledge string) string {
	switch knowledge {
	case "index", "position", "mean":
		return "k-" + knowledge
	}
	return "k-other"
}

// spread moves positions, sorted ascending, apart to at least gap and keeps them
// within [lo, hi] where there is room, moving none more than it must in order.
func spread(want []float64, gap, lo, hi float64) []float64 {
	got := append([]float64(nil), want...)
	if len(got) == 0 {
		return got
	}
	if room := hi - lo; gap*float64(len(got)-1) > room {
		gap = room / float64(len(got)-1)
	}
	// Blocks of touching labels, each centred on the mean of what its members want.
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
