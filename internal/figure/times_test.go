package figure

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTimes: values are at their times and heights, and nothing is drawn between two
// points if the values between them are unknown.
func TestTimes(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 22, 8, 0, s, 0, time.UTC) }
	p := TimePanel{Title: "risk", Unit: "USD", Log: true, Points: []TimePoint{
		{at(0), 1e-4, true}, {at(10), 1e-3, false}, {at(20), math.Inf(1), false}, {at(30), 1e-3, false}, {at(40), 0, false},
		{at(50), 1e-4, false}, {at(60), 1e-2, true}, {at(70), 1e-3, false}, {at(80), 1e-2, false}}}
	for _, width := range []int{328, 1136} {
		svg := string(TimesSVG([]TimePanel{p, {Title: "share", Share: true, Points: p.Points[:1]}, {Title: "none"}},
			SVGOptions{Width: width}))
		checkFigure(t, []byte(svg))
		_, group, _ := strings.Cut(svg, `<g class="c1">`)
		group, _, _ = strings.Cut(group, "</g>")
		path := regexp.MustCompile(` d="([^"]*)"`).FindStringSubmatch(group)
		if path == nil || regexp.MustCompile(`[^ML]`).ReplaceAllString(path[1], "") != "MLMMMLL" {
			t.Fatalf("%d px: the line is %v", width, path)
		}
		if dots := strings.Count(group, "<circle"); dots != 2 {
			t.Errorf("%d px: %d points stand alone, want 2", width, dots)
		}
		places := regexp.MustCompile(`[ML]([\d.]+) ([\d.]+)`).FindAllStringSubmatch(path[1], -1)
		x0, x1, x8 := parse(t, places[0][1]), parse(t, places[1][1]), parse(t, places[6][1])
		if math.Abs((x8-x0)/(x1-x0)-8) > 0.05 {
			t.Errorf("%d px: ten seconds are %.1f wide, eighty %.1f", width, x1-x0, x8-x0)
		}
		// The axis runs from 10⁻⁴ to 10⁻²: two decades of the same height.
		if y0, y1, y8 := parse(t, places[0][2]), parse(t, places[1][2]), parse(t, places[6][2]); math.Abs((y0-y1)-(y1-y8)) >
			0.2 || y8 >= y1 {
			t.Errorf("%d px: heights %v, %v, %v", width, y0, y1, y8)
		}
	}
	if TimesSVG([]TimePanel{{Title: "none"}}, SVGOptions{Width: 500}) != nil {
		t.Error("an empty picture")
	}
	checkFigure(t, TimesSVG([]TimePanel{{Points: []TimePoint{{at(0), math.NaN(), false}}}}, SVGOptions{Width: 500}))
}
