package assess

import "math"

// Upper is R as a gate judges it. Where R rests on a sample, or is not known to a
// stated accuracy, that is the end of its interval at two standard errors on which
// a release is the less safe: R = 1/D, so that the interval is one for D, and
// where it reaches 0, R has no finite upper end. Of replicates of the whole data it is R
// itself, to which the limits of a gate refer.
func (k Risk) Upper() Float {
	if !k.Sampled && !k.Approximate {
		return k.R
	}
	r, se := float64(k.R), float64(k.SE)
	switch {
	case se != se && k.Errs == ErrsEither:
		return Float(math.Inf(1))
	case se != se || se == 0 || math.IsInf(r, 1):
		return k.R
	}
	room := 1/r - 2*se/(r*r)
	if !(room > 0) {
		return Float(math.Inf(1))
	}
	return Float(1 / room)
}

// Lower is EfficiencyGate as a gate judges it: where it rests on a sample, or is not
// known to a stated accuracy, at the end of its interval at two standard errors.
func (u Utility) Lower() Float {
	if !u.Sampled && !u.Approximate || u.SE == 0 {
		return u.EfficiencyGate
	}
	relative := float64(u.SE / u.U)
	switch {
	case relative == relative:
		return u.EfficiencyGate / Float(1+2*relative)
	case u.Errs == ErrsEither:
		return 0
	}
	return u.EfficiencyGate
}
