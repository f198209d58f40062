// Package suppress chooses which cells of a set of tables to hold back beside those
// that may not be published, so that what an intruder can infer of each of these
// reaches as far as its rule asks.
//
// The search begins with everything held back and publishes cells, the dearest
// first, as long as every primary cell keeps its range. "Keeps its range" can only be
// lost by publishing more, so cells are tried in batches that are halved where one
// fails: the result is that of trying them one by one. A trial costs little because
// each end of a range is remembered with a table that shows it (a witness), and only
// those are sought anew whose witness changes a cell of the batch.
package suppress
