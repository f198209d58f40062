// Package loss measures the information that masking has taken from the users of the
// data, for comparison with the disclosure risk of the release. It also measures
// interval disclosure, a risk that is computed from the same differences.
//
// Columns are []float64 of equal length, with a record at the same index on both sides
// and NaN for a missing value. The package does no I/O. Results hold aggregates and
// column names, never a value.
//
// Several of the measures are those of sdcMicro (Templ, Kowarik & Meindl 2015) and
// agree with its results up to rounding, including its peculiarities, wherever its
// definition is usable. Further measures cover the cases in which it is not:
//
//   - IL1 omits every cell whose original value is 0, so that it does not see damage to
//     zeros. Change.Relative counts these cells.
//   - IL1s is a sum that grows with the number of records, and a suppressed cell counts
//     as unchanged, also in the mean. PerComparedCell omits suppressed cells.
//   - eigen divides by eigenvalues that are 0 up to rounding if columns are collinear.
//     These are omitted here, and Structure counts them.
//   - dRisk measures intervals in the released column's own SD, so that more noise
//     makes wider intervals, and a suppressed cell counts as disclosed. Interval.Sound
//     corrects both.
package loss
