package figure

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// TestTrail: earlier places are within the axes and connected in order up to the point,
// and a place with an infinite R interrupts the line.
func TestTrail(t *testing.T) {
	m := RUMap{Points: []RUPoint{{Target: "max", Knowledge: "index", Efficiency: 0.8, R: 1e-4,
		Trail: []RUPlace{{0.6, 1e-9}, {0.7, math.Inf(1)}, {0.7, 1e-5}, {math.NaN(), 1e-5}, {1.35, 2e-5}}}}}
	if lo, hi := m.rangeR(); lo != -10 || hi != -3 {
		t.Errorf("R runs over 10^%d to 10^%d, want -10 to -3", lo, hi)
	}
	if top := m.rangeU(); top != 1.4 {
		t.Errorf("efficiency runs up to %v, want 1.4", top)
	}
	svg := RUMapSVG(m, SVGOptions{})
	checkFigure(t, svg)
	_, group, found := strings.Cut(string(svg), `<g class="trail k-index">`)
	if !found {
		t.Fatal("no trail")
	}
	group, _, _ = strings.Cut(group, "</g>")
	if dots := strings.Count(group, "<circle"); dots != 3 {
		t.Errorf("%d dots, want those of 3 places", dots)
	}
	_, path, _ := strings.Cut(group, ` d="`)
	path, _, _ = strings.Cut(path, `"`)
	var words []rune
	for _, r := range path {
		if r == 'M' || r == 'L' {
			words = append(words, r)
		}
	}
	if string(words) != "MMML" {
		t.Errorf("the line is %q, want its pieces as MMML", path)
	}
	m.Points[0].Trail = nil
	if bytes.Contains(RUMapSVG(m, SVGOptions{}), []byte("trail")) {
		t.Error("a trail without places")
	}
}

// TestSpread: labels keep their order and their distance, stay inside the frame, and
// stay at their wanted place if there is room.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		want := make([]float64, 1+rng.IntN(20))
		for i := range want {
			want[i] = rng.Float64() * 400
		}
		sort.Float64s(want)
		lo, hi, gap := 10.0, 390.0, 5+rng.Float64()*30
		got := spread(want, gap, lo, hi)
		if gap*float64(len(want)-1) > hi-lo {
			gap = (hi - lo) / float64(len(want)-1)
		}
		for i, y := range got {
			if y < lo-1e-9 || y > hi+1e-9 {
				t.Fatalf("%v leaves [%v, %v]", y, lo, hi)
			}
			if i > 0 && y-got[i-1] < gap-1e-9 {
				t.Fatalf("%v after %v: nearer than %v", y, got[i-1], gap)
			}
			alone := (i == 0 || want[i]-want[i-1] > 400) && (i == len(want)-1 || want[i+1]-want[i] > 400)
			if alone && math.Abs(y-math.Min(math.Max(want[i], lo), hi)) > 1e-9 {
				t.Fatalf("%v was moved to %v with nothing near", want[i], y)
			}
		}
	}
	if got := spread([]float64{100, 200}, 20, 0, 300); got[0] != 100 || got[1] != 200 {
		t.Errorf("moved without need: %v", got)
	}
	if got := spread([]float64{100, 100}, 20, 0, 300); got[0] != 90 || got[1] != 110 {
		t.Errorf("two of one place must part evenly: %v", got)
	}
}

