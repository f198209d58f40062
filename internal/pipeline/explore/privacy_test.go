package explore

import (
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// A rule on ε holds on a map from the λ on from which a run's does; where nothing is stated it holds nowhere. The
// recommended point is the one with the least noise that holds, and a run with it passes.
func TestMapJudgesPrivacy(t *testing.T) {
	const masks = "[{noise: {columns: [debt], sd: 9}}, {truncate: {columns: [income], lower: 0, upper: 1000}}, {noise: {columns: [income], sd: 1000, distribution: laplace}}]"
	const gate = "{column: income, max_epsilon: 1.5}, {column: income, max_metric_epsilon: 0.0018}"
	for _, c := range []struct {
		gate    string
		nowhere bool // the last rule holds
	}{{gate, false}, {gate + ", {max_epsilon: 100}", true}} {
		dir := t.TempDir()
		p := judgedBy{n: 60, sample: "all", masks: masks, vary: "{masks.2.noise.sd: {from: 400, to: 1600, steps: 4}}",
			gate: "{allow_unchanged: 1, rules: [" + c.gate + "]}", assess: ", intruder: {inversion: false}"}.load(t, dir)
		m := mapOf(t, p)
		if len(m.Points) < 4 {
			t.Fatalf("%d points", len(m.Points))
		}
		picture, drawn := m.EpsilonPicture()
		if !drawn || len(picture.Settings) != len(m.Points) || len(picture.Lines) != 1 || picture.Lines[0].R != 1.5 {
			t.Errorf("the picture of ε is %+v", picture)
		}
		for i, point := range m.Points {
			if e := picture.Settings[i].Marks[0].R; e != float64(*point.Epsilon) {
				t.Errorf("ε %v is drawn at %v", *point.Epsilon, e)
			}
			sd := point.Parameters["masks.2.noise.sd"]
			if math.Abs(float64(*point.Epsilon)-math.Sqrt2*1000/sd) > 1e-9 {
				t.Errorf("λ %v: ε %v", sd, *point.Epsilon)
			}
			broken := func(rule int) bool {
				return slices.ContainsFunc(point.Broken, func(b rumap.Broken) bool { return b.Rule == rule })
			}
			if broken(0) != (math.Sqrt2*1000/sd > 1.5) || broken(1) != (math.Sqrt2/sd > 0.0018) || broken(2) != c.nowhere {
				t.Errorf("λ %v: %+v, %v", sd, point.Broken, point.Privacy)
			}
		}
		if c.nowhere {
			if m.Recommended != nil {
				t.Error("recommended although nothing is stated of a record with columns as they are")
			}
			continue
		}
		if m.Recommended == nil {
			t.Fatal(m.Reason)
		}
		best := m.Points[m.Recommended.Point]
		if sd := best.Parameters["masks.2.noise.sd"]; !(math.Sqrt2*1000/sd <= 1.5) || !(sd < 1300) {
			t.Errorf("λ %v is recommended", sd)
		}
		if rep := ranOn(t, dir, p, best); !rep.Gate.Passed || rep.Privacy.Of("income").Epsilon != *best.Epsilon {
			t.Errorf("a run: %+v", rep.Gate.Rules)
		}
	}
}
