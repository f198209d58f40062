// Package arrowipc reads and writes Arrow IPC: files (.arrow, Feather V2) and
// streams (.arrows, standard input and output).
//
// Untouched columns are carried as Arrow arrays, sliced from their batches and
// copied only where something next to them must not leave: rows that are
// rejected or belong to another block, bytes under nulls, dictionary entries
// that no released record uses. Nothing of a source's schema survives but
// names, types and the names of a few extension types that the format itself defines.
//
// What is read is not trusted: lengths are held against the file's size,
// offsets and indexes are checked before anything looks at them.
//
// Map of the files: config (parameters), source and reader (streams, blocks),
// batches (files), streaming and message (streams), flat and metadata (what is
// read and checked of the flatbuffers), verify (bounds), gather (exact copies),
// dictionary, schema (what is released), encode, sink, output and footer
// (writing), value and valuewriter (streams held in memory, the messages of a
// topic: internal/message/arrow).
//
// A stream must say that it ends: one that just stops is cut off. In a file the
// dictionaries come after the batches, in a stream each batch brings its own; an
// ordered dictionary is released as an unordered one, since its order also
// speaks of values that were not released. A dictionary column that a mask
// moves, or that goes to another format, is a column of its values.
package arrowipc
