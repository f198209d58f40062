package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// box is the area of a text: letters are on average 5.6 units wide and about 9 high.
type box struct {
	text           string
	x0, x1, y0, y1 float64
}

func (b box) meets(o box) bool { return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1 }

// crosses reports whether a segment enters the box.
func (b box) crosses(x0, y0, x1, y1 float64) bool {
	for i := range 401 {
		t := float64(i) / 400
		if x, y := x0+t*(x1-x0), y0+t*(y1-y0); x > b.x0 && x < b.x1 && y > b.y0 && y < b.y1 {
			return true
		}
	}
	return false
}

var (
	textInPlot = regexp.MustCompile(
		`<text class="(?:label|limit)" text-anchor="(\w+)" x="([\d.-]+)" y="([\d.-]+)">([^<]*)<`)
	leaderPath = regexp.MustCompile(
		`<path class="leader" d="M([\d.-]+) ([\d.-]+)L([\d.-]+) ([\d.-]+)L([\d.-]+) ([\d.-]+)"`)
)

func boxes(t *testing.T, svg string) (list []box) {
	for _, m := range textInPlot.FindAllStringSubmatch(svg, -1) {
		x, y, width := parse(t, m[2]), parse(t, m[3]), 5.6*float64(Cells(m[4]))
		switch m[1] {
		case "end":
			x -= width
		case "middle":
			x -= width / 2
		}
		list = append(list, box{m[4], x, x + width, y - 8, y + 1})
	}
	return list
}

// TestLabelsKeepClear: for any points, no label overlaps another one or that of a
// threshold, no leader crosses a label or another leader, and all stay inside the
// picture.
func TestLabelsKeepClear(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 4))
	targets := []string{"typical", "min", "p01", "p10", "p25", "p50", "p75", "p90", "p99", "max"}
	for round := range 300 {
		m := RUMap{Column: "wage", Unit: "USD/week"}
		n, shared := 1+rng.IntN(20), rng.Float64()
		spreadOut := math.Pow(10, -4*rng.Float64()) // of the decades
		for i := range n {
			p := RUPoint{Target: targets[i/2], Knowledge: []string{"index", "position"}[i%2], Efficiency: shared,
				R: math.Pow(10, -5+6*spreadOut*rng.Float64()), Failed: rng.IntN(4) == 0}
			if round%3 == 0 {
				p.Efficiency = rng.Float64()
			}
			m.Points = append(m.Points, p)
		}
		for range rng.IntN(4) {
			m.Lines = append(m.Lines, RULine{targets[rng.IntN(10)], "position", math.Pow(10, -5+6*spreadOut*rng.Float64())})
		}
		for _, o := range []SVGOptions{{Standalone: true}, {Width: 580, Height: 500, Beside: true},
			{Width: 328, Height: 460, Beside: true}} {
			svg := string(RUMapSVG(m, o))
			list := boxes(t, svg)
			where := fmt.Sprintf("round %d, %d points, %d lines, %+v", round, n, len(m.Lines), o)
			if o.Standalone && len(list) != n+len(m.Lines) {
				t.Fatalf("%s: %d labels", where, len(list))
			}
			for i, a := range list {
				// Points from end to end of the axis, which no release has, leave no room.
				if (a.x0 < 0 || a.x1 > 720) && round%3 != 0 {
					t.Fatalf("%s: %q leaves the picture", where, a.text)
				}
				for _, b := range list[:i] {
					if a.meets(b) {
						t.Fatalf("%s: %q on %q", where, a.text, b.text)
					}
				}
			}
			leaders := leaderPath.FindAllStringSubmatch(svg, -1)
			for _, l := range leaders {
				x0, y0, x1, y1, x2, y2 := parse(t, l[1]), parse(t, l[2]), parse(t, l[3]), parse(t, l[4]), parse(t, l[5]),
					parse(t, l[6])
				for _, b := range list {
					if strings.Contains(b.text, "≤") {
						continue // a threshold's label may stand at the foot of a leader's lane
					}
					if b.crosses(x0, y0, x1, y1) || b.crosses(x1, y1, x2, y2) {
						t.Fatalf("%s: a leader crosses %q", where, b.text)
					}
				}
			}
		}
	}
}

