// Package example makes reports of an invented survey, for the tests of the report and
// for looking at its pages. All its figures follow from the normal and log-normal
// distributions; none is of a person.
package example

import (
	"math"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// n is the number of records of the survey.
const n = 28155

// Released is the report of a release that passed its gate.
func Released() *report.Report {
	r := base()
	r.Gate = assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{
		{Rule: "wage: R of max (index) at most 4e-05", Column: "wage", Measure: "max_risk", Target: "max", Knowledge: "index",
			Passed: true, Limit: 4.0e-5, Found: risk(r, "wage", "max", "index").R},
		{Rule: "wage: p99 known to no better than ± 100 (position)", Column: "wage", Measure: "min_rmse", Target: "p99",
			Knowledge: "position",
			Passed:    true, Limit: 100, Found: risk(r, "wage", "p99", "position").RMSE},
		{Rule: "wage: efficiency at least 0.8", Column: "wage", Measure: "min_efficiency",
			Passed: true, Limit: 0.8, Found: r.Columns[0].Utility.EfficiencyGate},
		{Rule: "share of respondents found by linkage at most 0.05", Measure: "max_linked", Passed: true, Limit: 0.05,
			Found: 0.0235},
		{Rule: "respondents linked rightly by the Bayesian intruder at most 30", Measure: "max_correct_links", Passed: true,
			Limit: 30, Found: 11},
		{Rule: "probability of re-identification of every record at most 0.09", Measure: "max_individual_risk", Passed: true,
			Limit: 0.09, Found: 0.0871},
		{Rule: "no value is computed back from the list of masks", Measure: "inversion", Passed: true},
	}}
	r.Attack = Attack()
	r.Release = &report.Release{Path: "cps1988.parquet", Bytes: 161_022,
		SHA256: "3f0a3b1d5f9d1c7e8a6b42c90d7e51f2648c5ab0e97d13f6a2b8c4d0e1f50796"}
	return r
}

// Withheld is the report of a release that its gate refused.
func Withheld() *report.Report {
	r := base()
	r.Gate = assess.Verdict{Rules: []assess.RuleVerdict{
		{Rule: "wage: R of max (index) at most 1.5e-05", Column: "wage", Measure: "max_risk", Target: "max",
			Knowledge: "index",
			Limit:     1.5e-5, Found: risk(r, "wage", "max", "index").R,
			Advice: "wage needs more noise: a snooper knows the maximum to ± 163.3 USD/week, and the rule asks for ± 258.2"},
		{Rule: "wage: efficiency at least 0.8", Column: "wage", Measure: "min_efficiency",
			Passed: true, Limit: 0.8, Found: r.Columns[0].Utility.EfficiencyGate},
		{Rule: "share of respondents found by linkage at most 0.05", Measure: "max_linked", Limit: 0.05, Found: 0.24205,
			Advice: "mask the keys by more than the distance between neighbours, or release fewer of them"},
		{Rule: "respondents linked rightly by the Bayesian intruder at most 30", Measure: "max_correct_links", Limit: 30,
			Found:  assess.Float(math.NaN()),
			Advice: "it was not measured; a rule without its measure does not hold"},
		{Rule: "released records that fit the keys of every respondent at least 5", Measure: "min_k", Limit: 5, Found: 1,
			Advice: "recode the categorical keys more coarsely, or release fewer of them"},
		{Rule: "no value is computed back from the list of masks", Measure: "inversion", Found: 20110,
			Advice: "some masks are undone by whoever knows them; the report says which, on which column"},
	}}
	r.Attack = Broken()
	r.Withheld = "The gate refused the release: no file was written under its name."
	return r
}

// Hostile returns a report whose words look like markup and whose risks are infinite.
func Hostile() *report.Report {
	const name = `<script>alert("x")</script>&'/~`
	r := Withheld()
	r.Name, r.KeyID, r.ConfigSHA256, r.Version = name, name, name, name
	r.Columns[0].Name, r.Columns[0].Unit = name, `"><img src=x onerror=alert(1)>`
	r.Columns[0].Risk[0].Target = name
	r.Columns[0].Risk[1].R, r.Columns[0].Risk[1].SE, r.Columns[0].Risk[1].RMSE = assess.Float(math.Inf(1)),
		assess.Float(math.NaN()), 0
	r.Columns[0].Risk[2].R, r.Columns[0].Risk[2].SE = assess.Float(math.NaN()), assess.Float(math.NaN())
	r.Correlation.Columns[0] = name
	r.Masks[0].Columns[0], r.Masks[0].Name = name, name
	r.Masks[0].Parameters[0].Value = name
	r.Masks[1].NoiseSD[0].Name = name
	r.Gate.Rules[0].Rule, r.Gate.Rules[0].Advice, r.Gate.Rules[0].Column = name, name, name
	r.Gate.Rules[0].Target = name
	r.Withheld = name
	r.Labels = []microdata.Said{
		{Name: name, Label: strings.Repeat(name, 4),
			Values: []microdata.SaidOfCode{{Code: name, Label: strings.Repeat("label without a space", 8)},
				{Code: "1", Label: name}}}}
	r.MissingCodes = []assess.MissingCodes{
		{Column: name, As: "keep", Codes: []assess.MissingCode{{Code: name, Records: 20134}}},
		{Column: "v", As: "null", Codes: []assess.MissingCode{{Code: "97 to 99"}}}}
	r.Attack = Attack()
	hostile(r.Attack, name)
	return r
}

