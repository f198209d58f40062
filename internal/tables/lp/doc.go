// Package lp solves linear programs about a known feasible point: the set
//
//	{ z : A z = 0, l ≤ z ≤ u },  l ≤ 0 ≤ u
//
// of the deviations from this point. For a table, A holds its sums, z are the changes
// of the true cells that agree with the published cells, and the least and greatest z
// of a cell are the ends of the interval that an intruder can infer (Duncan et al.
// 2001, §4, "Linear and Integer Programming").
//
// The method is the bounded primal simplex on a sparse LU factorisation with
// product-form updates. Since 0 is feasible there is no phase 1. A variable outside the
// basis may have a value between its bounds ("superbasic"), so every basis is valid at
// 0: bounds can be changed, fixed and freed, and the next problem starts from 0 with
// the last basis.
//
// The package does not depend on tables and imports no other package of this module.
package lp