// TestDots: there is a line for each target and state of knowledge, grouped by target,
// with the gate's line at the limit of the same risk, and failures are stated.
func TestDots(t *testing.T) {
	m := RUMap{Column: "wage", Unit: "USD",
		Lines: []RULine{{"max", "index", 1e-3}, {"max", "", 1e-2}, {"", "position", 1e-4}},
		Points: []RUPoint{{Target: "max", Knowledge: "index", R: 1e-2, Failed: true},
			{Target: "p99", Knowledge: "index", R: 1e-3},
			{Target: "max", Knowledge: "position", R: math.Inf(1), Failed: true}, {Target: "min", Knowledge: "mean", R: 0}}}
	svg := string(RiskDotsSVG(m, SVGOptions{}))
	checkFigure(t, []byte(svg))
	rows := regexp.MustCompile(`<g class="(pt[^"]*)"[^>]*aria-label="([^"]*)"`).FindAllStringSubmatch(svg, -1)
	want := [][2]string{
		{"pt failed", "max, index: R = 0.0100, known to ± 10.0 USD; the gate’s limit is 0.00100, which it does not keep"},
		{"pt failed", "max, position: R = ∞, known to ± 0 USD; the gate’s limit is 1.00×10⁻⁴, which it does not keep"},
		{"pt", "p99, index: R = 0.00100, known to ± 31.6 USD"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d: %v", len(rows), len(want), rows)
	}
	for i, w := range want {
		if rows[i][1] != w[0] || rows[i][2] != w[1] {
			t.Errorf("row %d is %q, want %q", i, rows[i][1:], w)
		}
	}
	// The gate's line of max, index is one decade left of its mark, as far as one decade
	// of the axis.
	group, _, _ := strings.Cut(svg[strings.Index(svg, "max, index: R"):], "</g>")
	line := regexp.MustCompile(`<line class="gate" x1="([\d.]+)"`).FindStringSubmatch(group)
	mark := regexp.MustCompile(`<circle class="mark k-index" cx="([\d.]+)"`).FindStringSubmatch(group)
	ticks := regexp.MustCompile(`<text class="tick" text-anchor="middle" x="([\d.]+)" y="[\d.]+">10`).
		FindAllStringSubmatch(svg, -1)
	if line == nil || mark == nil || len(ticks) < 2 {
		t.Fatal("no line, mark or ticks")
	}
	if decade := parse(t, ticks[1][1]) - parse(t, ticks[0][1]); math.Abs(parse(t, mark[1])-parse(t, line[1])-decade) >
		0.3 {
		t.Errorf("the mark is at %s, the gate's line at %s, a decade is %.1f", mark[1], line[1], decade)
	}
	if RiskDotsSVG(RUMap{Points: []RUPoint{{Target: "max", R: 0}}}, SVGOptions{}) != nil {
		t.Error("a plot without a mark")
	}
}

// TestPanelsShareAxesAndLegend: several maps are side by side with the same axes and
// one legend, and the PNG has the size of the SVG.
func TestPanelsShareAxesAndLegend(t *testing.T) {
	a, b := sampleMap(), sampleMap()
	a.Title, b.Title = "first", "second"
	for i := range b.Settings {
		for k := range b.Settings[i].Marks {
			b.Settings[i].Marks[k].R *= 1e-4
		}
	}
	for _, width := range []int{328, 720, 1136} {
		svg := string(RUMapsSVG([]RUMap{a, b, a}, SVGOptions{Width: width, ID: "x"}))
		checkFigure(t, []byte(svg))
		if n := strings.Count(svg, ">admissible to the rules drawn<"); n != 1 {
			t.Errorf("%d px: the legend is there %d times", width, n)
		}
		axes := regexp.MustCompile(`<text class="tick" text-anchor="end" x="[\d.]+" y="[\d.]+">([^<]*)<`).
			FindAllStringSubmatch(svg, -1)
		if len(axes)%3 != 0 || len(axes) == 0 {
			t.Fatalf("%d px: %d ticks of three panels", width, len(axes))
		}
		for i := range len(axes) / 3 {
			if axes[i][1] != axes[i+len(axes)/3][1] {
				t.Errorf("%d px: panels have axes of their own", width)
			}
		}
		for _, id := range []string{"x-1-clip", "x-2-clip", "x-3-clip"} {
			if strings.Count(svg, `id="`+id+`"`) != 1 {
				t.Errorf("%d px: area %s is not there once", width, id)
			}
		}
		if n := strings.Count(svg, `class="hint"`); n != 1 {
			t.Errorf("%d px: %d hints", width, n)
		}
	}
	img := pngOf(t, a, 1)
	if img.Bounds().Dy() != 480 {
		t.Errorf("one map is %v", img.Bounds())
	}
}
