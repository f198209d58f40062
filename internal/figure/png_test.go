package figure

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

// sampleMap is a map of R = 1/λ² against U/U₀ = 1/(1 + λ²), S = 1, with everything
// that a map can show.
func sampleMap() RUMap {
	m := RUMap{Column: "wage", Unit: "USD", MinEfficiency: 0.6, Lines: []RULine{{"max", "index", 4}},
		Points: []RUPoint{{Target: "p99", Knowledge: "position", Efficiency: 0.7, R: 2, Failed: true, Trail: []RUPlace{{0.6, 1}}}, {Target: "max", Knowledge: "mean", Efficiency: 0.7, R: 9}}}
	c := RUCurve{Label: "noise: max, index", Style: RUStyle{Colour: 2, Dash: 1}}
	for λ2 := 0.02; λ2 < 3; λ2 *= 1.7 {
		u := 1 / (1 + λ2)
		c.Efficiency, c.R = append(c.Efficiency, u), append(c.R, 1/λ2)
		m.Settings = append(m.Settings, RUSetting{Name: "noise", Efficiency: u, EfficiencySE: 0.01, Admissible: 1/λ2 <= 4 && u >= 0.6,
			Marks: []RUMark{{Label: "max, index", Style: c.Style, R: 1 / λ2, RSE: 0.1 / λ2, Worst: true}, {Label: "min, position", Style: RUStyle{Colour: 3, Knowledge: "position"}, R: math.Inf(1)}}})
	}
	m.Settings[5].Recommended = true
	for colour := range Colours {
		m.Key = append(m.Key, RUKey{Text: "strategy", Style: RUStyle{Colour: colour + 1, Dash: colour % Dashes, Weight: RUWeight(colour % 3)}, Mark: colour%2 == 0})
	}
	m.Curves = []RUCurve{c, {Label: "reference", Efficiency: c.Efficiency, R: c.R}}
	return m
}

