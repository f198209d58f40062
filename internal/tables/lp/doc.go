// Package lp solves linear programs about a known feasible point: the set
//
//	{ z : A z = 0, l ≤ z ≤ u },  l ≤ 0 ≤ u
//
// of the deviations from it. For a table A holds its sums, z is what an intruder
// may add to the true cells without contradicting what is published, and the
// least and greatest z of a cell are the range that she can infer (Duncan et al.
// 2001, §4, "Linear and Integer Programming").
//
// The method is the bounded primal simplex on a sparse LU factorisation with
// product-form updates. Since 0 is feasible there is no phase 1, and since a
// variable outside the basis may stand between its bounds ("superbasic"), any
// basis will do at 0: bounds can be changed, fixed and freed, and the next
// problem starts from 0 with the last basis.
//
// The package knows nothing of tables and imports nothing of this module.
package lp
