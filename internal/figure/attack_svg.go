package figure

import (
	"fmt"
	"math"
	"strings"
)

// RankBar is the number of targets whose true record has a certain rank.
type RankBar struct {
	Rank    string  // "1", …, "10", "beyond"
	Targets float64 // a fraction if records tie
	Share   float64 // as a share of the targets that have a record
	Note    string  // further text, such as the posterior
}

// RanksSVG draws the ranks of the targets' true records as bars. The first rank, at
// which the intruder is correct, has a style of its own. It returns nil if there is
// nothing to draw.
func RanksSVG(bars []RankBar, o SVGOptions) []byte {
	most, widest := 0.0, 0
	for _, b := range bars {
		if !(b.Targets >= 0) || math.IsInf(b.Targets, 0) {
			return nil
		}
		most = math.Max(most, b.Targets)
		widest = max(widest, len([]rune(b.label())))
	}
	if most == 0 {
		return nil
	}
	const row, top = 24.0, 56.0
	width := float64(o.Width)
	height := top + row*float64(len(bars)) + 12
	left, right := 66.0, width-16-6.6*float64(widest)

	var d drawing
	title := "How many targets have their true record at which rank. The table of ranks holds the same numbers."
	fmt.Fprintf(&d,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure ranks" viewBox="0 0 %s %s" width="%s" height="%s" role="group" aria-label="%s">`,
		at(width), at(height), at(width), at(height), escaped(title))
	d.text("axis", "end", left-8, top-10, "rank")
	d.text("axis", "start", left, top-10, "targets")
	for i, b := range bars {
		y := top + row*float64(i)
		noun := "targets have"
		if b.Targets == 1 {
			noun = "target has"
		}
		what := fmt.Sprintf("Rank %s: %s %s the true record there, %s", b.Rank, Amount(b.Targets), noun, Percent(b.Share))
		if b.Note != "" {
			what += "; " + b.Note
		}
		fmt.Fprintf(&d, `<g class="pt" role="img" tabindex="0" aria-label="%s"><title>%s</title>`, escaped(what),
			escaped(what))
		class := "before"
		if i == 0 {
			class = "k-index"
		}
		length := math.Max((right-left)*b.Targets/most, 0.5)
		d.rect("hit", 0, y, width, row)
		d.rect(class, left, y+4, length, row-8)
		d.rect("halo", left-2, y+2, length+4, row-4)
		d.text("tick", "end", left-8, y+16, b.Rank)
		d.text("label", "start", left+length+7, y+16, b.label())
		d.text("detail", "start", 4, 18, Cut(b.detail(), int((width-8)/7.2)))
		d.WriteString("</g>")
	}
	d.line("base", left, top, left, top+row*float64(len(bars)))
	d.text("hint", "start", 4, 18, "Point at a bar, or tab to it, for its numbers.")
	d.WriteString("</svg>")
	return []byte(d.String())
}

func (b RankBar) label() string { return Amount(b.Targets) + "  " + Percent(b.Share) }

func (b RankBar) detail() string {
	s := "Rank " + b.Rank + ": " + Amount(b.Targets)
	if b.Note != "" {
		s += "; " + b.Note
	}
	return s
}

// Amount formats a count, which is a fraction if records share it: 1,057 or 12.3.
func Amount(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return Count(int64(v))
	}
	if math.Abs(v) >= 10 && math.Abs(v) < 1<<53 {
		return Pretty(math.Round(10*v)/10, digitsTo(v, 1))
	}
	return trimZeros(Pretty(v, RiskDigits))
}

// trimZeros removes trailing zeros of a fraction.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") || strings.Contains(s, "×") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// digitsTo returns the number of significant digits of v with the given number of
// decimals, at least 1.
func digitsTo(v float64, decimals int) int {
	return max(1, int(math.Floor(math.Log10(math.Abs(v))))+1+decimals)
}

// LinkCurve holds the intruder's results as a function of the threshold of the
// posterior above which records are linked.
type LinkCurve struct {
	Points []LinkPoint // by threshold, ascending
	Chosen LinkPoint   // at the intruder's own threshold
	Linked bool        // at least one link is made there
}

// LinkPoint holds the intruder's results at one threshold.
type LinkPoint struct {
	Threshold         float64
	Precision, Recall float64 // correct links as a share of the links, and of the targets that have a record
	Correct           float64
	Links             int
}

func (p LinkPoint) drawable() bool {
	return p.Precision >= 0 && p.Precision <= 1 && p.Recall >= 0 && p.Recall <= 1
}

func (p LinkPoint) text() string {
	links := " links right"
	if p.Links == 1 {
		links = " link right"
	}
	return fmt.Sprintf("t = %s: precision %s, recall %s; %s of %s", Trimmed(p.Threshold), Percent(p.Precision),
		Percent(p.Recall),
		Amount(p.Correct), Count(int64(p.Links))+links)
}

// drawable omits points that cannot be drawn on the axes.
func (c LinkCurve) drawable() LinkCurve {
	points := c.Points
	c.Points = nil
	for _, p := range points {
		if p.drawable() {
			c.Points = append(c.Points, p)
		}
	}
	if c.Linked = c.Linked && c.Chosen.drawable(); !c.Linked {
		c.Chosen = LinkPoint{}
	}
	return c
}

