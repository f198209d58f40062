package account

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// leastChance is the probability from which on it is said that an extreme may leave as
// a bound.
const leastChance = 0.01

// clipRemark says of a column whose last mask is a clip with what probability its least
// and greatest original value leave as the bound itself, where the bound lies nearer to
// them than the masks leave them on average. The probability follows from the law of the
// masks; with λ it tells the extreme, so it belongs to the confidential report alone.
// "" where no bound is near, and where the masks have no law.
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
			near = append(near, fmt.Sprintf("with probability %.2g the %s original value leaves as the %s bound itself", chance, extreme, word))
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
	return "A bound of truncate lies nearer to an extreme than the noise leaves it on average: " + strings.Join(near, ", and ") +
		". Move the bound away from the data, or use mode: redraw."
}

// lastClip returns the bounds of the last mask on a column, where that is a clip.
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

// usual is to how much a target is known by its own record.
func usual(c *assess.ColumnMeasures, target string) float64 {
	for _, k := range c.Risk {
		if k.Target == target && k.Knowledge == assess.KnowledgeIndex {
			return float64(k.RMSE)
		}
	}
	return 0
}
