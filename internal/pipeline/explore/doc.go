// Package explore makes the R-U confidentiality map of a configuration: it tries the
// points of a grid, or seeks the boundary of what the gate allows, on what a run of the
// same key would measure, and recommends a point.
package explore