// longest returns the upper end of the recall axis.
func (c *LinkCurve) longest() float64 {
	// With low recall the curve would be in a corner of an axis up to 100 %.
	most := c.Chosen.Recall
	for _, p := range c.Points {
		most = math.Max(most, p.Recall)
	}
	for _, e := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		if most <= e {
			return e
		}
	}
	return 1
}

// PrecisionRecallSVG draws the curve: recall to the right, precision upwards, with a
// mark at each tenth of the threshold and a ring around the chosen one. It returns nil
// if there is nothing to draw.
func PrecisionRecallSVG(c LinkCurve, o SVGOptions) []byte {
	c = c.drawable()
	if len(c.Points) == 0 && !c.Linked {
		return nil
	}
	width, height := float64(o.Width), float64(o.Height)
	left, right, top, bottom := 48.0, width-16, 56.0, height-46
	slim := o.Width < narrow
	end := c.longest()
	x := func(recall float64) float64 { return left + (right-left)*math.Min(recall/end, 1) }
	y := func(precision float64) float64 { return bottom - (bottom-top)*precision }

	var d drawing
	title :=
		"Precision of the intruder’s links against the share of targets found, as the threshold rises. The table of thresholds holds the same numbers."
	fmt.Fprintf(&d,
		`<svg xmlns="http://www.w3.org/2000/svg" class="figure links" viewBox="0 0 %s %s" width="%s" height="%s" role="group" aria-label="%s">`,
		at(width), at(height), at(width), at(height), escaped(title))
	d.rect("plot", left, top, right-left, bottom-top)
	for i := 0; i <= 5; i++ {
		share := float64(i) / 5
		d.line("grid", left, y(share), right, y(share))
		d.text("tick", "end", left-8, y(share)+4, Trimmed(100*share))
		d.line("nib", x(share*end), bottom, x(share*end), bottom+4)
		d.text("tick", "middle", x(share*end), bottom+18, Trimmed(100*share*end))
	}
	d.rect("frame", left, top, right-left, bottom-top)
	precision := "↑ Precision, %: links that are right"
	if slim {
		precision = "↑ Links that are right, %"
	}
	d.text("axis", "start", 4, top-12, precision)
	d.text("axis", "end", right, bottom+38, "Recall, %: targets found →")

	var path, dots strings.Builder
	for i, p := range c.Points {
		word := "L"
		if i == 0 {
			word = "M"
		}
		path.WriteString(word + at(x(p.Recall)) + " " + at(y(p.Precision)))
		fmt.Fprintf(&dots, `<circle class="spot" cx="%s" cy="%s" r="1.8"/>`, at(x(p.Recall)), at(y(p.Precision)))
	}
	d.WriteString(`<g class="c1">`)
	fmt.Fprintf(&d, `<path class="series d0" d="%s"/>%s`, path.String(), dots.String())
	for i, p := range c.Points {
		// Only marks at tenths get the keyboard focus; all marks would be too many.
		tenth := math.Abs(10*p.Threshold-math.Round(10*p.Threshold)) < 1e-9
		if tenth && !(c.Linked && math.Abs(p.Threshold-c.Chosen.Threshold) < 1e-9) || i == len(c.Points)-1 && !tenth {
			d.linkPoint(p, x(p.Recall), y(p.Precision), false, width)
		}
	}
	if c.Linked {
		d.linkPoint(c.Chosen, x(c.Chosen.Recall), y(c.Chosen.Precision), true, width)
		d.chosenLabel(c.Chosen, x(c.Chosen.Recall), y(c.Chosen.Precision), left, right, top, bottom)
	}
	d.WriteString("</g>")
	d.hint()
	d.WriteString("</svg>")
	return []byte(d.String())
}

func (d *drawing) linkPoint(p LinkPoint, x, y float64, chosen bool, width float64) {
	what := p.text()
	if chosen {
		what = "The intruder’s threshold, " + what
	}
	fmt.Fprintf(d, `<g class="pt" role="img" tabindex="0" aria-label="%s"><title>%s</title>`, escaped(what), escaped(what))
	d.circle("halo", x, y, 10)
	if chosen {
		d.circle("pick", x, y, 7)
	}
	d.shape("spot", "", x, y, 4)
	d.circle("hit", x, y, 9)
	s := p.text()
	if longest := int((width - 8) / 7.2); len([]rune(s)) > longest {
		s = fmt.Sprintf("t = %s: %s right, %s found", Trimmed(p.Threshold), Percent(p.Precision), Percent(p.Recall))
	}
	d.text("detail", "start", 4, 18, s)
	d.WriteString("</g>")
}

// chosenLabel labels the chosen threshold where the falling curve leaves room: above it
// on the right or below it on the left.
func (d *drawing) chosenLabel(p LinkPoint, x, y, left, right, top, bottom float64) {
	s := "chosen, t = " + Trimmed(p.Threshold)
	room := 18 + 6.9*float64(len([]rune(s)))
	anchor, to, at := "start", x+14, y-12
	switch {
	case x+room <= right && at >= top+14:
	case x-room >= left && y+22 <= bottom-6:
		anchor, to, at = "end", x-14, y+22
	default:
		at = math.Min(y+22, bottom-6)
		if x+room > right {
			anchor, to = "end", x-14
		}
	}
	d.text("picked", anchor, to, at, s)
}