func base() *report.Report {
	mostLost := assess.Float(0.01) // by default
	r := &report.Report{
		Schema: report.SchemaName, Name: "cps-nightly", Version: "0.3.0",
		Started:      time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC),
		Finished:     time.Date(2026, 11, 21, 2, 0, 0, 840_000_000, time.UTC),
		ConfigSHA256: "9f2c1de0b5b6f6d3b8d1a4c37f5e02a6c1b0d9e8f7a6b5c4d3e2f1a0b9c8d7e6",
		KeyID:        "k-5d41402a",
		Records: report.Records{Counts: microdata.Counts{Read: n, Released: n - 3, Quarantined: 3},
			MaxQuarantined: &mostLost},
	}
	m := &assess.Measures{Records: n - 3, Sample: n - 3, Columns: []assess.ColumnMeasures{
		wage(), hours(), plain("education", "years", 13.07, 2.9, 0, 18), plain("experience", "years", 18.2, 13.07, -4, 63),
	}}
	m.Correlation = assess.Correlation{
		Columns: []string{"wage", "hours", "education", "experience"},
		Original: [][]assess.Float{{1, 0.412, 0.302, 0.191}, {0.412, 1, 0.08, 0.03}, {0.302, 0.08, 1, -0.287},
			{0.191, 0.03, -0.287, 1}},
		Released: [][]assess.Float{{1, 0.371, 0.285, 0.181}, {0.371, 1, 0.073, 0.029}, {0.285, 0.073, 1, -0.287},
			{0.181, 0.029, -0.287, 1}},
	}
	r.SetMeasures(m)
	r.Masks = []report.Mask{
		{Mask: "bias", Columns: []string{"wage"}, Records: n - 3,
			Parameters: report.Ordered[any]{{Name: "range", Value: 0.05}, {Name: "phi", Value: 0.05 / 3}}},
		{Mask: "noise", Name: "main noise", Columns: []string{"wage", "hours"}, Records: n - 3,
			Parameters: report.Ordered[any]{{Name: "sd", Value: "35%"}, {Name: "distribution", Value: "normal"},
				{Name: "tiers", Value: []any{map[string]any{"above": 1000.0, "variance_factor": 2.0}}}},
			NoiseSD: report.Ordered[assess.Float]{{Name: "wage", Value: 158.7}, {Name: "hours", Value: 3.5}}},
		{Mask: "truncate", Columns: []string{"wage"}, Records: 1904,
			Parameters: report.Ordered[any]{{Name: "lower", Value: 50.0}, {Name: "mode", Value: "clip"}}},
		{Mask: "swap", Columns: []string{"wage"}, Records: 512,
			Parameters: report.Ordered[any]{{Name: "keys", Value: []any{"education", "experience"}},
				{Name: "attribute", Value: "region"},
				{Name: "rate", Value: 0.1}, {Name: "policy", Value: "unique"}, {Name: "scope", Value: "window"}}},
	}
	return r
}

func risk(r *report.Report, column, target, knowledge string) assess.Risk {
	for _, c := range r.Columns {
		for _, k := range c.Risk {
			if c.Name == column && k.Target == target && k.Knowledge == knowledge {
				return k
			}
		}
	}
	return assess.Risk{}
}

func wage() assess.ColumnMeasures {
	c := assess.ColumnMeasures{Name: "wage", Unit: "USD/week", Masked: true,
		Original:              assess.Moments{N: n - 3, Mean: 603.73, SD: 453.55, Min: 50.05, Max: 18777.2},
		Released:              assess.Moments{N: n - 3, Mean: 606.91, SD: 482.37, Min: 50, Max: 18601.88},
		MeanSquaredDifference: 25911.4,
		Utility: assess.Utility{U: 0.11937, SE: 0.00042, RealisedU: 0.04927, U0: 0.13686, Efficiency: 0.8722,
			EfficiencyGate: 0.8722, Bias: 2.84},
	}
	for _, k := range []struct {
		target, knowledge string
		rmse, realised    float64
	}{
		{"typical", "index", 160.97, 161.2}, {"typical", "mean", 453.6, 454.1},
		{"min", "index", 92.4, 41.2}, {"min", "position", 0.05, 0.05},
		{"p01", "index", 98.1, 120.4}, {"p01", "position", 28.4, 29.1},
		{"p10", "index", 141.9, 88.2}, {"p10", "position", 39.6, 38.9},
		{"p90", "index", 221.7, 310.9}, {"p90", "position", 34.1, 35.0},
		{"p99", "index", 229.3, 190.8}, {"p99", "position", 101.8, 108.9},
		{"max", "index", 163.3, 175.32}, {"max", "position", 163.3, 175.32},
	} {
		c.Risk = append(c.Risk, assess.Risk{Target: k.target, Knowledge: k.knowledge,
			R: assess.Float(1 / (k.rmse * k.rmse)), SE: assess.Float(0.1 / (k.rmse * k.rmse)), RMSE: assess.Float(k.rmse),
			RealisedR:  assess.Float(1 / (k.realised * k.realised)),
			Replicates: 200, Sampled: k.target[0] == 'p'})
	}
	// Log-normal with the survey's mean and spread; noise adds variance, and clipping puts
	// many values at the lower bound.
	c.Histogram = histogram(40, 50, 2050, 18777.2,
		func(x float64) float64 { return phi((math.Log(x) - 6.22) / 0.62) },
		func(x float64) float64 {
			if x <= 50 {
				return 0
			}
			return 0.045 + 0.955*phi((math.Log(x+60)-6.30)/0.62)
		})
	return c
}

