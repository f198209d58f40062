package correct

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Combined is an estimate from the copies of a synthetic data set.
type Combined struct {
	Estimate, Variance float64
	Freedom            float64 // degrees of freedom of Student's t; +Inf for one copy
}

// Combine puts together an estimate q and its variance u, each as computed from one of m copies
// as if that were data: the mean of q, and T = ū + b/m with b the variance of q between copies,
// on (m − 1)(1 + ū/(b/m))² degrees of freedom (Reiter 2003, section 2). With parameters that
// are estimated and not drawn, as the mask has them, T holds whether some columns are synthetic or
// all (Reiter and Kinney 2012; Raab, Nowok and Dibben 2016); of one copy T = 2u, which is too
// wide rather than too narrow where some columns stay. The rule for fully synthetic data of
// Raghunathan, Reiter and Rubin (2003), (1 + 1/m)b − ū, is for copies that are samples of a
// population under drawn parameters, and so is not for this mask's.
//
// Where means are drawn as well (method: normal) T = 3u of a mean from one copy; of several copies b has it.
// Where models were fitted without a share h of the records (held_out) an estimate varies as if there were
// so many fewer: u counts 1/(1 − h) times, which is too much rather than too little where some columns stay.
//
// It is an error where there are no copies, or not one variance for each estimate.
func Combine(q, u []float64) (Combined, error) {
	m := float64(len(q))
	if len(q) == 0 || len(u) != len(q) {
		return Combined{}, errors.New("combine: must have at least one copy, and one variance for each estimate")
	}
	var c Combined
	within, between := 0.0, 0.0
	for i := range q {
		c.Estimate += q[i] / m
		within += u[i] / m
	}
	if len(q) == 1 {
		c.Variance, c.Freedom = 2*within, math.Inf(1)
		return c, nil
	}
	for _, v := range q {
		between += (v - c.Estimate) * (v - c.Estimate) / (m - 1)
	}
	c.Variance, c.Freedom = within+between/m, math.Inf(1)
	if between > 0 {
		r := 1 + within/(between/m)
		c.Freedom = (m - 1) * r * r
	}
	return c, nil
}

// Interval returns the interval that covers what is estimated with a probability of level.
func (c Combined) Interval(level float64) Interval {
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	if !math.IsInf(c.Freedom, 1) {
		z = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: c.Freedom}.Quantile((1 + level) / 2)
	}
	half := z * math.Sqrt(c.Variance)
	return Interval{c.Estimate - half, c.Estimate + half}
}
