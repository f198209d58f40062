// Package tabulate fills a set of tables from blocks of microdata. An accumulator
// accepts blocks in any order and can be merged with others. All sums are over whole
// numbers, so that the cells are the same to the bit for every partition of the
// records.
package tabulate
