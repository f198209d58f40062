// Package microdata has the types that all other packages share: fields and schemas, roles, the
// block (a run of consecutive records of one stream, stored by columns) and the identity of a
// record. It does no I/O, knows no file format, and imports only Arrow.
package microdata
