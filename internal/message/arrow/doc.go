// Package arrow reads and writes messages whose value is an Arrow IPC stream: a schema
// and record batches with one or more records.
//
// Messages contain their schema, so the columns are unknown before the first message. A
// file with the same schema defines them at the start. A message may differ from this
// schema in the order of its columns, in dictionaries, and in columns that are not
// listed; with any other difference all its records are rejected.
//
// Input is not trusted: connectors/arrowipc checks every length, offset and index
// against the value, and limits memory by the value's length.
//
// Map of the files: config (parameters), reader (the columns, and the comparison of a
// message's schema with them), decode (messages to blocks), writer (blocks to
// messages).
package arrow
