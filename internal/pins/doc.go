// Package pins is only a test: it holds what the program releases and reports, under 60 random
// configurations, in four formats and by each carrier (a run, shards, an embedded filter, a stream), against
// digests of its testdata. Whether it is right is for other tests to say; this one says that a
// change of the house has moved nothing.
package pins
