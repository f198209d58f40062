package referee

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rate is how often an attack succeeds, with Wilson's score interval (Wilson 1927, "Probable inference, the law of
// succession, and statistical inference", JASA 22).
type Rate struct {
	Attempts  int     `json:"attempts"`
	Successes float64 `json:"successes" doc:"number of successes; of m records that are equally near each counts 1/m"`
	Share     float64 `json:"share" doc:"successes divided by attempts"`
	Lower     float64 `json:"lower" doc:"lower end of Wilson's interval"`
	Upper     float64 `json:"upper" doc:"upper end of Wilson's interval"`

	centre, half float64
}

// Interval is an estimate with its confidence interval.
type Interval struct {
	Value float64 `json:"value"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Outcome is one attack on original records, the same on control records, and a guess without the release.
type Outcome struct {
	Attack   *Rate `json:"attack,omitempty" doc:"attacks on original records"`
	Baseline *Rate `json:"baseline,omitempty" doc:"guesses at random"`
	Control  *Rate `json:"control,omitempty" doc:"the same attacks on control records, of whom the release tells what it tells of anybody"`
	// Risk is (a − c)/(1 − c) of the centres of the intervals of attack a and control c; without control records a.
	Risk *Interval `json:"risk,omitempty" doc:"share of what attacks on control records leave open that attacks on original records find, 0 to 1; without usable control records the success rate itself, an upper bound"`
	Not  string    `json:"not,omitempty" doc:"why the attack was not made, or what limits it"`
}

// quantile returns z such that a standard normal is within ±z with the probability level.
func quantile(level float64) float64 { return distuv.UnitNormal.Quantile((1 + level) / 2) }

// rate returns successes among attempts with their interval.
func rate(attempts int, successes, z float64) *Rate {
	if attempts == 0 {
		return nil
	}
	n := float64(attempts)
	r := &Rate{Attempts: attempts, Successes: successes, Share: successes / n}
	r.centre = (successes + z*z/2) / (n + z*z)
	r.half = z / (n + z*z) * math.Sqrt(successes*(n-successes)/n+z*z/4)
	r.Lower, r.Upper = max(0, r.centre-r.half), min(1, r.centre+r.half)
	return r
}

// risk returns what attacks find beyond control, as Giomi et al. (2023) section 3.3, with the error by propagation.
// Without control records it is the success rate.
func risk(attack, control *Rate) *Interval {
	if attack == nil {
		return nil
	}
	value, half := attack.centre, attack.half
	if control != nil {
		value, half = (attack.centre-control.centre)/(1-control.centre), halfRisk(attack, control)
	}
	bound := func(x float64) float64 { return min(1, max(0, x)) }
	return &Interval{Value: bound(value), Lower: bound(value - half), Upper: bound(value + half)}
}

// halfRisk returns half the length of the interval of a risk.
func halfRisk(attack, control *Rate) float64 {
	left := 1 - control.centre
	return math.Hypot(attack.half/left, (1-attack.centre)/(left*left)*control.half)
}

// outcome returns the result of attacks; control records count only if they are usable.
func (r *run) outcome(attack, baseline, control *Rate) *Outcome {
	o := &Outcome{Attack: attack, Baseline: baseline, Control: control}
	if !r.usable {
		control = nil
	}
	o.Risk = risk(attack, control)
	return o
}
