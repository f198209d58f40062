// Package perturb changes counts and values by the cell-key method (Fraser and Wooton 2005; Thompson,
// Broadfoot and Elazar 2013): every record has a key that is derived from the secret
// release key, the key of a cell is the sum of the keys of its records, and it determines
// the change of the cell. A cell with the same contributors always gets the same change,
// so that repeated queries disclose nothing more. Keys can be added over parts of the
// records in any order.
package perturb