func pngOf(t *testing.T, svg []byte, scale float64) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := WritePNG(&b, svg, scale); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestPNGIsThePictureOfTheSVG: where the SVG says that a thing is, its colour is in
// the raster.
func TestPNGIsThePictureOfTheSVG(t *testing.T) {
	const scale = 2
	svg := RUMapSVG(sampleMap(), SVGOptions{Standalone: true})
	img := pngOf(t, svg, scale)
	if b := img.Bounds(); b.Dx() != 720*scale || b.Dy() != 480*scale {
		t.Fatalf("%v pixels", b)
	}
	s, err := parseSheet(figureCSS)
	if err != nil {
		t.Fatal(err)
	}
	want := func(variable string) color.NRGBA {
		c, _, err := paint(s.variables[variable])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	near := func(x, y float64, c color.NRGBA) bool {
		for dx := -2; dx <= 2; dx++ {
			for dy := -2; dy <= 2; dy++ {
				r, g, b, _ := img.At(int(x*scale)+dx, int(y*scale)+dy).RGBA()
				if math.Abs(float64(r>>8)-float64(c.R)) < 8 && math.Abs(float64(g>>8)-float64(c.G)) < 8 && math.Abs(float64(b>>8)-float64(c.B)) < 8 {
					return true
				}
			}
		}
		return false
	}
	if !near(2, 2, want("--paper")) {
		t.Errorf("the paper is %v", img.At(4, 4))
	}
	// The ring about each mark of the recommended point, at its left end.
	rings := regexp.MustCompile(`<circle class="pick" cx="([\d.]+)" cy="([\d.]+)" r="(\d)"/>`).FindAllStringSubmatch(string(svg), -1)
	if len(rings) != 3 { // two marks and the legend's
		t.Fatalf("%d rings", len(rings))
	}
	for _, ring := range rings {
		if x, y, r := parse(t, ring[1]), parse(t, ring[2]), parse(t, ring[3]); !near(x-r, y, want("--ok")) {
			t.Errorf("no ring at %v, %v", x-r, y)
		}
	}
	// The marks of the curve, in their series' colour, at their left rim where they are hollow.
	marks := regexp.MustCompile(`<circle class="spot( hollow)?" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"/>`).FindAllStringSubmatch(string(svg), -1)
	curve := 0
	for _, mark := range marks {
		x, y, r := parse(t, mark[2]), parse(t, mark[3]), parse(t, mark[4])
		if mark[1] != "" {
			x -= r
		}
		if near(x, y, want("--c2")) {
			curve++
		}
	}
	if n := len(sampleMap().Settings); curve < n {
		t.Errorf("%d of %d marks of the curve have its colour", curve, n)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	n := node{attr: map[string]string{"v": s}}
	return n.number("v")
}

// TestEveryClassHasAStyle: a class that figure.css does not know would be drawn
// black in both pictures.
func TestEveryClassHasAStyle(t *testing.T) {
	s, err := parseSheet(figureCSS)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"figure": true, "ru": true, "pt": true, "setting": true, "trail": true, "at": true, "d0": true, "tick": true, "legend": true}
	for _, r := range s.rules {
		for _, part := range r.parts {
			for _, word := range part {
				known[strings.TrimPrefix(word, ".")] = true
			}
		}
	}
	svg := RUMapSVG(sampleMap(), SVGOptions{Standalone: true})
	for _, found := range regexp.MustCompile(` class="([^"]*)"`).FindAllSubmatch(svg, -1) {
		for _, class := range strings.Fields(string(found[1])) {
			if !known[class] {
				t.Errorf("figure.css says nothing of %q", class)
			}
		}
	}
}

func TestPNGRefusesWhatItDoesNotKnow(t *testing.T) {
	for what, svg := range map[string]string{
		"no SVG":            "",
		"another root":      `<p/>`,
		"too large":         `<svg width="100000" height="100000"></svg>`,
		"no size":           `<svg></svg>`,
		"an image":          `<svg width="9" height="9"><image/></svg>`,
		"a curve":           `<svg width="9" height="9"><path d="M0 0C1 1 2 2 3 3"/></svg>`,
		"a path from none":  `<svg width="9" height="9"><path d="L0 0"/></svg>`,
		"an unclosed style": `<svg width="9" height="9"><style>.a{fill:#fff</style></svg>`,
		"a named colour":    `<svg width="9" height="9"><style>.a{fill:red}</style><rect class="a"/></svg>`,
		"a bad dash":        `<svg width="9" height="9"><style>.a{stroke-dasharray:0 0}</style><rect class="a"/></svg>`,
		"broken XML":        `<svg width="9" height="9"><rect></svg>`,
	} {
		if err := WritePNG(io.Discard, []byte(svg), 1); err == nil {
			t.Errorf("%s is drawn", what)
		}
	}
}

// TestStrokeCoversItsArea: the pixels of a straight line add up to its length times
// its width, of a dashed one to the share of its dashes.
func TestStrokeCoversItsArea(t *testing.T) {
	area := func(d, dashes string) float64 {
		style := `.a{fill:none;stroke:#000;stroke-width:4px;stroke-dasharray:` + dashes + `}`
		img := pngOf(t, []byte(`<svg width="200" height="200"><style>`+style+`</style><path class="a" d="`+d+`"/></svg>`), 1)
		total := 0.0
		for y := range 200 {
			for x := range 200 {
				_, _, _, a := img.At(x, y).RGBA()
				total += float64(a) / 0xffff
			}
		}
		return total
	}
	diagonal := 100 * math.Sqrt2
	for _, c := range []struct {
		d, dashes string
		want      float64
	}{
		{"M20 100L120 100", "none", 400}, {"M20 20L120 120", "none", 4 * diagonal},
		{"M20 100L120 100", "5 5", 200}, {"M20 100H70H120", "10 30", 4 * 30},
		// A square's corners are rounded: an outer quarter disc each in place of a square
		// of half the width; the sides' flat ends overlap inside.
		{"M20 20H120V120H20Z", "none", 4*(100*4) - 4*4 + 4*(math.Pi*4/4)},
	} {
		// Edges that lie across pixels are exact to the rasteriser's 8 bits; round joins
		// are polygons of 12 sides, 5 % less than their disc.
		if got := area(c.d, c.dashes); math.Abs(got-c.want) > 0.01*c.want+2 {
			t.Errorf("%s (%s) covers %.1f pixels, want %.1f", c.d, c.dashes, got, c.want)
		}
	}
}

// TestTextIsAnchored: the ink of a text ends where "end" says and begins where
// "start" says, within the side bearing of a letter.
func TestTextIsAnchored(t *testing.T) {
	extent := func(anchor string) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for _, l := range textPath("Hamburg ₀⁻⁵ ≤ ∞", anchor, 100, 50, style{size: 12}) {
			for _, q := range l.points {
				lo, hi = math.Min(lo, q.x), math.Max(hi, q.x)
			}
		}
		return lo, hi
	}
	lo, hi := extent("start")
	if math.Abs(lo-100) > 2 || hi < 160 {
		t.Errorf("start: ink from %.1f to %.1f", lo, hi)
	}
	if _, end := extent("end"); math.Abs(end-100) > 2 {
		t.Errorf("end: ink to %.1f", end)
	}
	if a, b := extent("middle"); math.Abs(a+b-200) > 4 {
		t.Errorf("middle: ink from %.1f to %.1f", a, b)
	}
}

func TestRaised(t *testing.T) {
	for in, want := range map[string]string{
		"R of max at most 4e-05":         "R of max at most 4×10⁻⁵",
		"4.02e+09, 7e-110 and nothing":   "4.02×10⁹, 7×10⁻¹¹⁰ and nothing",
		"column e-05 of table 3e, 1e5 x": "column e-05 of table 3e, 1e5 x",
	} {
		if got := Raised(in); got != want {
			t.Errorf("Raised(%q) = %q, want %q", in, got, want)
		}
	}
}
