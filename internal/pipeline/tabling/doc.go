// Package tabling makes tables of the records of a source, or of what the masks of a
// pipeline release: it learns the codes, adds up, finds the cells that may not be
// published, protects them, audits the result over all linked tables, lets the gate
// judge it and publishes all of the tables or none.
package tabling
