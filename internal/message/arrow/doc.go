// Package arrow reads and writes messages whose value is an Arrow IPC stream: a
// schema and record batches with one record or many.
//
// Messages bring their schema with them, so the columns are not known before the
// first one comes; a file that has the same schema tells them at the start. A
// message may differ from it in the order of its columns, in dictionaries, and in
// columns that are not listed; otherwise all its records are rejected.
//
// What is read is not trusted: connectors/arrowipc holds every length, offset
// and index against the value, and bounds memory by the value's length.
//
// Map of the files: config (parameters), reader (the columns, one message's
// schema held against them), decode (messages to blocks), writer (blocks to
// messages).
package arrow
