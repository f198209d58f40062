// Package standing keeps the assessment of one partition of a stream: what is
// committed (whole) and what the open transaction adds (delta), so that an aborted
// transaction is forgotten and a committed one is merged, and says what to write
// into a compacted topic within the same transaction so that the next instance
// takes it up where this one ended.
//
// # What is written
//
// Most commits write a segment: the delta alone, small where the stream is long.
// Segments go round a fixed number of slots, that is, keys. When the slots are
// used up, or the segments of an epoch together have become larger than its base,
// a commit writes a new base instead, whole and delta, which begins the next epoch;
// segments of earlier epochs count no more and are overwritten in time. Bases of
// even and odd epochs have keys of their own, so that one that was cut short
// without a transaction (delivery at_least_once) leaves the one before it usable.
// Values of more than 512 KiB are cut into chunks; a checksum in each tells those
// of one write from those of another.
//
// What is written is as confidential as the original data: extremes and a sample
// of the records are in it.
//
// Nothing here does I/O or knows a broker.
package standing
