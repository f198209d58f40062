// Package tabling makes tables of the records of a source, or of what the masks of a pipeline
// release: it finds the codes, tabulates the records, finds the unsafe cells, protects them,
// audits the result over all linked tables, lets the gate judge it and publishes all of the
// tables or none.
//
// It is the face of everything about tables: the program imports this package alone of them, and nothing else imports
// it.
package tabling
