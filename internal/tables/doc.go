// Package tables defines the types of tabular data: dimensions with their hierarchies,
// tables of dimensions, and the set of all cells of the tables with all sums between
// them. Tables of the same value that share cells are linked: they form one set, and
// audit and suppression apply to the whole set.
//
// A cell is named by its codes, "region=North, nace=total", in all messages: errors and
// logs never contain its value.
//
// Each package below has one task: tabulate fills a set from blocks of microdata,
// primary finds the cells that may not be published, audit computes what an intruder
// can infer on unpublished cells, suppress chooses further cells to suppress. lp is the
// solver for linear programs and does not depend on tables.
package tables
