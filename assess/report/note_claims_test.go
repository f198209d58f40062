package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/internal/masksim"
)

// described returns a mask of the simulation as described in a report, and the corresponding step
// of package correct; the test there compares the steps with simulated masks in every combination.
func described(m masksim.Mask) (report.Mask, correct.Step) {
	member := func(name string, v any) report.Member[any] { return report.Member[any]{Name: name, Value: v} }
	switch m.Kind {
	case "noise", "laplace", "uniform", "tiers":
		law := map[string]string{"noise": "normal", "tiers": "normal"}[m.Kind]
		if law == "" {
			law = m.Kind
		}
		mask := report.Mask{Mask: "noise", Columns: []string{"a"},
			Parameters: report.Ordered[any]{member("sd", m.SD), member("distribution", law)},
			NoiseSD:    report.Ordered[assess.Float]{{Name: "a", Value: assess.Float(m.SD)}}}
		step := correct.Added{SD: m.SD, Normal: law == "normal"}
		if m.Kind == "tiers" {
			mask.Parameters = append(mask.Parameters,
				member("tiers", []any{map[string]any{"above": m.Above, "variance_factor": m.Factor}}))
			step.Tiers = []correct.Tier{{Above: m.Above, Factor: m.Factor}}
		}
		return mask, step
	case "bias":
		return parameters("bias", member("phi", m.SD)), correct.Multiplied{Phi: m.SD}
	case "clip", "redraw":
		return parameters("truncate", member("lower", m.Lower), member("upper", m.Upper), member("mode", m.Kind)),
			correct.Truncated{Lower: true, Upper: true, Redraw: m.Kind == "redraw"}
	case "round":
		return parameters("round", member("base", m.Step)), correct.Rounded{Step: m.Step}
	case "swap":
		return parameters("swap", member("keys", []any{"k"}), member("rate", m.Rate)),
			correct.Exchanged{With: []string{"k", "a"}}
	}
	return parameters(m.Kind), correct.Unknown{}
}

// TestNoteClaimsNoMoreThanIsKnown: for any masks, in any order and with any published part, the
// note says that a statistic needs no correction only if that is true, and its corrected figures
// have the limits that follow from everything known about the masks.
func TestNoteClaimsNoMoreThanIsKnown(t *testing.T) {
	menu := []masksim.Mask{
		{Kind: "noise", SD: 6}, {Kind: "laplace", SD: 6}, {Kind: "bias", SD: 0.05},
		{Kind: "tiers", SD: 6, Above: 110, Factor: 4},
		{Kind: "clip", Lower: 70, Upper: 130}, {Kind: "redraw", Lower: 70, Upper: 130}, {Kind: "round", Step: 10},
		{Kind: "swap", Rate: 0.6}, {Kind: "blur"},
	}
	all := []string{"sd", "distribution", "tiers", "phi", "lower", "upper", "mode", "base", "keys", "rate"}
	publishes := [][]string{all, nil}
	for _, name := range all {
		publishes = append(publishes, []string{name}, slices.DeleteFunc(slices.Clone(all), func(s string) bool {
			return s == name
		}))
	}
	claims := 0
	for _, masks := range masksim.Chains(menu, 3) {
		var chain correct.Chain
		var list []report.Mask
		label := ""
		for _, m := range masks {
			mask, step := described(m)
			list, chain, label = append(list, mask), append(chain, step), label+" "+m.Kind
		}
		known := chain.Undo(100, 900)
		swapped := slices.ContainsFunc(masks, func(m masksim.Mask) bool { return m.Kind == "swap" })
		for _, publish := range publishes {
			note, ok := noteReport(list...).Public(publish).Note.Columns.Get("a")
			if !ok {
				t.Fatalf("%s: no note", label)
			}
			if c := note.Corrected; c != nil {
				low, high := math.Sqrt(known.Variance.Least), math.Sqrt(known.Variance.Greatest)
				if float64(c.SD.Least) > low+1e-9 || float64(c.SD.Greatest) < high-1e-9 {
					t.Errorf("%s, publish %v: SD %v to %v, known to be %v to %v", label, publish, c.SD.Least, c.SD.Greatest, low, high)
				}
			}
			for _, s := range note.Statistics {
				text := strings.ToLower(s.Text)
				if !strings.Contains(text, "eeds no correction") && !strings.Contains(text, "eed no correction") {
					continue
				}
				claims++
				right := known.Slack == 0
				switch {
				case s.Statistic == "mean":
					right = known.Mean.Exact()
				case s.Statistic == "variance":
					right = known.Variance == correct.Interval{Least: 900, Greatest: 900}
				case swapped:
					right = right &&
						(strings.Contains(text, "no correction is known") || strings.Contains(text, "for all others see below"))
				}
				if !right {
					t.Errorf("%s, publish %v: %s: %q", label, publish, s.Statistic, s.Text)
				}
			}
		}
	}
	if claims < 1000 {
		t.Errorf("only %d claims", claims)
	}
}