// TestFiguresOfAnything: for any numbers a figure is well-formed and every coordinate
// is finite.
func TestFiguresOfAnything(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	values := []float64{0, 1, -1, 1e-300, 1e300, 4e-5, inf, -inf, nan}
	rng := rand.New(rand.NewPCG(3, 5))
	pick := func() float64 { return values[rng.IntN(len(values))] }
	for i := range 120 {
		m := RUMap{Column: `<a href="x">&`, Unit: `"'>`, MinEfficiency: math.Abs(rng.NormFloat64())}
		for range rng.IntN(6) {
			m.Points = append(m.Points,
				RUPoint{Target: "<b>", Knowledge: []string{"index", "position", "mean", "<i>"}[rng.IntN(4)],
					Efficiency: pick(), R: pick(), Failed: rng.IntN(2) == 0, Trail: []RUPlace{{pick(), pick()}, {pick(), pick()}}})
		}
		for range rng.IntN(3) {
			m.Lines = append(m.Lines, RULine{"max", "index", pick()})
		}
		for range rng.IntN(4) {
			set := RUSetting{Name: "<b>\x00", Note: "&", Efficiency: pick(), EfficiencySE: pick(), Admissible: rng.IntN(2) == 0,
				Recommended: rng.IntN(3) == 0}
			for range rng.IntN(4) {
				set.Marks = append(set.Marks,
					RUMark{Label: `"'>`, Style: RUStyle{Colour: rng.IntN(12) - 1, Dash: rng.IntN(9) - 1}, R: pick(), RSE: pick(),
						Worst: rng.IntN(2) == 0})
			}
			m.Settings = append(m.Settings, set)
			m.Curves = append(m.Curves,
				RUCurve{Label: "<i>", Efficiency: []float64{pick(), pick(), pick()}, R: []float64{pick(), pick(), pick()},
					Style: RUStyle{Colour: rng.IntN(3)}})
			m.Key = append(m.Key, RUKey{Text: "<u>", Style: RUStyle{Colour: rng.IntN(3)}, Mark: rng.IntN(2) == 0})
		}
		if i%6 == 0 {
			if err := WriteRUMapsPNG(io.Discard, []RUMap{m}, SVGOptions{}, 0.5); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range []SVGOptions{{}, {Width: 328, Height: 460, ID: `"x`}, {Standalone: true}} {
			checkFigure(t, RUMapSVG(m, o))
		}
		c := &assess.ColumnMeasures{Name: "<b>", Unit: "&", Histogram: &assess.Histogram{}}
		h := c.Histogram
		h.Edges = append(h.Edges, assess.Float(rng.NormFloat64()))
		for k := range rng.IntN(30) {
			h.Edges = append(h.Edges, h.Edges[k]+assess.Float(rng.ExpFloat64()*math.Pow(10, float64(rng.IntN(9)-4))))
			h.Original, h.Released = append(h.Original, rng.IntN(40)), append(h.Released, rng.IntN(40))
		}
		if svg := HistogramSVG(c, 540, 280); svg != nil {
			checkFigure(t, svg)
		}
	}
}

func checkFigure(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Fatalf("<%s %s=%q> in %s", e.Name.Local, a.Name.Local, a.Value, svg)
			}
		}
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct{ lo, hi, first, last float64 }{{50, 2050, 500, 2000}, {0, 80, 0, 80}, {-1, 1, -1, 1},
		{1e-9, 9e-9, 2e-9, 8e-9}} {
		ticks := roundTicks(c.lo, c.hi, 5)
		if len(ticks) < 2 || len(ticks) > 12 || math.Abs(ticks[0]-c.first) > 1e-12*math.Abs(c.hi) ||
			math.Abs(ticks[len(ticks)-1]-c.last) > 1e-12*c.hi {
			t.Errorf("roundTicks(%v, %v) = %v", c.lo, c.hi, ticks)
		}
	}
}

func TestDrawnBinsLeaveTheTailOut(t *testing.T) {
	h := &assess.Histogram{Edges: []assess.Float{0, 1, 2, 3, 4, 1000}, Original: []int{300, 400, 200, 90, 10},
		Released: []int{290, 400, 210, 90, 12}}
	if from, to := drawnBins(h); from != 0 || to != 4 {
		t.Errorf("bins %d to %d are drawn, want 0 to 4", from, to)
	}
	h.Released[4] = 200
	if _, to := drawnBins(h); to != 5 {
		t.Error("a tail with many respondents must be drawn")
	}
}
