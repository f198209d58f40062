// Package truth holds what the program says of R, U and the efficiency against
// brute force: whole-file replicates made by masks that are written down a second
// time, from docs/methods.md, with the generator of math/rand/v2, order
// statistics by selection and sums in the order of the file. Nothing here shares
// code with transform, keystream or assess: the program is run as its users run
// it, on a file, and its JSON report is read.
//
// Two comparisons take every registered mask: the coverage of the stated standard errors, and the corrections of the
// note to data users. There the truth is that of releases, or of populations, that the program's own masks make
// under keys of their own; nothing of the assessment takes part in it.
//
// Everything is in tests. Plain `go test` does a few small cells;
// `make test-truth-short`, which CI calls, a choice of all; `make test-truth` all of
// them, and writes the table of docs/assessment.md.
package truth
