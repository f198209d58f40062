// Package perturb changes counts by the cell-key method (Fraser and Wooton 2005; Thompson,
// Broadfoot and Elazar 2013): every record has a key that only the release key leads to,
// the key of a cell is the sum of those of its records, and it decides the cell's change.
// The same contributors get the same change wherever and whenever they are counted, so
// that nothing is gained by asking twice; keys add up over parts of the records in any
// order.
package perturb
