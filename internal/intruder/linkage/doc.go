// Package linkage is the intruder who links by distance: who holds the original
// keys of some respondents, the targets, and takes for each the released record
// that is nearest. It says how many targets are found, record by record, what an
// intruder finds who links all of them at once, and what the mean of several
// releases gives away beyond a single one.
//
// It computes on columns in memory, and names records by their index. Nothing
// that it returns depends on the order of the file nor on the number of
// goroutines, to the bit: minima and counts do not, and sums whose terms come
// from records are exact before they are rounded.
package linkage
