package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

const sampledNoise = "masks: [{sample: {rate: RATE}}, {noise: {columns: [income], sd: 20%}}, {truncate: {columns: [income], lower: 0}}]"

// A map over the rate of a sample, crossed with another parameter and compared with all records,
// has at each point the R and U of the map of that sample alone and of a run with its parameters.
// Efficiencies are shares of U₀ of the greatest sample. A run with the recommended point passes the
// gate, with the number of records given by the map.
func TestMapOverSamples(t *testing.T) {
	racetest.Further(t)
	const vary = "masks.0.sample.rate: {from: 0.3, to: 90%, steps: 3}"
	const noise = "masks.1.noise.sd: {from: 10%, to: 40%, steps: 2}"
	const all = "strategies: [{name: all, masks: [{noise: {columns: [income], sd: 30%}}], vary: {}}, {name: other, masks: [{sample: {rate: 0.6}}, {noise: {columns: [income], sd: 30%}}], vary: {}}]"
	for name, axes := range map[string]string{"the rate first": vary + ", " + noise,
		"the rate last": noise + ", " + vary} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := mapped(t, dir, strings.Replace(sampledNoise, "RATE", "0.5", 1), "map: {vary: {"+axes+"}, "+all+"}",
				"gate: {rules: [{column: income, target: p10, knowledge: index, min_rmse: 150}]}")
			m := mapOf(t, p)
			want := []string{"configured[0.3 0.1]", "configured[0.3 0.4]", "configured[0.6 0.1]", "configured[0.6 0.4]",
				"configured[0.9 0.1]", "configured[0.9 0.4]", "all[]", "other[]"}
			if name == "the rate last" {
				want = []string{"configured[0.1 0.3]", "configured[0.1 0.6]", "configured[0.1 0.9]", "configured[0.4 0.3]",
					"configured[0.4 0.6]", "configured[0.4 0.9]", "all[]", "other[]"}
			}
			if len(m.Points) != len(want) || len(m.Axes) != 2 || m.Samples != 4 {
				t.Fatalf("the map has %d points, the axes %v and %d samples", len(m.Points), m.Axes, m.Samples)
			}
			alones := map[any]*rumap.Map{} // by the rate
			if m.Records != 1999 || m.Points[6].Records != 1999 {
				t.Errorf("%d records in the greatest sample and %d in the strategy \"all\", want 1999 in both", m.Records,
					m.Points[6].Records)
			}
			for i, point := range m.Points {
				if point.Strategy != rumap.Configured {
					continue
				}
				rate, sd := point.Parameters["masks.0.sample.rate"], point.Parameters["masks.1.noise.sd"]
				if got := fmt.Sprintf("configured[%v %v]", rate, sd); name == "the rate first" && got != want[i] {
					t.Errorf("point %d is %s, want %s", i, got, want[i])
				}
				if got := fmt.Sprintf("configured[%v %v]", sd, rate); name == "the rate last" && got != want[i] {
					t.Errorf("point %d is %s, want %s", i, got, want[i])
				}
				if alones[rate] == nil { // judged by the whole record alike
					alones[rate] = mapOf(t,
						mapped(t, t.TempDir(), strings.Replace(sampledNoise, "RATE", fmt.Sprint(rate), 1), "map: {vary: {"+noise+"}}",
							"gate: {rules: [{column: income, target: p10, knowledge: index, min_rmse: 150}]}"))
				}
				alone := alones[rate]
				w := alone.Points[slices.IndexFunc(alone.Points, func(p rumap.Point) bool {
					return p.Parameters["masks.1.noise.sd"] == sd
				})]
				if point.U != w.U || point.USE != w.USE || point.Bias != w.Bias || point.EfficiencyGate != w.EfficiencyGate ||
					point.U0 != alone.U0 || point.Records != alone.Records {
					t.Errorf("rate %v, sd %v: U %v with %d records; in a map of this sample alone %v with %d", rate, sd, point.U,
						point.Records, w.U, alone.Records)
				}
				for k, r := range point.Risk {
					if v := w.Risk[k]; r.R != v.R || r.Target != v.Target || r.Knowledge != v.Knowledge || r.RSE != v.RSE &&
						r.RSE == r.RSE {
						t.Errorf("rate %v, sd %v: risk %+v; in a map of this sample alone %+v", rate, sd, r, v)
					}
				}
				if e := point.U / m.U0; math.Abs(float64(point.Efficiency-e)) > 1e-12 || m.U0 != m.Points[6].U0 {
					t.Errorf("rate %v, sd %v: efficiency %v with U0 %v, want %v", rate, sd, point.Efficiency, m.U0, e)
				}
			}
			if m.Recommended == nil || !m.Recommended.AsRun {
				t.Fatalf("no point is recommended: %s", m.Reason)
			}
			best := &m.Points[m.Recommended.Point]
			for i := range m.Points {
				if m.Points[i].Admissible && m.Points[i].U > best.U {
					t.Errorf("the recommended point has U %v, but the admissible point %d has %v", best.U, i, m.Points[i].U)
				}
			}
			p.Masks = p.Map.Strategies[0].Masks
			if best.Strategy != "all" {
				t.Fatalf(
					"%s is recommended, want \"all\": all records with noise of 30 %% have the greatest U that the rule allows",
					best.Strategy)
			}
			res, err := filejob.Run(context.Background(), p, pipeline.Options{})
			if err != nil || !res.Report.Gate.Passed {
				t.Fatal(err)
			}
		})
	}
}

