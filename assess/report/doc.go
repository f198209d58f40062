// Package report is what one run leaves for people and programs to read: the
// confidential report as JSON and as a page, its public twin, the R-U
// confidentiality map of each masked column as SVG, and the terminal's summary.
// The public twin ends with a note for data users: how to take the published masks
// out of statistics, by the formulas of package correct.
//
// Everything here is a function of a Report: nothing is measured or judged (that
// is assess) and nothing is read or written (that is the caller, who gives the
// confidential files mode 0600).
package report
