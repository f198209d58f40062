// Package transform holds the masks: one a file, with its parameters, their
// validation and its arithmetic. All are matrix masks M = AXB + C (Duncan and
// Keller-McNulty 2000). A chain of masks works on blocks of columns; it does no
// I/O and knows no file format.
package transform
