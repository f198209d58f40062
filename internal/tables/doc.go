// Package tables is the vocabulary of tabular data: dimensions with their
// hierarchies, tables made of them, and the set of all their cells with every sum
// that holds between them. Tables of one value that share cells are linked: they
// are one set, and what is inferred or protected is so over the whole set.
//
// A cell is named by its codes, "region=North, nace=total", wherever something is
// said of it: errors and logs never hold its value.
//
// The packages beneath each do one thing with a set: tabulate fills it from
// blocks of microdata, primary finds the cells that may not be published, audit
// computes what an intruder can infer of the cells that are not, suppress chooses
// which further cells to hold back. lp is the solver, and knows no tables.
package tables
