// Package assess measures a release: disclosure risk R and data utility U of pairs (original,
// released), their moments and correlations, snapshots during a run, and the gate's verdict.
// The measures are those of Duncan, Keller-McNulty and Stokes (2004).
//
// An Accumulator takes the pairs block by block. It keeps exact moments, covariances, squared
// differences and the most extreme records; counts of the values in narrow bins, for
// percentiles; and a keyed bottom-k sample of records, for replicates. Accumulators can be
// merged: the total does not depend on how the data were split. The package does no I/O and
// knows no file format.
//
// Map of the files, each of which calls only those named before it: measures.go, rule.go,
// law.go, options.go (inputs and results); columns.go, kernels.go, sums.go,
// accumulator.go, encode.go, delta.go, pairs.go, bracket.go (the accumulated data);
// reckoning.go, exchange.go, expect_rows.go, bias.go, copies.go, risk.go, utility.go,
// questions.go, groups.go (one evaluation); histogram.go, unchanged.go, order_measure.go, measure.go,
// explore.go, masked.go, replay.go, snapshots.go (evaluations); unsafe.go, words.go, respondents.go,
// the judge_ files, gate.go, rule_check.go (the verdict); profile.go (a data set before
// masking). Their parts are under internal: sums, counts, samples, replicates.
package assess
