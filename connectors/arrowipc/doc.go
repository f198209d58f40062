// Package arrowipc reads and writes Arrow IPC: files (.arrow, Feather V2) and
// streams (.arrows, standard input and output).
//
// Untouched columns are carried as Arrow arrays, sliced from their batches and
// copied only where something next to them must not leave: rows that are
// rejected or belong to another block, bytes under nulls, dictionary entries
// that no released record uses. Nothing of a source's schema survives but
// names, types and the metadata that name an extension type.
//
// What is read is not trusted: lengths are held against the file's size,
// offsets and indexes are checked before anything looks at them.
//
// Map of the files: config (parameters), source and reader (streams, blocks),
// file and message (the two containers), flat (the few flatbuffer fields that
// are read here), verify (bounds), gather (exact copies), dictionary, schema
// (what is released), sink, output and footer (writing).
package arrowipc
