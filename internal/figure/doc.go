// Package figure presents results to people: it formats numbers and text for terminals,
// and draws pictures such as the R-U confidentiality map and histograms as SVG and PNG.
// It computes no statistics. The report, the map and the live page all use it, so that
// they look alike.
package figure
