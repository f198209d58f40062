// Package shard splits a file job into parts that any scheduler can run, on any
// machine that sees the files, and puts them together again: Plan says who does what,
// Run masks one shard under the places that its records have in the whole, Commit
// judges all of them as one release and publishes it, or nothing.
//
// A shard leaves two things: the files of its part of the release, under hidden names
// beside the release's own, and its state, the assessment of its records. Both are as
// confidential as the data until Commit. A shard that runs twice, at once or again
// after it died, leaves the same bytes, so it does not matter which attempt counts.
package shard
