// Package arrowipc reads and writes Arrow IPC: files (.arrow, Feather V2) and
// streams (.arrows, standard input and output).
//
// Unchanged columns are carried as Arrow arrays, sliced from their batches and copied
// only if adjacent data must not be released: rows that are rejected or belong to
// another block, bytes under nulls, dictionary entries that no released record uses. Of
// a source's schema only names, types and the names of a few extension types that the
// format itself defines are released.
//
// Input is not trusted: lengths are compared with the file's size, and offsets and
// indexes are checked before they are used.
//
// Map of the files: config (parameters), source and reader (streams, blocks),
// batches (files), streaming and message (streams), flat and metadata (reading and
// checking the flatbuffers), verify (bounds), gather (exact copies), dictionary,
// schema (of the release), encode, sink, output and footer (writing), value and
// valuewriter (streams in memory, the messages of a topic: internal/message/arrow).
//
// A stream must have an end marker: without one it is truncated. In a file the
// dictionaries come after the batches; in a stream each batch has its own. An ordered
// dictionary is released as an unordered one, since its order also discloses
// something of values that were not released. A dictionary column that a mask moves,
// or that is written in another format, is a column of its values.
package arrowipc
