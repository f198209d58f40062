// Package assess measures a release: disclosure risk R and data utility U of
// pairs (original, released), their moments and correlations, snapshots while
// a run lasts, and the gate's verdict. The measures are those of Duncan,
// Keller-McNulty and Stokes (2004).
//
// An Accumulator takes the pairs block by block, holds what can be held
// exactly (moments, covariances, squared differences, the most extreme
// records), counts of the values in narrow bins, from which percentiles come,
// and a keyed bottom-k sample of records for the rest (replicates). Accumulators
// merge: however the data were split, the total is the same. The package reads
// and writes nothing and knows no file format.
//
// Map of the files: options.go, target.go (what is asked); gram.go (running
// co-moments), extremes.go, sample.go, tally.go, accumulator.go, encode.go (what is
// held); orderstat.go, replicate.go, draws.go (replicates); risk.go,
// utility.go, histogram.go, measure.go (what comes out); gate.go; profile.go
// and decimals.go (a data set before masking); snapshots.go.
package assess
