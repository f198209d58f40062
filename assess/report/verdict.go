package report

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// verdict is the beginning of a report.
type verdict struct {
	Word   string // Released, Withheld, Stopped, …
	Line   string // one sentence
	Good   bool   // nothing is wrong with it
	Tone   headline.Tone
	Reason string // why it was withheld
	Held   int    // number of rules that hold
	Rules  []assess.RuleVerdict
}

func (r *Report) verdict() verdict {
	v := r.judged()
	switch lost := r.Records.Quarantined; {
	case r.Foreign != nil:
		v.Tone = headline.Neutral
		if n := r.Foreign.Unmatched; n > 0 {
			v.Tone = headline.Amber
			v.Line += fmt.Sprintf(" %s %s no released record.", capital(counted(n, "original record")), hasOrHave(n))
		}
	case !v.Good:
		v.Tone = headline.Bad
	case lost > 0:
		v.Tone = headline.Amber
		v.Line += fmt.Sprintf(" %s could not be masked and %s not released.", counted(lost, "record"), wasOrWere(lost))
	case len(v.Rules) == 0:
		v.Tone = headline.Neutral
	default:
		v.Tone = headline.Good
	}
	return v
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

func wasOrWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// measuredLine is the verdict on a release made by another tool.
const measuredLine = "Risk and utility of a release that was made elsewhere. Nothing was released by this, and no gate judged it."

func hasOrHave(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// judged returns the verdict without its tone.
func (r *Report) judged() verdict {
	v := verdict{Rules: r.Gate.Rules, Reason: r.Withheld}
	for _, rule := range v.Rules {
		if rule.Passed {
			v.Held++
		}
	}
	n := len(v.Rules)
	failed := n - v.Held
	if failed > 0 && v.repeats() {
		v.Reason = ""
	}
	switch {
	case r.Foreign != nil:
		v.Good, v.Word, v.Line = true, "Measured", measuredLine
	case r.Stopped != nil:
		v.Word = "Stopped"
		v.Line = fmt.Sprintf("%s %s not hold: %s.", capital(ofRules(failed, n)), doOrDoes(failed), r.Stopped.Words())
	case r.Withheld != "" && failed > 0:
		v.Word = "Withheld"
		v.Line = fmt.Sprintf("Nothing was published: %s %s not hold.", ofRules(failed, n), doOrDoes(failed))
	case r.Withheld != "":
		v.Word, v.Line = "Withheld", "Nothing was published."
	case !r.Gate.Passed || failed > 0:
		v.Word = "Gate failed"
		v.Line = fmt.Sprintf("%s %s not hold, and the configuration lets the output go on.", ofRules(failed, n),
			doOrDoes(failed))
	case n == 0:
		v.Good, v.Word, v.Line = true, "Released, nothing was demanded",
			"No gate rule was set: what a snooper can infer was measured, and nobody judged it."
	case n == 1:
		v.Good, v.Word, v.Line = true, "Released", "The gate’s one rule holds."
	default:
		v.Good, v.Word, v.Line = true, "Released", fmt.Sprintf("All %d rules of the gate hold.", n)
	}
	return v
}

// repeats reports whether the reason says no more than the broken rules, which are shown
// directly below it.
func (v *verdict) repeats() bool {
	for _, rule := range v.Rules {
		if !rule.Passed && !strings.Contains(v.Reason, rule.Rule) {
			return false
		}
	}
	return true
}

func ofRules(failed, n int) string {
	if n == 1 {
		return "the gate’s one rule"
	}
	return fmt.Sprintf("%d of the gate’s %d rules", failed, n)
}

func doOrDoes(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}
