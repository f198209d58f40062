// Package synthetic makes snapshots of a stream that never was, for the tests of
// the monitor and for looking at its page. Its figures follow from formulas; none
// is of a person.
package synthetic

import (
	"math"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Respondents' values of the column wage: nothing that is served may show them.
// None has another's digits.
const (
	Least            = 50.0571
	Greatest         = 18777.2339
	ReleasedLeast    = 49.1163
	ReleasedGreatest = 18601.8827
	Edge             = 1411.3917 // of the histogram
	Percentile99     = 2187.4461
)

// Limits of the gate's rules.
const (
	MaxRisk       = 4.4e-5
	MinEfficiency = 0.8
)

// Records is the number of records of snapshot k.
func Records(k int) int64 { return 20_000 * int64(k) }

// Snapshot is snapshot k ≥ 1 of a stream whose noise has standard deviation λ in
// the column wage; that of hours stays. The gate holds where λ is from 151 to 226.
func Snapshot(k int, λ float64) *report.Report {
	n := Records(k)
	start := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	r := &report.Report{
		Schema: report.SchemaName, Name: "survey", Version: "0.4.0", Snapshot: int64(k),
		Started: start, Finished: start.Add(time.Duration(k) * 30 * time.Second),
		ConfigSHA256: "9f2c1de0b5b6f6d3b8d1a4c37f5e02a6c1b0d9e8f7a6b5c4d3e2f1a0b9c8d7e6", KeyID: "k-5d41402a",
		Records: report.Records{Counts: microdata.Counts{Read: n, Released: n - 7*int64(k), Quarantined: 7 * int64(k)}},
		Masks: []report.Mask{{Mask: "noise", Columns: []string{"wage", "hours"}, Records: n - 7*int64(k),
			Parameters: report.Ordered[any]{{Name: "sd", Value: "35%"}}}},
	}
	wage := column("wage", "USD/week", n, 603.7314, 453.5512, λ, Least, Greatest, ReleasedLeast, ReleasedGreatest)
	wage.Histogram = &assess.Histogram{Edges: []assess.Float{Least, Edge, Greatest}, Original: []int{90_000, 10_000},
		Released: []int{90_100, 9_900}}
	hours := column("hours", "h", n-400, 40.3137, 10.0219, 3.5, 1.0127, 99.0831, -6.9713, 104.2229)
	m := &assess.Measures{Records: n, Sample: int(min(n, 100_000)), Columns: []assess.ColumnMeasures{wage, hours}}
	m.Correlation = assess.Correlation{Columns: []string{"wage", "hours"},
		Original: [][]assess.Float{{1, 0.41234567}, {0.41234567, 1}},
		Released: [][]assess.Float{{1, 0.37123456}, {0.37123456, 1}}}
	r.SetMeasures(m)
	r.Window = &report.Window{Started: r.Finished.Add(-30 * time.Second), Finished: r.Finished,
		Records: report.Records{Counts: microdata.Counts{Read: 20_000, Released: 19_993, Quarantined: 7}},
		Columns: report.Columns{wage}, Correlation: m.Correlation}
	risk, efficiency, limit := MaxRisk, MinEfficiency, 100.0
	r.Gate = assess.Judge([]assess.Rule{
		{Column: "wage", Target: "max", Knowledge: "index", MaxRisk: &risk},
		{Column: "wage", Target: "p99", Knowledge: "position", MinRMSE: &limit},
		{Column: "wage", MinEfficiency: &efficiency},
	}, m)
	return r
}

// column has the measures of a column whose values have the mean and SD, under
// noise of standard deviation λ.
func column(name, unit string, n int64, mean, sd, λ, least, most, releasedLeast,
	releasedMost float64) assess.ColumnMeasures {
	efficiency := sd * sd / (sd*sd + λ*λ)
	u0 := float64(n) / (sd * sd)
	c := assess.ColumnMeasures{
		Name: name, Unit: unit, Masked: true,
		Original: assess.Moments{N: n, Mean: assess.Float(mean), SD: assess.Float(sd), Min: assess.Float(least),
			Max: assess.Float(most)},
		Released: assess.Moments{N: n, Mean: assess.Float(mean + λ/100), SD: assess.Float(math.Hypot(sd, λ)),
			Min: assess.Float(releasedLeast), Max: assess.Float(releasedMost)},
		MeanSquaredDifference: assess.Float(λ * λ),
		Utility: assess.Utility{U: assess.Float(u0 * efficiency), SE: assess.Float(u0 * efficiency * 0.00317),
			RealisedU: assess.Float(u0 * efficiency * 0.9137), U0: assess.Float(u0),
			Efficiency: assess.Float(efficiency), EfficiencyGate: assess.Float(efficiency), Bias: assess.Float(λ / 5000)},
	}
	add := func(target, knowledge string, rmse, realised float64) {
		// Of what is known by the mean a standard error that the value follows from.
		share := math.Sqrt(2. / 200)
		if knowledge == "mean" {
			share = 2 / rmse
		}
		c.Risk = append(c.Risk,
			assess.Risk{Target: target, Knowledge: knowledge, R: assess.Float(1 / (rmse * rmse)),
				SE:   assess.Float(share / (rmse * rmse)),
				RMSE: assess.Float(rmse), RealisedR: assess.Float(1 / (realised * realised)), Replicates: 200,
				Sampled: target[0] == 'p'})
	}
	add("typical", "mean", math.Hypot(sd, λ/100), sd)
	add("typical", "index", λ, λ*1.0071)
	p99 := Percentile99
	if name != "wage" {
		p99 = mean + 2.33*sd
	}
	for _, t := range []struct {
		name            string
		value, released float64
		position        float64 // rmse as a share of λ
	}{
		{"min", least, releasedLeast, 0.31}, {"p99", p99, p99 + λ/3, 0.68}, {"max", most, releasedMost, 1.4},
	} {
		add(t.name, "mean", math.Abs(t.value-mean), math.Abs(t.value-mean-λ/100))
		add(t.name, "index", λ*(0.98+t.position/50), math.Abs(t.value-t.released))
		add(t.name, "position", λ*t.position, math.Abs(t.value-t.released))
	}
	return c
}
