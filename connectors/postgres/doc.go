// Package postgres reads and writes tables of PostgreSQL.
//
// A source is one snapshot of a table or of what a query gives: every pass reads the same rows in
// the same order, by COPY in its binary format. A release is written within one transaction, which
// no other connection can see; its commit gives the table its name and drops the earlier one, so
// that every reader sees either the one or the other. Several sources of one database read one
// snapshot, and several sinks write in one transaction, if they are opened together.
//
// A server's messages quote values of rows. None of them leaves this package: errors.go explains
// the five characters of an error's class (SQLSTATE) in its own words.
package postgres
