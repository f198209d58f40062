package pipeline

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
)

// MostForSUDA2 is the greatest number of categorical keys of which SUDA2 scores are
// computed where nobody has asked for them: of 100,000 records with 8 keys they take 1.3
// seconds, with 20 of them 16 (go test ./internal/intruder/uniqueness -bench SUDA2).
const MostForSUDA2 = 8

// leavesOut reports whether a key that cannot be counted is left out. What somebody has
// named for an intruder, or a rule judges by, must be measured whole or not at all: k
// over fewer keys is greater than k.
func (pl *Plan) leavesOut(name string, uncountable bool) bool {
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

// keyPath is where a key stands in the configuration.
func keyPath(a *config.Assess, i int) string {
	if a.KeysByRole() {
		return "columns." + a.IntruderKeys()[i]
	}
	return fmt.Sprintf("assess.keys[%d]", i)
}

// Unmeasured says in words which keys are not measured; "" where all are.
func (c *IntruderColumns) Unmeasured() string {
	if len(c.Left) == 0 {
		return ""
	}
	return fmt.Sprintf("k, individual risk and SUDA2 leave out %s: a mask changes them, or they are nested, and the sample of a run holds the original's categories; "+
		"measure the release with sdlfilter attack --original --released, or name assess.keys", strings.Join(c.Left, ", "))
}
