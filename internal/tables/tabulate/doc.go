// Package tabulate fills a set of tables from blocks of microdata. An accumulator
// takes blocks in any order and merges with others: all sums are of whole numbers,
// so that the cells are the same to the bit however the records were split.
package tabulate
