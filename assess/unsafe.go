package assess

import "math"

// Upper returns the R that a gate judges. If R is sampled or approximate, this is the less safe
// end of its interval of two standard errors. The interval is computed for D = 1/R; if it
// includes 0, Upper is infinite. For replicates of the whole data it is R itself.
func (k Risk) Upper() Float {
	if !k.Sampled && !k.Approximate || k.Bound {
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

// stateErrors gives every row that is not exact an error, so that none can be taken for exact. A bound of which nothing
// else is known lies R below itself at most: R ± 2 SE is from 0 to twice R, and R is its upper end. Where R may be
// wrong in either direction and nothing shows how far, the error is infinite.
func stateErrors(list []Risk) {
	for i := range list {
		row := &list[i]
		if row.SE > 0 || row.R != row.R {
			continue
		}
		switch one := row.Replicates == 1 && row.SE != row.SE; {
		case !row.Approximate && !one:
		case row.Errs == ErrsSafe:
			row.Bound = true
			if !math.IsInf(float64(row.R), 1) {
				row.SE = row.R / 2
			}
		case !math.IsInf(float64(row.R), 1):
			row.SE = Float(math.Inf(1))
		}
	}
}

// Lower returns the EfficiencyGate that a gate judges: if it is sampled or approximate, the
// lower end of its interval of two standard errors.
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
