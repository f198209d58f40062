// Package figure shows results to people: numbers as text, words within a
// terminal's width, and pictures: the R-U confidentiality map and histograms as
// SVG, and the same pictures as PNG. It computes no statistics; the report, the
// map and the live page draw with it, so that they look alike.
package figure
