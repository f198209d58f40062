// Package intruder asks whether a respondent can be found again in a release. An
// intruder holds the key values of a person and computes, by Bayes' rule, the
// probability of each released record being that person's. Two models are built in:
// Trottini, Fienberg, Makov and Meyer (2004), in which the release is biased and
// noisy, and Fienberg, Makov and Sanil (1997), in which the intruder's own values are.
//
// The package computes on columns in memory ([]float64, NaN for a missing value). It
// does no input or output, and names records by their index, never by a value. What
// is computed, and how the papers' tables come out, is in docs/intruder.md.
//
// The target×record matrix of densities is never held: records pass in blocks that
// fit a processor's cache, and each target keeps a running sum of densities, its ten
// greatest and the count of records that come before its own.
package intruder
