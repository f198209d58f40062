package account

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// leastChance is the least probability for which a remark says that an extreme value may be
// released as a bound.
const leastChance = 0.01

// clipRemark returns, for a column whose last mask is a clip, the probability with which its
// least and greatest original values are released as the bound itself, if the bound is nearer
// to them than the usual error. The probability follows from the law of the masks. Together
// with λ it reveals the extreme value, so it belongs in the confidential report only. It
// returns "" if no bound is near, or if the masks have no law.
func (r *Reporter) clipRemark(c *assess.ColumnMeasures) string {
	lower, upper, clips := r.lastClip(c.Name)
	if !clips || c.Original.N == 0 {
		return ""
	}
	law, ok := r.Chain.Law(c.Name)
	if !ok {
		return ""
	}
	low, high := float64(c.Original.Min), float64(c.Original.Max)
	var near []string
	say := func(word, extreme, target string, distance, chance float64) {
		if chance >= leastChance && distance < usual(c, target) {
			near = append(near,
				fmt.Sprintf("with probability %.2g the %s original value leaves as the %s bound itself", chance, extreme, word))
		}
	}
	if !math.IsInf(lower, 0) {
		say("lower", "least", "min", math.Abs(low-lower), law.Below(low, lower))
	}
	if !math.IsInf(upper, 0) {
		say("upper", "greatest", "max", math.Abs(upper-high), 1-law.Below(high, math.Nextafter(upper, math.Inf(-1))))
	}
	if len(near) == 0 {
		return ""
	}
	return "A bound of truncate lies nearer to an extreme than the noise leaves it on average: " +
		strings.Join(near, ", and ") +
		". Move the bound away from the data, or use mode: redraw."
}

// lastClip returns the bounds of the last mask on a column, if that is a clip.
func (r *Reporter) lastClip(column string) (lower, upper float64, ok bool) {
	for _, m := range slices.Backward(r.Config.Masks) {
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		b, bounds := transform.ActionOf(m.Params, column, math.NaN()).(transform.Bounding)
		return b.Lower, b.Upper, bounds && b.Mode != "redraw"
	}
	return 0, 0, false
}

// usual returns the RMSE of an intruder who knows the index of the target's record; 0 if it
// was not measured.
func usual(c *assess.ColumnMeasures, target string) float64 {
	for _, k := range c.Risk {
		if k.Target == target && k.Knowledge == assess.KnowledgeIndex {
			return float64(k.RMSE)
		}
	}
	return 0
}
