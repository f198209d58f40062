package assess

import (
	"fmt"
	"math"
	"strings"
)

// worseByFactor is the factor by which this release must miss a rule, on the rule's own scale (R or
// RMSE), for a remark to its steward.
const worseByFactor = 10

// RealisedRemark returns a remark if the realised figure of a target is worse than the rule by
// more than a factor of 10; otherwise "". (The gate judges expected figures.) The remark does
// not give the size of the difference: together with the released value it would disclose the
// original to readers of a log.
func (r Rule) RealisedRemark(c *ColumnMeasures) string {
	if c == nil || c.Name != r.Column || r.MaxRisk == nil && r.MinRMSE == nil {
		return ""
	}
	var worse []string
	for _, k := range c.Risk {
		if !r.covers(k.Target, k.Knowledge) {
			continue
		}
		realised := float64(k.RealisedR)
		beyond := r.MaxRisk != nil && realised > worseByFactor**r.MaxRisk ||
			r.MinRMSE != nil && math.Sqrt(1/realised) < *r.MinRMSE/worseByFactor
		if beyond {
			worse = append(worse, fmt.Sprintf("%s (%s)", k.Target, k.Knowledge))
		}
	}
	if len(worse) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"In this release the draws came out worse than a rule by more than a factor of %d for %s; the gate judges what is expected over releases, and another key has other draws.",
		worseByFactor, strings.Join(worse, ", "))
}
