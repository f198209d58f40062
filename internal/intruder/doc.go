// Package intruder asks whether a respondent can be found again in a release. An
// intruder holds the key values of a person and computes, by Bayes' rule, the
// probability that each released record belongs to that person. Two models are built
// in: Trottini, Fienberg, Makov and Meyer (2004), in which the release carries bias and
// noise, and Fienberg, Makov and Sanil (1997), in which the intruder's own values carry
// them.
//
// The package computes on columns in memory ([]float64, NaN for a missing value). It
// does no input or output, and names records by their index, never by a value.
// docs/intruder.md describes the computation and how it reproduces the papers' tables.
//
// The target×record matrix of densities is never stored. Records are processed in
// blocks that fit a processor's cache, and each target keeps a running sum of
// densities, its ten greatest densities and the number of records that rank before its
// own.
package intruder
