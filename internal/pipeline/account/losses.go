package account

import (
	"fmt"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// measureQuarantined is the word of the limit in the configuration.
const measureQuarantined = "max_quarantined"

// judgeLosses holds the records that could not be masked against the greatest share
// that the gate lets go. It adds a rule to the verdict where the configuration
// states a limit, and where the limit that holds without it is broken. A source of
// which no record is left is refused whatever the limit.
func judgeLosses(v *assess.Verdict, gate config.Gate, r report.Records) {
	limit, stated := config.MaxQuarantined, gate.MaxQuarantined != nil
	if stated {
		limit = *gate.MaxQuarantined
	}
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
		rule.Rule, rule.Passed = "at least one record is released", false
		rule.Advice = "no record could be masked: the quarantine says why; types and decimals of the masked columns are the first to look at"
	case !rule.Passed:
		rule.Advice = fmt.Sprintf("%d of %d records could not be masked: mend the source or the columns' types, or allow it (gate.max_quarantined)", r.Quarantined, r.Read)
	case !stated:
		return
	}
	v.Passed = v.Passed && rule.Passed
	v.Rules = append(v.Rules, rule)
}

// percent writes a share for a sentence.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + " %" }

// ReasonOf is why a record is in quarantine, as it is counted: "wage: not a value of
// type float64", or the reason alone where the whole record is malformed.
func ReasonOf(r microdata.Reject) string {
	if r.Column == "" {
		return r.Reason
	}
	return r.Column + ": " + r.Reason
}
