package figure

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sampleMap is a map of R = 1/λ² against U/U₀ = 1/(1 + λ²), S = 1, with everything
// that a map can show.
func sampleMap() RUMap {
	m := RUMap{Column: "wage", Unit: "USD", MinEfficiency: 0.6, Lines: []RULine{{"max", "index", 4}},
		Points: []RUPoint{
			{Target: "p99", Knowledge: "position", Efficiency: 0.7, R: 2, Failed: true, Trail: []RUPlace{{0.6, 1}}},
			{Target: "max", Knowledge: "mean", Efficiency: 0.7, R: 9}}}
	c := RUCurve{Label: "noise: max, index", Style: RUStyle{Colour: 2, Dash: 1}}
	for λ2 := 0.02; λ2 < 3; λ2 *= 1.7 {
		u := 1 / (1 + λ2)
		c.Efficiency, c.R = append(c.Efficiency, u), append(c.R, 1/λ2)
		m.Settings = append(m.Settings,
			RUSetting{Name: "noise", Efficiency: u, EfficiencySE: 0.01, Admissible: 1/λ2 <= 4 && u >= 0.6,
				Marks: []RUMark{{Label: "max, index", Style: c.Style, R: 1 / λ2, RSE: 0.1 / λ2, Worst: true},
					{Label: "min, position", Style: RUStyle{Colour: 3, Knowledge: "position"}, R: math.Inf(1)}}})
	}
	m.Settings[5].Recommended = true
	for colour := range Colours {
		m.Key = append(m.Key,
			RUKey{Text: "strategy", Style: RUStyle{Colour: colour + 1, Dash: colour % Dashes, Weight: RUWeight(colour % 3)},
				Mark: colour%2 == 0})
	}
	m.Curves = []RUCurve{c, {Label: "reference", Efficiency: c.Efficiency, R: c.R}}
	return m
}

func pngOf(t *testing.T, m RUMap, scale float64) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := WriteRUMapsPNG(&b, []RUMap{m}, SVGOptions{}, scale); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestPNGIsThePictureOfTheSVG: at the place of each element of the SVG the raster has
// its colour.
func TestPNGIsThePictureOfTheSVG(t *testing.T) {
	const scale = 2
	svg := string(RUMapSVG(sampleMap(), SVGOptions{Standalone: true}))
	img := pngOf(t, sampleMap(), scale)
	if b := img.Bounds(); b.Dx() != 720*scale || b.Dy() != 480*scale {
		t.Fatalf("%v pixels", b)
	}
	like := func(x, y int, c color.NRGBA) bool {
		r, g, b, _ := img.At(x, y).RGBA()
		return math.Abs(float64(r>>8)-float64(c.R)) < 8 && math.Abs(float64(g>>8)-float64(c.G)) < 8 &&
			math.Abs(float64(b>>8)-float64(c.B)) < 8
	}
	near := func(x, y float64, c color.NRGBA) bool {
		for dx := -2; dx <= 2; dx++ {
			for dy := -2; dy <= 2; dy++ {
				if like(int(x*scale)+dx, int(y*scale)+dy, c) {
					return true
				}
			}
		}
		return false
	}
	if !near(2, 2, colourOf("paper")) {
		t.Errorf("the paper is %v", img.At(4, 4))
	}
	// The ring about each mark of the recommended point, at its left end.
	rings := regexp.MustCompile(`<circle class="pick" cx="([\d.]+)" cy="([\d.]+)" r="(\d)"/>`).FindAllStringSubmatch(svg,
		-1)
	if len(rings) != 3 { // two marks and the legend's
		t.Fatalf("%d rings", len(rings))
	}
	for _, ring := range rings {
		if x, y, r := parse(t, ring[1]), parse(t, ring[2]), parse(t, ring[3]); !near(x-r, y, colourOf("ok")) {
			t.Errorf("no ring at %v, %v", x-r, y)
		}
	}
	// The marks of the curve, in their series' colour, at their left rim where they are hollow.
	marks := regexp.MustCompile(`<circle class="spot( hollow)?" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"/>`).
		FindAllStringSubmatch(svg, -1)
	curve := 0
	for _, mark := range marks {
		x, y, r := parse(t, mark[2]), parse(t, mark[3]), parse(t, mark[4])
		if mark[1] != "" {
			x -= r
		}
		if near(x, y, colourOf("c2")) {
			curve++
		}
	}
	if n := len(sampleMap().Settings); curve < n {
		t.Errorf("%d of %d marks of the curve have its colour", curve, n)
	}
	// The ink of every text is beside its anchor, and has the height of its letters: a
	// capital of the 12 units that the SVG is set in has 7 to 9.
	texts := regexp.MustCompile(`<text class="[^"]*" text-anchor="(\w+)" x="([\d.]+)" y="([\d.]+)">`).
		FindAllStringSubmatch(svg, -1)
	if len(texts) < 20 {
		t.Fatalf("%d texts", len(texts))
	}
	for _, text := range texts {
		x, y := parse(t, text[2]), parse(t, text[3])
		from, to := x, x+14
		switch text[1] {
		case "end":
			from, to = x-14, x
		case "middle":
			from, to = x-7, x+7
		}
		ink := false
		for px := int(from * scale); px < int(to*scale); px++ {
			for py := int((y - 9) * scale); py <= int(y*scale); py++ {
				ink = ink || !like(px, py, colourOf("paper")) && !like(px, py, colourOf("plot"))
			}
		}
		if !ink {
			t.Errorf("no letter at %v, %v (%s)", x, y, text[1])
		}
	}
}

