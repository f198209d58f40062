// Package draft looks at a source and writes a first configuration for it: the
// columns with guessed roles and the reason of each guess, masks to choose from,
// and a gate to think about.
//
// The configuration describes the data (types, decimals, numbers of different values), and
// contains no value of a record.
package draft
