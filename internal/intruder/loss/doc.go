// Package loss measures what masking has cost the users of the data, to be set
// beside what an intruder gains from the release, and interval disclosure, which
// is a measure of loss turned round.
//
// Columns come as []float64 of equal length, a record at the same index on both
// sides, NaN where a value is missing. Nothing here does I/O; results hold
// aggregates and name columns, never a value.
//
// Several of the measures are known from sdcMicro (Templ, Kowarik & Meindl 2015),
// and agree with what it computes to rounding, its oddities included, where its
// definition can be used at all. Where it cannot, the measure beside it says so:
//
//   - IL1 drops every cell whose original value is 0, so that damage to zeros is
//     not seen: RelativeChange counts them.
//   - IL1s is a sum that grows with the number of records, and a cell that was
//     suppressed counts as untouched, also in the mean: PerComparedCell.
//   - eigen divides by eigenvalues that are 0 but for rounding where columns are
//     collinear: those are left out, and Structure says how many.
//   - dRisk measures intervals in the released column's own SD, so that more noise
//     makes wider intervals, and a suppressed cell counts as disclosed:
//     Interval.Sound.
package loss
