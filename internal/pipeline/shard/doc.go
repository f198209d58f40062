// Package shard splits a file job into parts that any scheduler can run, on any machine that
// can read the files, and joins the results: Plan decides the parts, Run masks one shard with
// the places that its records have in the whole source, and Commit judges all shards as one
// release and publishes it, or nothing.
//
// A shard leaves two things: the files of its part of the release, under hidden names beside
// that of the release, and its state, the assessment of its records. Both are as confidential
// as the data until Commit. A shard that runs twice, at the same time or again after a crash,
// leaves the same bytes, so it does not matter which attempt is used.
package shard
