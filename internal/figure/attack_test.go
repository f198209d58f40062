package figure

import (
	"encoding/xml"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// elements returns the start tags of a figure.
func elements(t *testing.T, svg []byte) (all []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if e, ok := token.(xml.StartElement); ok {
			all = append(all, e.Copy())
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func length(t *testing.T, e xml.StartElement, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(attribute(e, name), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRanks: the length of bars is proportional to their counts, each bar can get the
// keyboard focus, and the first has a style of its own.
func TestRanks(t *testing.T) {
	bars := []RankBar{{Rank: "1", Targets: 40, Share: 0.4}, {Rank: "2", Targets: 10.5, Share: 0.105},
		{Rank: "beyond", Targets: 0}}
	svg := RanksSVG(bars, SVGOptions{Width: 540})
	checkFigure(t, svg)
	var widths []float64
	stops := 0
	for _, e := range elements(t, svg) {
		switch class := attribute(e, "class"); {
		case class == "k-index" || class == "before":
			if (class == "k-index") != (len(widths) == 0) {
				t.Errorf("bar %d has class %s", len(widths), class)
			}
			widths = append(widths, length(t, e, "width"))
		case class == "pt":
			stops++
			if attribute(e, "tabindex") != "0" || attribute(e, "role") != "img" ||
				!strings.Contains(attribute(e, "aria-label"), "Rank "+bars[stops-1].Rank+": ") {
				t.Errorf("bar %d: %v", stops, e.Attr)
			}
		}
	}
	if stops != 3 || len(widths) != 3 || math.Abs(widths[1]/widths[0]-10.5/40) > 0.01 || widths[2] > 1 {
		t.Errorf("%d stops, bars of %v", stops, widths)
	}
	for _, bars := range [][]RankBar{nil, {{Rank: "1"}}, {{Rank: "1", Targets: math.NaN()}}, {{Rank: "1", Targets: -1}},
		{{Rank: "1", Targets: math.Inf(1)}}} {
		if RanksSVG(bars, SVGOptions{Width: 328}) != nil {
			t.Errorf("%v is drawn", bars)
		}
	}
}

// TestPrecisionRecall: the curve goes through its points, the axis of recall fits
// them, and the ring is at the chosen threshold.
func TestPrecisionRecall(t *testing.T) {
	c := LinkCurve{Linked: true, Chosen: LinkPoint{Threshold: 0.25, Precision: 0.5, Recall: 0.04, Correct: 4, Links: 8}}
	for i := range 40 {
		c.Points = append(c.Points,
			LinkPoint{Threshold: float64(i) / 100, Precision: float64(i) / 80, Recall: 0.08 - float64(i)/1000, Correct: 3,
				Links: 100 - i})
	}
	svg := PrecisionRecallSVG(c, SVGOptions{Width: 540, Height: 332})
	checkFigure(t, svg)
	for _, want := range []string{">chosen, t = 0.25<",
		"The intruder’s threshold, t = 0.25: precision 50.0\u00a0%, recall 4.0\u00a0%; 4 of 8 links right", ">10</text>"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is missing", want)
		}
	}
	stops := 0
	var plot, pick xml.StartElement
	for _, e := range elements(t, svg) {
		switch attribute(e, "class") {
		case "pt":
			stops++
		case "plot":
			plot = e
		case "pick":
			pick = e
		}
	}
	// t = 0, 0.1, 0.2, 0.3, the last, 0.39, and the chosen one.
	if stops != 6 {
		t.Errorf("%d stops for the keyboard, want 6", stops)
	}
	// The axis goes to 10 %, so that 4 % are at two fifths of it.
	x := (length(t, pick, "cx") - length(t, plot, "x")) / length(t, plot, "width")
	y := (length(t, pick, "cy") - length(t, plot, "y")) / length(t, plot, "height")
	if math.Abs(x-0.4) > 0.01 || math.Abs(y-0.5) > 0.01 {
		t.Errorf("the chosen threshold is at (%.3f, %.3f) of the plot, want (0.4, 0.5)", x, y)
	}
	if PrecisionRecallSVG(LinkCurve{}, SVGOptions{Width: 328, Height: 300}) != nil {
		t.Error("a curve without points is drawn")
	}
}

func TestAttackFiguresOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	values := []float64{0, 1, 0.5, -1, 2, 1e-300, 1e300, math.Inf(1), math.NaN(), math.MaxFloat64}
	pick := func() float64 { return values[rng.IntN(len(values))] }
	for range 300 {
		var bars []RankBar
		for range rng.IntN(12) {
			bars = append(bars, RankBar{Rank: `<b>&"`, Targets: values[rng.IntN(7)], Share: values[rng.IntN(7)], Note: "<i>"})
		}
		c := LinkCurve{Linked: rng.IntN(2) == 0, Chosen: LinkPoint{pick(), pick(), pick(), pick(), rng.IntN(9)}}
		for range rng.IntN(9) {
			c.Points = append(c.Points, LinkPoint{pick(), pick(), pick(), pick(), rng.IntN(9)})
		}
		for _, width := range []int{328, 540} {
			for _, svg := range [][]byte{RanksSVG(bars, SVGOptions{Width: width}),
				PrecisionRecallSVG(c, SVGOptions{Width: width, Height: 300})} {
				if svg != nil {
					checkFigure(t, svg)
				}
			}
		}
	}
}

func TestAmount(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1057: "1,057", 23.5: "23.5", 1210.25: "1,210.3", 0.5: "0.5",
		7.25: "7.25", 1.0 / 3: "0.333",
		0.0355: "0.0355", 2.5e-7: "2.50×10⁻⁷", 12.04: "12.0", 1e300: "1.00×10³⁰⁰", math.NaN(): "–", math.Inf(1): "∞"} {
		if got := Amount(v); got != want {
			t.Errorf("Amount(%v) = %q, want %q", v, got, want)
		}
	}
}
