package tablemap

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

var infinite = assess.Float(math.Inf(1))

func sample() *Map {
	return &Map{
		Name: "t", Version: "test", Tables: []string{"counts", "<b>"}, Records: 1234, Cells: 20, MaxRisk: 1, MinUtility: 0.1,
		Rules: []string{"counts: risk at most 1"}, Left: []string{"cell_key"},
		Points: []Point{
			{Method: "none", Setting: "none: {}", Configured: true, R: infinite, U: infinite, Efficiency: 1,
				Broken: []string{"counts: risk at most 1"}},
			{Method: "suppress", Setting: "suppress: {cost: unit}", R: 0.5, U: 0.9, Error: infinite, Admissible: true},
			{Method: "suppress", Setting: "suppress: {cost: log}", R: 0.4, U: 0.9, Admissible: true},
			{Method: "suppress", Setting: "suppress: {cost: value}", R: 0, U: 5, Admissible: true, CutShort: true},
			{Method: "round: controlled", Setting: "round: {base: 3, mode: controlled}", Impossible: "no rounding"},
			{Method: "round: small", Setting: "round: {base: 5, mode: small}", R: 0.9, U: 0,
				Broken: []string{"counts: utility at least 0.1"}},
		},
	}
}

// The admissible point with the greatest utility is recommended; if several are equal, the one with
// the least risk. A point that another run may not reproduce is never recommended.
func TestRecommend(t *testing.T) {
	m := sample()
	m.Recommend(true, nil)
	if m.Recommended == nil || *m.Recommended != 2 || m.Reason != "" {
		t.Fatalf("recommended is %v, %q", m.Recommended, m.Reason)
	}
	m.Points[5].Admissible, m.Points[5].U = true, infinite // the last one
	if m.Recommend(true, nil); *m.Recommended != 5 {
		t.Errorf("recommended is %v", *m.Recommended)
	}
	for _, c := range []struct {
		limited bool
		others  []string
		change  func(m *Map)
		want    string
	}{
		{false, nil, func(*Map) {}, "no limit of risk"},
		{true, []string{"x: y"}, func(*Map) {}, "other tables of the configuration would be withheld: x: y"},
		{true, nil, func(m *Map) { m.Points = m.Points[3:] }, "cut short by patience"},
		{true, nil, func(m *Map) { m.Points = m.Points[4:5] }, "none of the methods can"},
		{true, nil, func(m *Map) {
			m.Points = append(m.Points[4:], m.Points[0])
		},
			"every rule holds at some of the 2 points, all of them at none: counts: risk at most 1 at 1; counts: utility at least 0.1 at 1"},
		{true, nil, func(m *Map) {
			m.Points = append(m.Points[:1], m.Points[4])
		}, "at no point holds: counts: risk at most 1"},
	} {
		m := sample()
		c.change(m)
		if m.Recommend(c.limited, c.others); m.Recommended != nil || !strings.Contains(m.Reason, c.want) {
			t.Errorf("%v, %q, want %q", m.Recommended, m.Reason, c.want)
		}
	}
}

// Every output format contains every point, and the formats for programs can be read back.
func TestForms(t *testing.T) {
	m := sample()
	m.Recommend(true, nil)
	var b bytes.Buffer
	if err := m.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	back := new(Map)
	if err := json.Unmarshal(b.Bytes(), back); err != nil || back.Schema != Schema || len(back.Points) != 6 ||
		*back.Recommended != 2 || !math.IsInf(float64(back.Points[0].R), 1) {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := (&Map{Points: []Point{{}}}).WriteJSON(&b); err != nil || strings.Contains(b.String(), "null,") &&
		!strings.Contains(b.String(), `"recommended": null`) || strings.Contains(b.String(), `"broken": null`) {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := m.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 7 || rows[1][5] != "Infinity" || rows[3][9] != "true" || rows[2][9] != "false" ||
		rows[5][11] != "no rounding" || rows[5][5] != "" || rows[6][7] != "0" {
		t.Errorf("%v: %q", err, rows)
	}
	for _, width := range []int{0, 60, 200} {
		for _, color := range []bool{false, true} {
			b.Reset()
			if err := m.Summary(&b, color, width); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Count(text, "suppress: {cost") != 4 || !strings.Contains(text, "never") ||
				!strings.Contains(text, "1,234 records") || color != strings.Contains(text, "\x1b[") {
				t.Errorf("width %d:\n%s", width, text)
			}
			if !color && strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
				t.Errorf("not ASCII:\n%s", text)
			}
		}
	}
	b.Reset()
	if err := m.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if html := b.String(); strings.Count(html, "<tr") != 7 || strings.Contains(html, "<b>") ||
		strings.Contains(html, "http://www.w3.org/2000/svg\"><script") || strings.Count(html, `class="chosen"`) != 1 ||
		strings.Contains(html, "NaN") {
		t.Errorf("page:\n%s", html)
	}
}

// The pictures are well-formed and have a mark for each possible point. They are also drawn for maps
// without points, for points without a position and for limits at the ends of an axis.
func TestPictures(t *testing.T) {
	for name, change := range map[string]func(m *Map){
		"as it is":   func(*Map) {},
		"no points":  func(m *Map) { m.Points = nil },
		"one point":  func(m *Map) { m.Points = m.Points[1:2] },
		"no numbers": func(m *Map) { m.Points[1].R, m.Points[2].U = assess.Float(math.NaN()), assess.Float(math.NaN()) },
		"no limits":  func(m *Map) { m.MaxRisk, m.MinUtility = infinite, 0 },
		"all at ends": func(m *Map) {
			m.Points = []Point{{Method: "a", R: 0, U: 0}, {Method: "b", R: infinite, U: infinite}}
		},
		"many methods": func(m *Map) {
			for i := range 20 {
				m.Points = append(m.Points,
					Point{Method: strings.Repeat("x", i+1), R: assess.Float(math.Pow(10, float64(i))), U: 1e-300})
			}
		},
	} {
		m := sample()
		change(m)
		m.Recommend(true, nil)
		var b bytes.Buffer
		if err := m.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%s: an invalid position", name)
		}
		marks, d := 0, xml.NewDecoder(&b)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "g" {
				for _, a := range e.Attr {
					if a.Name.Local == "role" {
						marks++
					}
				}
			}
		}
		want := 0
		for _, p := range m.Points {
			if p.Impossible == "" && p.R >= 0 && p.U >= 0 {
				want++
			}
		}
		if marks != want {
			t.Errorf("%s: %d marks, want %d", name, marks, want)
		}
		if name != "as it is" && name != "no points" {
			continue // drawing pixels is slow
		}
		b.Reset()
		if err := m.WritePNG(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
