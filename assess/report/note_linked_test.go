package report_test

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// The note on correlated noise: correlations among its columns need no correction if it is the only
// mask on them; otherwise the note makes no such claim.
func TestNoteOnCorrelatedNoise(t *testing.T) {
	member := func(name string, v any) report.Member[any] { return report.Member[any]{Name: name, Value: v} }
	noise := func(sd float64, correlated bool) report.Mask {
		m := report.Mask{Mask: "noise", Columns: []string{"a", "b"},
			Parameters: report.Ordered[any]{member("sd", sd), member("distribution", "normal")},
			NoiseSD: report.Ordered[assess.Float]{{Name: "a", Value: assess.Float(sd)},
				{Name: "b", Value: assess.Float(2 * sd)}}}
		if correlated {
			m.Parameters = append(m.Parameters, member("correlated", true))
		}
		return m
	}
	round := report.Mask{Mask: "round", Columns: []string{"a"}, Parameters: report.Ordered[any]{member("base", 500.0)}}
	for _, tt := range []struct {
		name       string
		masks      []report.Mask
		publish    []string
		want, none []string
	}{
		{"alone", []report.Mask{noise(6, true)}, []string{"sd", "distribution"},
			[]string{"correlation and slopes with b: r(x, w) = r(y, w)", "covariance with b: Cov(x, w) = Cov(y, w)·ρ",
				"drawn for its columns together", "correlated as their values are"}, nil},
		{"not published", []report.Mask{noise(6, true)}, nil,
			[]string{"correlation and slopes with b: r(x, w) = r(y, w)", "correlated as their values are",
				"covariance with b:  Greater"}, []string{" 6", "Cov(y, w)·ρ"}},
		{"and noise", []report.Mask{noise(6, true), noise(5, false)}, []string{"sd", "distribution"},
			[]string{"covariance with b: Cov(x, w) = Cov(y, w) / (1 + V/Var(x))", "masked with together, 36."},
			[]string{"r(x, w) = r(y, w),"}},
		{"and noise, not published", []report.Mask{noise(6, true), noise(5, false)}, nil,
			[]string{"covariance with b:  Greater than among respondents, by a factor that is not published"},
			[]string{"r(x, w) = r(y, w),", "36", "Cov(y, w) /"}},
		{"and rounding", []report.Mask{noise(6, true), round}, []string{"sd", "distribution", "base"},
			[]string{"correlation and slope with b:"}, []string{"r(x, w) = r(y, w),", "Cov(y, w)·ρ"}},
		{"apart", []report.Mask{noise(6, false)}, []string{"sd", "distribution"}, []string{"divide by √ρ of w as well"},
			[]string{"with b", "together", "correlated as"}},
	} {
		note := noteReport(tt.masks...).Public(tt.publish).Note
		a, _ := note.Columns.Get("a")
		text := strings.Join(append(note.General, a.Carries...), "\n")
		for _, s := range a.Statistics {
			text += "\n" + s.Statistic + ": " + s.Formula + " " + s.Text
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: does not say %q:\n%s", tt.name, want, text)
			}
		}
		for _, none := range tt.none {
			if strings.Contains(text, none) {
				t.Errorf("%s: contains %q:\n%s", tt.name, none, text)
			}
		}
	}
}
