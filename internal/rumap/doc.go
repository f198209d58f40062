// Package rumap makes R-U confidentiality maps: disclosure risk R against data
// utility U as the parameters of masks run over their ranges (Duncan,
// Keller-McNulty and Stokes 2004, section III). It holds the closed forms of the
// papers, the result of a map on data, the choice of parameters under the rules of
// a gate, and the files that a map is written to. It reads no data: package assess
// masks and measures, package pipeline brings the two together.
package rumap
