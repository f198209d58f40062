package account

import (
	"fmt"
	"maps"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The measures of the rules on records that are lost.
const (
	measureQuarantined = "max_quarantined" // the word of the limit in the configuration
	measureReleased    = "min_released"    // at least one record
)

// maxQuarantined is the limit in force, and whether the configuration states it.
func maxQuarantined(gate config.Gate) (limit float64, stated bool) {
	if gate.MaxQuarantined != nil {
		return *gate.MaxQuarantined, true
	}
	return config.MaxQuarantined, false
}

// judgeLosses compares the share of records that could not be masked with the greatest share
// that the gate allows. It adds a rule to the verdict if the configuration states a limit, or
// if the default limit is exceeded. If no record is released, the rule fails whatever the
// limit.
func judgeLosses(v *assess.Verdict, gate config.Gate, r report.Records) {
	limit, stated := maxQuarantined(gate)
	if r.Read == 0 {
		return
	}
	share := float64(r.Quarantined) / float64(r.Read)
	rule := assess.RuleVerdict{
		Rule: "share of records in quarantine at most " + percent(limit), Measure: measureQuarantined,
		Limit: assess.Float(limit), Found: assess.Float(share), Passed: share <= limit,
	}
	switch {
	case r.Released == 0:
		rule.Rule, rule.Measure, rule.Limit, rule.Found, rule.Passed = "at least one record is released", measureReleased, 1,
			0, false
		if rule.Advice = "no record was drawn: the sample's rate is too small for so few records, or (in a project) all leave with records of other tables"; r.LeftOut > 0 {
			break
		}
		rule.Advice =
			"no record could be masked: the quarantine says why; types and decimals of the masked columns are the first to look at"
	case !rule.Passed:
		rule.Advice = fmt.Sprintf(
			"%d of %d records could not be masked: mend the source or the columns' types, or allow it (gate.max_quarantined)",
			r.Quarantined, r.Read)
	case !stated:
		return
	}
	v.Passed = v.Passed && rule.Passed
	v.Rules = append(v.Rules, rule)
}

// percent formats a limit for a sentence, with the digits in which it was stated.
func percent(share float64) string {
	text, _ := figure.StatedShare(share, 0)
	return strings.ReplaceAll(text, "\u00a0", " ")
}

// ReasonOf returns why a record is in quarantine, in the form in which reasons are counted:
// "wage: not a value of type float64", or the reason alone if the whole record is malformed.
func ReasonOf(r microdata.Reject) string {
	if r.Column == "" {
		return r.Reason
	}
	return r.Column + ": " + r.Reason
}

// Count adds what became of the records of a block that is masked and released.
func Count(to *report.Records, b *microdata.Block) {
	to.Counts = to.Plus(b.Counts())
	for _, r := range b.Rejects {
		if to.Reasons == nil {
			to.Reasons = map[string]int64{}
		}
		to.Reasons[ReasonOf(r)]++
	}
}

// Sum adds two accounts of records, and changes neither of them.
func Sum(a, b report.Records) report.Records {
	all := report.Records{
		Counts: a.Plus(b.Counts), Reasons: a.Reasons,
		Lost: a.Lost + b.Lost, Repeated: a.Repeated + b.Repeated, Unassessed: a.Unassessed + b.Unassessed,
	}
	if len(b.Reasons) > 0 {
		all.Reasons = make(map[string]int64, len(a.Reasons)+len(b.Reasons))
		maps.Copy(all.Reasons, a.Reasons)
		for reason, n := range b.Reasons {
			all.Reasons[reason] += n
		}
	}
	return all
}
