// Package suppress chooses the secondary suppressions of a set of tables: further cells
// that are suppressed, so that the interval that an intruder can infer for each primary
// cell is as wide as its rule requires.
//
// The search starts with all candidates suppressed and publishes cells, the most costly
// first, as long as every primary cell keeps its interval. Publishing more cells can
// only narrow intervals. Therefore cells are tried in batches, and a batch that fails
// is halved; the result is the same as with single cells. A trial is cheap: the search
// stores for each end of an interval a table that proves it (a witness), and searches
// for a new one only if the witness changes a cell of the batch. For counts with many unsafe
// cells it first looks for a witness near the earlier one (audit.Component.Mend), and in a
// second pass searches longer for the cells that are hidden then.
package suppress
