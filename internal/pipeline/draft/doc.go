// Package draft looks at a source and writes a first configuration for it: the
// columns with guessed roles and the reason of each guess, masks to choose from,
// and a gate to think about.
//
// What it writes says what the data look like (types, decimals, how many values
// differ), and holds no value of a record.
package draft
