// Package tablemap defines the R-U confidentiality map of tables (Duncan, Fienberg,
// Krishnan, Padman and Roehrig 2001, §5): disclosure risk and data utility of every
// method of protection that was tried, whether the gate admits it, and which one is
// recommended. A map contains no value and no code of a cell. It is confidential
// nevertheless, because risk and error show how accurately an intruder can estimate a
// cell.
package tablemap
