package rumap

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// For points of different samples, efficiency is a share of U₀ of the greatest sample. Utility
// above that of a point's own sample without masks is not a gain, and min_efficiency, which refers
// to the own sample, has no line in the picture.
func TestPointsOfDifferentSamples(t *testing.T) {
	point := func(u, own, gate float64, records int64) Point {
		p := Point{Strategy: Configured, U: assess.Float(u), Efficiency: assess.Float(u / own),
			EfficiencyGate: assess.Float(gate),
			Risk:           []Risk{{Target: "max", Knowledge: "index", R: 1, RMSE: 1}}}
		p.Rebase(&Map{Records: records, U0: assess.Float(own)}, 200)
		return p
	}
	for _, c := range []struct {
		points []Point
		want   int
	}{
		{[]Point{point(120, 80, 0.9, 40), point(90, 200, 0.9, 100)}, 1}, // 120 in a sample that had 80 counts as 80
		{[]Point{point(120, 100, 0.9, 50), point(90, 200, 0.9, 100)}, 0},
		{[]Point{point(90, 200, 0.9, 100), point(120, 100, 0.9, 50)}, 1},
		// the second one has too little efficiency in its own sample
		{[]Point{point(90, 100, 0.9, 50), point(150, 200, 0.4, 100)}, 0},
	} {
		m := &Map{Column: "x", U0: 200, Records: 100, Samples: 2, Replicates: 9, Points: c.points}
		m.SetRules([]assess.Rule{{Column: "x", MinEfficiency: ptr(0.5)}}, false)
		m.Judge()
		if err := m.Recommend(9, again(m), passes); err != nil {
			t.Fatal(err)
		}
		if m.Recommended == nil || m.Recommended.Point != c.want {
			t.Errorf("%+v: recommended %+v, want %d", c.points, m.Recommended, c.want)
		}
		for _, p := range m.Points {
			if p.Efficiency != p.U/200 || p.Records == 0 || p.U0 == 0 {
				t.Errorf("%+v", p)
			}
		}
		curves, _ := m.Alternatives()
		for _, curve := range curves {
			for k, e := range curve.Efficiency {
				if p := c.points[k]; e != float64(p.U/p.U0) {
					t.Errorf("behind a release, point %d has efficiency %v, want %v", k, e, p.U/p.U0)
				}
			}
		}
		if len(curves) == 0 || m.MinEfficiency() != 0 {
			t.Errorf("%d curves; min_efficiency %v is a line on the picture of several samples", len(curves), m.MinEfficiency())
		}
		var text bytes.Buffer
		Summary(&text, m, false, 100)
		for _, want := range []string{"2 samples, the greatest of 100 records", "all records of its sample",
			"min_efficiency is judged within the sample"} {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
				t.Errorf("%q is not in\n%s", want, &text)
			}
		}
		if m.Samples = 0; m.MinEfficiency() != 0.5 || strings.Contains(Basis(m), "sample") {
			t.Errorf("of one sample: %v, %s", m.MinEfficiency(), Basis(m))
		}
	}
}
