package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const root = "../.."

// The files of docs/figures equal those that the program makes, byte by byte, and it makes no
// others.
func TestFiguresAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("the linkage experiment takes seconds")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("package math differs in the last bits, which may move a coordinate's last digit")
	}
	files, err := figures(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, f := range files {
		made[f.name] = true
		want, err := os.ReadFile(filepath.Join(root, "docs", "figures", f.name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(f.content, want) {
			t.Errorf("docs/figures/%s differs from the program's output: run make figures", f.name)
		}
	}
	kept, err := os.ReadDir(filepath.Join(root, "docs", "figures"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if !made[f.Name()] {
			t.Errorf("docs/figures/%s is not made by the program", f.Name())
		}
	}
}

// A figure is self-contained: well-formed, with a title, without scripts and without requests.
func TestFiguresStandAlone(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "figures", "*.svg"))
	if err != nil || len(paths) != 11 {
		t.Fatalf("%d figures, %v; want 11", len(paths), err)
	}
	for _, path := range paths {
		svg, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		elements := map[string]int{}
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if e, ok := token.(xml.StartElement); ok {
				elements[e.Name.Local]++
				for _, a := range e.Attr {
					if a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "url(") {
						t.Errorf("%s: %s has %s", path, e.Name.Local, a.Name.Local)
					}
				}
			}
		}
		if elements["script"] != 0 || elements["image"] != 0 || elements["title"] != 1 || elements["desc"] != 1 ||
			elements["text"] < 10 {
			t.Errorf("%s: elements %v", path, elements)
		}
	}
}

// risk returns R of a curve at a utility, by linear interpolation, and whether the curve extends to
// there.
func risk(c curve, u float64) (float64, bool) {
	for i := 1; i < len(c.points); i++ {
		a, b := c.points[i-1], c.points[i]
		if (a.x-u)*(b.x-u) <= 0 && a.x != b.x {
			return a.y + (u-a.x)/(b.x-a.x)*(b.y-a.y), true
		}
	}
	return 0, false
}

