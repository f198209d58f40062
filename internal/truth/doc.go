// Package truth holds what the program says of R, U and the efficiency against
// brute force: whole-file replicates made by masks that are written down a second
// time, from docs/methods.md, with the generator of math/rand/v2, order
// statistics by selection and sums in the order of the file. Nothing here shares
// code with transform, keystream or assess: the program is run as its users run
// it, on a file, and its JSON report is read.
//
// Everything is in tests. Plain `go test` does a few small cells;
// `make test-truth-short`, which CI calls, a choice of all; `make test-truth` all of
// them, and writes the table of docs/assessment.md.
package truth