// If rules hold only in smaller samples, one of them is recommended, and a run with it gives the
// results of the map.
func TestASampleIsRecommended(t *testing.T) {
	p := mapped(t, t.TempDir(), strings.Replace(sampledNoise, "RATE", "0.5", 1),
		"map: {vary: {masks.0.sample.rate: {from: 0.3, to: 0.9, steps: 3}}}",
		"gate: {rules: [{column: income, target: p10, knowledge: index, min_rmse: 150}, {column: income, min_efficiency: 0.5}]}")
	m := mapOf(t, p)
	if m.Recommended == nil {
		t.Fatal(m.Reason)
	}
	best := m.Points[m.Recommended.Point]
	if best.Parameters["masks.0.sample.rate"] != 0.9 || m.Records != best.Records ||
		!(best.Records > 1700 && best.Records < 1900) {
		t.Errorf("recommended is %v with %d of %d records", best.Parameters, best.Records, m.Records)
	}
	strategies, err := p.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	if p.Masks, err = strategies[0].Masks([]float64{0.9}); err != nil {
		t.Fatal(err)
	}
	res, err := filejob.Run(context.Background(), p, pipeline.Options{})
	if err != nil || !res.Report.Gate.Passed {
		t.Fatal(err)
	}
	c := res.Report.Columns[slices.IndexFunc(res.Report.Columns, func(c assess.ColumnMeasures) bool {
		return c.Name == "income"
	})]
	if best.U != c.Utility.U || best.U0 != c.Utility.U0 || best.EfficiencyGate != c.Utility.EfficiencyGate {
		t.Errorf("the map has U %v and U0 %v, the run has %v and %v", best.U, best.U0, c.Utility.U, c.Utility.U0)
	}
}

// A search follows its first axis within each sample. A sample without records makes its points
// impossible one by one, and the whole map fails if no other point remains.
func TestSearchAndEmptySamples(t *testing.T) {
	vary := "masks.1.noise.sd: {from: 1%, to: 60%, steps: 20}, masks.0.sample.rate: {from: 1e-9, to: 0.8, steps: 2}"
	p := mapped(t, t.TempDir(), strings.Replace(sampledNoise, "RATE", "0.5", 1), "map: {vary: {"+vary+"}, search: true}",
		"gate: {rules: [{column: income, target: p10, knowledge: index, min_rmse: 150}]}")
	m := mapOf(t, p)
	if m.Recommended == nil || m.Points[m.Recommended.Point].Parameters["masks.0.sample.rate"] != 0.8 || m.U0 == 0 ||
		m.Records < 1500 {
		t.Fatalf("recommended is %+v (reason: %s)", m.Recommended, m.Reason)
	}
	empty, trials := 0, 0
	for i, point := range m.Points {
		if i > 0 && m.Points[i-1].Parameters["masks.0.sample.rate"] > point.Parameters["masks.0.sample.rate"] {
			t.Errorf("point %d comes after a point with a greater rate", i)
		}
		if point.Parameters["masks.0.sample.rate"] == 0.8 {
			trials++
			continue
		}
		if empty++; !strings.Contains(point.Impossible, "none of the records") || point.Admissible || point.Records != 0 {
			t.Errorf("a point with an empty sample must be impossible: %+v", point)
		}
	}
	if empty != 20 || trials < 12 {
		t.Errorf("%d points with an empty sample, want 20; %d with the other sample", empty, trials)
	}
	_,
		err := Map(context.Background(),
		mapped(t, t.TempDir(), strings.Replace(sampledNoise, "RATE", "0.5", 1),
			"map: {vary: {masks.0.sample.rate: {from: 1e-9, to: 2e-9, steps: 2}}}"), pipeline.Options{})
	if err == nil || !strings.Contains(err.Error(), "no records to map") {
		t.Errorf("all samples empty: error %v", err)
	}
	_,
		err = Map(context.Background(),
		mapped(t, t.TempDir(), strings.Replace(sampledNoise, "RATE", "0.5", 1),
			"map: {vary: {masks.0.sample.rate: {from: 0.1, to: 0.9, steps: 21}}}"), pipeline.Options{})
	var wrong config.Errors
	if !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(),
			"map: must have at most 20 different samples, because the source is read for each one, and has 21") {
		t.Errorf("21 samples: error %v", err)
	}
}
