// Package mdav forms the groups of microaggregation: at least k records each, alike
// within. Groups does so by MDAV, the maximum distance to average vector method of
// Domingo-Ferrer and Mateo-Sanz (2002) in the form of Domingo-Ferrer and Torra (2005,
// algorithm 1), exactly, in a fraction of the n²/k distances that it is written with;
// Sorted does so on one column, in the order of its values.
//
// What makes it fast, and leaves each choice as it is:
//
//   - A k-d tree over all records, of which each node knows the least box of the records
//     that are in no group yet (tree.go). Nearest and farthest records are sought there.
//   - A short list of the records far from the mean (shell.go). MDAV takes records from
//     outside, so what is left is soon a ball: all its surface is almost equally far from
//     the mean, and a tree alone would look at all of the surface each time.
//   - Ties go to the record that comes first. A node knows the least index in it, so that
//     a search passes by a heap of equal records as it does by distant ones.
package mdav
