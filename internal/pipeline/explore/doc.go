// Package explore makes the R-U confidentiality map of a configuration: it tries the points of
// a grid, or searches the boundary of what the gate allows, with the draws of a run with the
// same key, and recommends a point.
package explore
