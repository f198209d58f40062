// Package report writes the results of one run for people and programs: the
// confidential report as JSON and as a page, the public report, the R-U
// confidentiality map of each masked column as SVG, and the terminal's summary.
// The public report ends with a note for data users: how to correct statistics for
// the published masks, by the formulas of package correct.
//
// Everything here is a function of a Report: package assess measures and judges, and
// the caller reads and writes files (confidential ones with mode 0600).
package report
