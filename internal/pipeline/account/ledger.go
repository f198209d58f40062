package account

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
)

// ledger says what the plan knows of earlier releases; nil without a ledger.
func (r *Reporter) ledger(measures *assess.Measures) *report.Ledger {
	there, not := r.Plan.FromLedger()
	if !there {
		return nil
	}
	l := &report.Ledger{Not: not, Releases: []report.EarlierRelease{}, Privacy: measures.Together}
	for _, e := range r.Plan.EarlierReleases() {
		l.Releases = append(l.Releases, report.EarlierRelease{
			Number: e.Number, Name: e.Name, Same: e.Key.ID() == r.KeyID, Repeats: e.Repeats, Share: assess.Float(math.NaN()),
		})
	}
	return l
}

// judgeUnguarded adds a rule that fails for each sensitive column that earlier releases masked and this one does not,
// unless the gate allows it: columns of this release may tell what the earlier masks have hidden.
func judgeUnguarded(v *assess.Verdict, gate config.Gate, columns []string) {
	for _, name := range columns {
		if !gate.Judges() || slices.Contains(gate.AllowUnguarded, name) {
			continue
		}
		v.Passed = false
		v.Rules = append(v.Rules, assess.RuleVerdict{
			Rule: name + ": what earlier releases masked is judged with this one", Column: name, Measure: "unguarded", Limit: 0,
			Found: 1,
			Advice: fmt.Sprintf(
				"earlier releases of the ledger masked %s, and this one does not: whether its other columns tell of it is not judged. Release it masked too, or allow it (gate.allow_unguarded: [%s])", name, name),
		})
	}
}
