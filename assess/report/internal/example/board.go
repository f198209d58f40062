package example

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/picture"
)

// Crowded returns a report with more of everything than fits on a sheet, in wide letters.
func Crowded() *report.Report {
	r := Withheld()
	wide := strings.Repeat("WWWW ", 20)
	r.Name, r.Columns[0].Name, r.Columns[0].Unit = wide, "列名列名列名列名列名列名列名列名列名列名", wide
	for i := range 30 {
		rule := r.Gate.Rules[i%2]
		rule.Rule, rule.Column = fmt.Sprintf("%s at most %d", wide, i), r.Columns[0].Name
		r.Gate.Rules = append(r.Gate.Rules, rule,
			assess.RuleVerdict{Rule: wide, Column: wide, Measure: fmt.Sprintf("measure_%d", i), Limit: assess.Float(i),
				Found: assess.Float(i)})
		r.Masks = append(r.Masks, r.Masks[i%4])
		r.Masks[len(r.Masks)-1].Columns = []string{wide, wide, wide}
		r.Warnings = append(r.Warnings, wide+wide+wide)
		r.Loosened = append(r.Loosened, report.Loosened{Path: wide, Origin: wide, To: wide})
	}
	r.Withheld = wide
	r.Release = &report.Release{Path: strings.Repeat("W", 120), Bytes: math.MaxInt64, SHA256: strings.Repeat("f", 64)}
	return r
}

// Measured returns the report of a release that was made elsewhere, with pictures of its columns.
func Measured() *report.Report {
	r := Released()
	r.Name, r.Foreign, r.Gate, r.Attack, r.Masks, r.Release = "assess", &report.Foreign{Unmatched: 12},
		assess.Verdict{Passed: true}, nil, nil, nil
	r.Records.Quarantined, r.ConfigSHA256, r.KeyID = 0, "", ""
	r.Pictures = Pictures()
	return r
}

// Pictures returns columns before and after masking, of an invented survey.
func Pictures() []picture.Pair {
	random := rand.New(rand.NewPCG(1, 2))
	const records = 6000
	column := func(name, unit string, x func() float64, sd float64) picture.Pair {
		before, after := make([]float64, records), make([]float64, records)
		for i := range before {
			before[i] = math.Round(x())
			after[i] = math.Round(before[i] + sd*random.NormFloat64())
		}
		return picture.Of(name, unit, before, after)
	}
	return []picture.Pair{
		column("wage", "USD/week", func() float64 { return math.Exp(6.22 + 0.62*random.NormFloat64()) }, 160),
		column("hours", "h", func() float64 { return 40 + 10*random.NormFloat64() }, 3.5),
		column("children", "", func() float64 { return 1 }, 0),
	}
}
