package truth

import (
	"fmt"
	"math"
)

// reported is a figure of a report as a mean squared error; the report contains the reciprocal.
type reported struct {
	figure
	sampled, approximate, bound bool
	errs                        string
}

// reciprocal converts R (or U) and its standard error to the squared error and its standard error:
// d(1/R) = dR/R².
func reciprocal(r, se value, sampled, approximate bool, errs string) reported {
	s := reported{sampled: sampled, approximate: approximate, errs: errs}
	s.value = 1 / float64(r)
	if se == se {
		s.se = float64(se) * s.value * s.value
	}
	return s
}

// figures returns the report's figures of column x, by the names of a reference.
func (r *report) figures() map[string]reported {
	c := r.Columns["x"]
	out := map[string]reported{}
	for _, k := range c.Risk {
		if k.Bound {
			k.SE = 0 // R is the upper end itself
		}
		s := reciprocal(k.R, k.SE, k.Sampled, k.Approximate, k.Errs)
		s.bound = k.Bound
		out[k.Target+" "+k.Knowledge] = s
	}
	u := c.Utility
	out[utility] = reciprocal(u.U, u.SE, u.Sampled, u.Approximate, u.Errs)
	if u.EfficiencyGate != nil {
		g := out[utility]
		g.value = 1 / float64(*u.EfficiencyGate*u.U0)
		out[gateUtility] = g
	}
	out[meanBias] = reported{figure: figure{value: float64(u.Bias)}}
	return out
}

// limit is the allowed deviation of a reported figure on the unsafe side of the truth, in standard
// errors. The full form compares about 30 chains × 8 files × 3 sizes × 25 figures = 18,000 figures.
// A normal variable exceeds 5 with a probability of 2.9e-7, so one of all figures does with a
// probability of half a per cent, if the standard errors are right. They are estimates themselves,
// from a few hundred squares of normal variables each, with a relative standard deviation of about
// √(κ/4M) = 17 % (M = 200, κ = 15 the kurtosis of such a square); 6 instead of 5 compensates for
// this. Seeds are fixed: a false alarm would occur once, and not from time to time.
const limit = 6

// exact is the allowed relative difference without random draws: representatives of narrow bins
// replace their records. With more records than the sample, a percentile is read from a bin with a
// relative width of 1/2048, for which targetExact allows: 1e-4 in "known to ±".
const (
	exact       = 1e-5
	targetExact = 2e-4
)

// unseen is a squared error, in units of the last decimal, that brute force of at least 200
// replicates may miss: a step of probability 15/200 occurs in none of them with a probability of
// e⁻¹⁵. It is used if all replicates are equal, for example with noise below the decimals.
const unseen = 15.0 / 200

// outcome is one figure with its true value.
type outcome struct {
	name     string
	ratio    float64 // reported R (or U) divided by the true one; 1 if both are infinite
	z        float64 // standard errors on the unsafe side, negative on the safe one
	reported reported
	truth    figure
	bin      float64 // half the width of the bin of a percentile, else 0
}

func isUtility(name string) bool { return name == utility || name == gateUtility }

// compare compares one figure with the truth. scale is the square of the column's size, for
// rounding, and unit that of the last decimal.
func compare(name string, s reported, truth figure, scale, unit float64) outcome {
	o := outcome{name: name, reported: s, truth: truth}
	relative := exact
	if s.sampled && name[0] == 'p' {
		relative = targetExact
	}
	rounding := 1e-13*scale + relative*math.Max(s.value, truth.value)
	if truth.se == 0 { // a step so rare that no replicate shows it
		rounding += unseen * unit * (unit + 2*math.Sqrt(truth.value))
	}
	difference := s.value - truth.value // R understated: squared error too great
	if isUtility(name) {
		difference = -difference // U overstated: squared error too small
	}
	se := math.Hypot(s.se, truth.se)
	switch {
	case math.IsNaN(s.value):
		o.ratio, o.z = math.NaN(), math.Inf(1)
		return o
	case math.Abs(difference) <= rounding:
		o.z = 0
	default:
		o.z = (difference - math.Copysign(rounding, difference)) / se // ±Inf without random draws
	}
	o.ratio = truth.value / s.value
	if s.value <= rounding && truth.value <= rounding {
		o.ratio = 1
	}
	return o
}

// unsafe reports whether R is understated or U overstated beyond the standard errors.
func (o outcome) unsafe() bool { return !(o.z <= limit) }

// timid reports whether R is overstated or U understated beyond them, without a note in the report.
// If a rare event decides, for example a swap that seldom reaches a record or noise that seldom
// leaves a bound, 200 replicates may not have seen it: that errs on this side only, and up to 2 %
// is allowed. The same holds, by position, for deviations within the bin of a percentile.
func (o outcome) timid() bool {
	if o.truth.most {
		return false
	}
	if isUtility(o.name) {
		return o.z < -limit && o.ratio < 1/1.02 && !o.reported.approximate
	}
	if o.reported.sampled && math.Abs(math.Sqrt(o.reported.value)-math.Sqrt(o.truth.value)) < o.bin {
		return false // a percentile is known up to its bin
	}
	return o.z < -limit && !(o.ratio < 1.02) && !o.reported.approximate
}

func (o outcome) String() string {
	mark := ""
	if o.reported.approximate {
		mark = " approximate, errs " + o.reported.errs
	}
	return fmt.Sprintf("%-14s ratio %-8.4g z %+6.1f  said %.5g ± %.2g, true %.5g ± %.2g (rms %.5g, true %.5g)%s",
		o.name, o.ratio, o.z, o.reported.value, o.reported.se, o.truth.value, o.truth.se, math.Sqrt(o.reported.value),
		math.Sqrt(o.truth.value), mark)
}
