// Package linkage simulates an intruder who links by distance. The intruder holds the
// original keys of some respondents, the targets, and links each target to the nearest
// released record. The package measures how many targets are linked correctly, one by
// one or by an assignment of all targets at once, and how much the mean of several
// releases discloses beyond a single release.
//
// It computes on columns in memory, and names records by their index. No result depends
// on the order of the file or on the number of goroutines, to the bit: minima and
// counts do not, and sums over records are exact before they are rounded.
package linkage
