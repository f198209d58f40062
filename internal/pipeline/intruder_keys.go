package pipeline

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// MostForSUDA2 is the greatest number of categorical keys for which SUDA2 scores are computed
// without a request: of 100,000 records with 8 keys they take 1.3 seconds, with 20 keys 16
// seconds (go test ./internal/intruder/uniqueness -bench SUDA2).
const MostForSUDA2 = 8

// leavesOut reports whether a key that cannot be counted is left out. A key that the
// configuration names for an intruder, or that a rule judges by, must not be left out: k over
// fewer keys is greater than k.
func (pl *Plan) leavesOut(uncountable bool) bool {
	a := &pl.Config.Assess
	if !uncountable || !a.KeysByRole() || a.Intruder != nil && a.Intruder.Uniqueness != nil {
		return false
	}
	for _, rule := range pl.Config.Gate.Rules {
		for _, m := range assess.RespondentMeasures {
			if _, given := m.Limit(rule); given && m.Categorical {
				return false
			}
		}
	}
	return true
}

// Unmeasured returns a sentence about the keys that are not measured; "" if all are.
func (c *IntruderColumns) Unmeasured() string {
	if len(c.Left) == 0 {
		return ""
	}
	return fmt.Sprintf("k, individual risk and SUDA2 leave out %s, whose values are nested; name assess.keys",
		strings.Join(c.Left, ", "))
}
