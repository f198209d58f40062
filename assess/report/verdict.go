package report

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// verdict is the first thing that a report says.
type verdict struct {
	Word   string // Released, Withheld, Stopped, …
	Line   string // one sentence
	Good   bool
	Reason string // why it was withheld
	Held   int    // rules that hold
	Rules  []assess.RuleVerdict
}

func (r *Report) verdict() verdict {
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
		v.Line = fmt.Sprintf("%s %s not hold, and the configuration lets the output go on.", ofRules(failed, n), doOrDoes(failed))
	case n == 0:
		v.Good, v.Word, v.Line = true, "Released", "No gate rule was set: nothing was demanded of risk or utility."
	case n == 1:
		v.Good, v.Word, v.Line = true, "Released", "The gate’s one rule holds."
	default:
		v.Good, v.Word, v.Line = true, "Released", fmt.Sprintf("All %d rules of the gate hold.", n)
	}
	return v
}

// repeats says whether the reason says no more than the broken rules, which stand
// just below it.
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
