// Package exchange publishes tables of counts in which records have moved between cells,
// such that the counts by one variable and the counts by all other variables together do
// not change. The methods are simulation from all tables with these margins, swapping of
// records between rows, and Markov perturbation of squares of four cells (Duncan,
// Fienberg, Krishnan, Padman and Roehrig 2001, section 3). The package also computes the
// belief in a count of an intruder who knows the method.
package exchange
