// Package tablemap is the R-U confidentiality map of tables (Duncan, Fienberg, Krishnan,
// Padman and Roehrig 2001, §5): disclosure risk and data utility of every way to protect
// them that was tried, which of these the gate admits, and which one is recommended. It
// has no value and no code of a cell; it is confidential all the same, since risk and
// error tell how near an intruder comes.
package tablemap