// Figures 5 to 7 agree with the paper: no λ² protects the minimum under knowledge of its position;
// position gives a greater risk than index at the 99th percentile; at equal utility, unequal
// variance has the smaller R there.
func TestEmpiricalFigures(t *testing.T) {
	charts, err := empirical(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	minimum := charts[0].curves[1].points
	for _, p := range minimum {
		if p.y < 4 {
			t.Errorf("figure 5: R of the minimum is %v at λ² = %v S²", p.y, p.parameter)
		}
	}
	// Clipping at 0 from 2,000 USD: 1/2000² for any draws, once the noise is so large that some
	// record is always clipped.
	if last := minimum[len(minimum)-1].y; last != 25 {
		t.Errorf("figure 5: R of the minimum settles at %v, want 25", last)
	}
	index, position := charts[1].curves[0].points, charts[1].curves[1].points
	for i := range index {
		if position[i].y <= index[i].y {
			t.Errorf("figure 6: at λ² = %v S² R is %v by position, %v by index", index[i].parameter, position[i].y, index[i].y)
		}
	}
	compared := 0
	for _, p := range charts[2].curves[1].points {
		if r, ok := risk(charts[2].curves[0], p.x); ok {
			compared++
			// Doubling the noise around the target halves R: far more than the 10 % error of 200
			// replicates.
			if p.y > 0.8*r {
				t.Errorf("figure 7: at U = %v R is %v with unequal variance, %v with equal", p.x, p.y, r)
			}
		}
	}
	if compared < 80 {
		t.Errorf("figure 7: %d points compared", compared)
	}
}

// Figure 1: R decreases with the noise, and categories help the intruder. The standard error of one
// point is at most √(0.25/(5·846)) = 0.77 %, and neighbouring points share their draws.
func TestLinkageFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	charts, err := linkageFigure(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts[0].curves {
		for i := 1; i < len(c.points); i++ {
			if c.points[i].y > c.points[i-1].y+0.77 || c.points[i].x >= c.points[i-1].x {
				t.Errorf("%s: R goes from %v to %v", c.id, c.points[i-1], c.points[i])
			}
		}
	}
	for i, p := range charts[0].curves[0].points {
		if q := charts[0].curves[1].points[i]; p.y < q.y {
			t.Errorf("λ² = %v: %v %% with the categories, %v %% without", p.parameter, p.y, q.y)
		}
	}
}

// The experiment in simple cases: without noise every record with unique values is identified, and
// each of k equal ones with probability 1/k.
func TestReidentified(t *testing.T) {
	white := [][3]float64{{0, 0, 0}, {1, 0, 0}, {5, 5, 5}, {5, 5, 5}}
	all := []int{0, 1, 2, 3}
	if got := reidentified(white, white, all, all); got != 3 {
		t.Errorf("credit %v, want 1 + 1 + 1/2 + 1/2", got)
	}
	released := [][3]float64{{1, 0, 0}, {0, 0, 0}, {5, 5, 6}, {5, 5, 4}}
	if got := reidentified(white, released, all, all); got != 1 {
		t.Errorf("credit %v, want 0 + 0 + 1/2 + 1/2", got)
	}
}

// Figure 1 of Duncan et al. (2001): R of random rounding computed in another way, from all counts
// that may become the published one and their probabilities, and U from the variance r(b − r).
func TestLimitationFigure(t *testing.T) {
	charts, err := limitation(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	small := []int{3, 4, 3, 4} // of IJ+
	for _, p := range charts[0].curves[0].points {
		base := int(p.parameter)
		worst := 0.0
		for _, v := range small {
			for _, published := range []int{v - v%base, v - v%base + base} {
				if v%base == 0 && published != v {
					continue
				}
				sum, logs := 0.0, 0.0
				for count := max(0, published-base+1); count < published+base; count++ {
					chance := 1 - math.Abs(float64(count-published))/float64(base)
					sum += chance
					logs += chance * math.Log(chance)
				}
				worst = max(worst, 1/(math.Log(sum)-logs/sum))
			}
		}
		if math.Abs(p.y-worst) > 1e-12*worst {
			t.Errorf("base %d: R is %v, want %v", base, p.y, worst)
		}
	}
	// Base 2: the 10 odd counts of the 25 have variance 1.
	odd := 0.0
	for _, row := range withTotals(marginIJ) {
		for _, v := range row {
			odd += math.Mod(v, 2)
		}
	}
	if p := charts[0].curves[0].points[0]; math.Abs(p.x-25/odd) > 1e-12 {
		t.Errorf("base 2: U is %v with %v odd counts", p.x, odd)
	}
}

// Table 2: our rounding and the paper's are additive, round each count to a neighbouring multiple,
// and change equally much. The tables differ from the printed ones exactly where the list of
// misprints says so.
func TestPaperTables(t *testing.T) {
	found, err := rounded()
	if err != nil {
		t.Fatal(err)
	}
	full := withTotals(marginIJ)
	for _, table := range [][][]float64{found, printedTable2} {
		if changes(table, full) != 20 {
			t.Errorf("changes of %v", changes(table, full))
		}
		var inner [][]float64
		for _, row := range table[:4] {
			inner = append(inner, row[:4])
		}
		again := withTotals(inner)
		for i := range table {
			for j, v := range table[i] {
				if again[i][j] != v || math.Mod(v, 3) != 0 || math.Abs(v-full[i][j]) >= 3 {
					t.Errorf("(%d,%d): %v becomes %v, its parts add up to %v", i+1, j+1, full[i][j], v, again[i][j])
				}
			}
		}
	}
	f, err := paperTables()
	if err != nil {
		t.Fatal(err)
	}
	text := string(f.content)
	for _, want := range []string{
		".0001 (.0010)", ".0515 (.5150)", ".0380 (.3800)", ".0008 (.0080)", ".0002 (.0020)", ".134 (.146)", ".225 (.259)",
		".325 (.403)",
		"**74, to 89: 0 to 88**", "**85, to 102: 0 to 94**", "**123, to 148: 57 to 133**",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q stands %d times in the tables", want, strings.Count(text, want))
		}
	}
	third := text[strings.Index(text, "## Table 3"):strings.Index(text, "## Table 4")]
	if strings.Count(third, "(.") != 5 || strings.Count(text, "**") != 6 {
		t.Errorf("other misprints of table 3, or other disclosures:\n%s", text)
	}
}