// TestTextHasTheSizeOfTheSVG: a capital is about 0.7 of the font's size high.
func TestTextHasTheSizeOfTheSVG(t *testing.T) {
	r, err := newRaster(40, 40, 8)
	if err != nil {
		t.Fatal(err)
	}
	r.text("axis", "start", 5, 30, "H")
	top, foot := 0, 0
	for y := range r.Bounds().Dy() {
		for x := range r.Bounds().Dx() {
			if r.RGBAAt(x, y).A > 128 {
				if top == 0 {
					top = y
				}
				foot = y
			}
		}
	}
	if high := float64(foot-top) / 8; high < 0.6*12 || high > 0.78*12 {
		t.Errorf("an H is %.1f units high at 12 units", high)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryClassHasAStyle: a class without a rule would be drawn black in both
// pictures.
func TestEveryClassHasAStyle(t *testing.T) {
	known := map[string]bool{"figure": true, "ru": true, "pt": true, "setting": true, "at": true, "d0": true, "tick": true,
		"legend": true}
	for _, r := range rules {
		known[r.on], known[r.within] = true, true
	}
	svg := RUMapSVG(sampleMap(), SVGOptions{Standalone: true})
	for _, found := range regexp.MustCompile(` class="([^"]*)"`).FindAllSubmatch(svg, -1) {
		for _, class := range strings.Fields(string(found[1])) {
			if !known[class] {
				t.Errorf("no style rule for %q", class)
			}
		}
	}
	for _, r := range rules {
		for _, p := range []paint{r.fill, r.stroke, r.colour} {
			if p != "" && p != none && p != current && colourOf(p).A == 0 {
				t.Errorf("%s: no colour %s", r.on, p)
			}
			if p != "" && p != none && p != current && !strings.Contains(screenCSS, "--"+string(p)+":") {
				t.Errorf("%s: %s has no colour for the dark", r.on, p)
			}
		}
	}
}

// TestGroupsHandDownTheirLook: classes of a group apply to its contents and not to
// later elements, at any depth.
func TestGroupsHandDownTheirLook(t *testing.T) {
	r, err := newRaster(100, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := drawing{pixels: r}
	d.open("c2", "")
	d.shift(50, 0)
	d.rect("spot", 10, 10, 20, 20)
	d.close()
	d.close()
	d.rect("spot", 10, 60, 20, 20)
	d.open("failed", "")
	d.open("", "")
	d.circle("halo", 70, 70, 10)
	d.close()
	d.close()
	for _, c := range []struct {
		x, y int
		want color.NRGBA
	}{{70, 20, colourOf("c2")}, {20, 20, color.NRGBA{}}, {20, 70, color.NRGBA{A: 255}}, {60, 70, colourOf("no")},
		{70, 70, color.NRGBA{}}} {
		if got := color.NRGBAModel.Convert(r.At(c.x, c.y)); got != c.want {
			t.Errorf("%d, %d is %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestPNGHasAnEnd(t *testing.T) {
	for _, scale := range []float64{1000, 0, -1, math.NaN(), math.Inf(1)} {
		if err := WriteRUMapsPNG(io.Discard, []RUMap{{}}, SVGOptions{}, scale); err == nil ||
			!strings.Contains(err.Error(), "pixels") {
			t.Errorf("scale %v: %v", scale, err)
		}
	}
}

// TestStrokeCoversItsArea: the pixels of a straight line add up to its length times
// its width, of a dashed one to the share of its dashes.
func TestStrokeCoversItsArea(t *testing.T) {
	area := func(o *outline, dashes []float64) float64 {
		r, err := newRaster(200, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		r.paint(o.lines, style{stroke: color.NRGBA{A: 255}, strokeOpacity: 1, strokeWidth: 4, dashes: dashes}, nil)
		total := 0.0
		for y := range 200 {
			for x := range 200 {
				_, _, _, a := r.At(x, y).RGBA()
				total += float64(a) / 0xffff
			}
		}
		return total
	}
	line := func(places ...float64) *outline {
		o := new(outline)
		o.move(places[0], places[1])
		for i := 2; i < len(places); i += 2 {
			o.to(places[i], places[i+1])
		}
		return o
	}
	diagonal := 100 * math.Sqrt2
	for _, c := range []struct {
		o      *outline
		dashes []float64
		want   float64
	}{
		{line(20, 100, 120, 100), nil, 400}, {line(20, 20, 120, 120), nil, 4 * diagonal},
		{line(20, 100, 120, 100), []float64{5, 5}, 200}, {line(20, 100, 70, 100, 120, 100), []float64{10, 30}, 4 * 30},
		// A square's corners are rounded: an outer quarter disc each in place of a square
		// of half the width; the sides' flat ends overlap inside.
		{polygon(20, 20, 120, 20, 120, 120, 20, 120), nil, 4*(100*4) - 4*4 + 4*(math.Pi*4/4)},
	} {
		// Edges that lie across pixels are exact to the rasteriser's 8 bits; round joins
		// are polygons of 12 sides, 5 % less than their disc.
		if got := area(c.o, c.dashes); math.Abs(got-c.want) > 0.01*c.want+2 {
			t.Errorf("%s (%v) covers %.1f pixels, want %.1f", c.o.data.String(), c.dashes, got, c.want)
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