func hours() assess.ColumnMeasures {
	c := assess.ColumnMeasures{Name: "hours", Unit: "h", Masked: true,
		Original:              assess.Moments{N: n - 3 - 412, Nulls: 412, Mean: 40.3, SD: 10.02, Min: 1, Max: 99},
		Released:              assess.Moments{N: n - 3 - 412, Nulls: 412, Mean: 40.29, SD: 10.61, Min: -7, Max: 104},
		MeanSquaredDifference: 12.24,
		Utility: assess.Utility{U: 246.4, SE: 0.9, RealisedU: 246.1, U0: 276.3, Efficiency: 0.8918,
			EfficiencyGate: 0.8918, Bias: -0.0012},
	}
	for _, target := range []string{"typical", "min", "max"} {
		c.Risk = append(c.Risk, assess.Risk{Target: target, Knowledge: "index",
			R: 0.0816, SE: 0.00816, RMSE: assess.Float(math.Sqrt(1 / 0.0816)), RealisedR: 0.0817, Replicates: 200})
	}
	c.Risk = append(c.Risk, assess.Risk{Target: "max", Knowledge: "position",
		R: assess.Float(math.Inf(1)), SE: assess.Float(math.NaN()), RMSE: 0, RealisedR: assess.Float(math.Inf(1)),
		Replicates: 200})
	c.Spikes = &assess.Spikes{Values: []assess.Spike{{Value: 40, Share: 0.4213, Released: 0.0402, Kept: 0.0398}},
		Sampled: true, Rest: assess.Rest{
			N: 57_851, Original: assess.RestMoments{Mean: 40.52, SD: 13.17}, Released: assess.RestMoments{Mean: 40.5, SD: 13.62},
			RMSE: 3.5, RealisedR: 0.0816, RealisedU: 311.8, U0: 333.6,
			Percentiles: []assess.RestPercentile{{Name: "p10", Original: 20, Released: 21},
				{Name: "p50", Original: 42, Released: 41}, {Name: "p90", Original: 57, Released: 58}},
		}}
	c.Histogram = histogram(33, 0, 66, 99,
		func(x float64) float64 { return phi((x - 40.3) / 10.02) }, func(x float64) float64 {
			return phi((x - 40.3) / 10.61)
		})
	return c
}

func plain(name, unit string, mean, sd, least, most float64) assess.ColumnMeasures {
	m := assess.Moments{N: n - 3, Mean: assess.Float(mean), SD: assess.Float(sd), Min: assess.Float(least),
		Max: assess.Float(most)}
	u := assess.Float(n / (sd * sd))
	return assess.ColumnMeasures{Name: name, Unit: unit, Original: m, Released: m,
		Utility: assess.Utility{U: u, SE: assess.Float(math.NaN()), RealisedU: u, U0: u, Efficiency: 1, EfficiencyGate: 1},
		Risk:    []assess.Risk{}}
}

// histogram returns a histogram with a number of equal bins over [lo, hi] and one wide bin
// above, merged as an assessment merges them, so that none holds fewer than 10 respondents.
func histogram(bins int, lo, hi, most float64, before, after func(float64) float64) *assess.Histogram {
	h := &assess.Histogram{Edges: []assess.Float{assess.Float(lo)}}
	from := lo
	for i := range bins + 1 {
		to := lo + (hi-lo)*float64(i+1)/float64(bins)
		if i == bins {
			to = most
		}
		share := func(cdf func(float64) float64) int { return int(math.Round((n - 3) * (cdf(to) - cdf(from)))) }
		if i < bins && (share(before) < 10 || share(after) < 10) {
			continue
		}
		h.Original, h.Released = append(h.Original, share(before)), append(h.Released, share(after))
		h.Edges = append(h.Edges, assess.Float(to))
		from = to
	}
	return h
}

// phi is the standard normal distribution function.
func phi(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
