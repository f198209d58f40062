// Package audit computes what an intruder can infer on the suppressed cells of tables:
// the least and the greatest value of each cell that agree with all published cells,
// over all linked tables at once (Duncan et al. 2001, §4).
//
// It uses three methods. Fréchet bounds are closed forms for two margins that share a
// variable. The shuttle algorithm (Buzzigoli and Giusti 1999) narrows bounds along sums
// until nothing changes: its bounds are never too narrow, and often sharp. Linear
// programs are sharp for values. For counts they give outer bounds, because with more
// than two dimensions a vertex need not be a table of whole numbers. Therefore a cell
// of counts is reported as protected only if a table of whole numbers that proves it
// has been found.
package audit
