// Package microdata is the vocabulary that every other package speaks: fields
// and schemas, roles, the block (a run of consecutive records of one stream,
// held by columns) and the identity of a record. It does no I/O, knows no file
// format, and imports nothing but Arrow.
package microdata
