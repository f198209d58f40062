package account

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// mostDetermined is the greatest share of a column's rounded dates that may be known exactly by the release alone, as for values on a lattice that
// masks leave nearest to their own.
const mostDetermined = 0.005

// determined returns the columns of rounded dates of which too many are known exactly, because each of their intervals has one date: R takes the
// dates to be spread over it. Shards and streams, whose records are masked elsewhere or again, are left out.
func (r *Reporter) determined() (list []transform.Determined) {
	if r.Interim || r.Chain == nil || r.Config.Streaming() {
		return nil
	}
	for _, d := range r.Chain.Determined() {
		if float64(d.Records) > mostDetermined*float64(d.Of) {
			list = append(list, d)
		}
	}
	return list
}

// judgeDetermined fails a release with rules in which rounded dates are known exactly.
func (r *Reporter) judgeDetermined(v *assess.Verdict) {
	if !r.Config.Gate.Judges() {
		return
	}
	for _, d := range r.determined() {
		v.Passed = false
		v.Rules = append(v.Rules, assess.RuleVerdict{
			Column: d.Column, Measure: "max_risk", Limit: assess.Float(math.Inf(1)), Found: assess.Float(math.Inf(1)),
			Rule:   d.Column + ": rounded dates not known exactly by the release",
			Advice: determinedText(d) + "; round to a longer interval, or add noise in days",
		})
	}
}

func determinedText(d transform.Determined) string {
	return fmt.Sprintf("%d of %d released dates stand for one and the same original date each, in several records: whoever knows how dates lie in their interval knows them exactly (R is infinite)", d.Records, d.Of)
}
