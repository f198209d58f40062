// Package postgres reads and writes tables of PostgreSQL.
//
// A source is one snapshot of a table or of what a query gives: every pass reads the same
// rows in the same order, by COPY in its binary format. A release is written within one
// transaction, which nobody sees into; its commit gives the table its name and drops the
// earlier one, so that whoever reads finds the one or the other.
//
// A server's messages quote values of rows. None of them leaves this package: errors.go
// says in words of its own what the five characters of an error's class (SQLSTATE) mean.
package postgres
