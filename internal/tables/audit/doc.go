// Package audit computes what an intruder can infer of the cells that a table holds
// back: the least and the greatest value of each that agree with everything
// published, over all linked tables at once (Duncan et al. 2001, §4).
//
// Three methods stand behind each other. Fréchet bounds are closed forms for two
// margins that share a variable. The shuttle (Buzzigoli and Giusti 1999) narrows
// bounds along sums until nothing changes: it is never too narrow, and often sharp.
// Linear programs are sharp for values; for counts they are outer bounds, since
// beyond two dimensions a vertex need not be a table of whole numbers. So of counts
// a cell is called protected only where a whole table that shows it has been found.
package audit
