// Package exchange publishes tables of counts in which records have changed places, so
// that the counts by one variable, and those by all others together, stay as they are:
// tables drawn anew from all that have these margins, and Markov perturbation of squares
// of four cells (Duncan, Fienberg, Krishnan, Padman and Roehrig 2001, section 3). It gives
// what an intruder believes of a count afterwards, who knows the method.
package exchange
