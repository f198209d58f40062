// Package text holds what CSV and JSON Lines share: input files read in chunks
// that end where a record ends, numbers and dates from text and back, types
// found by looking at every value, Arrow arrays built from text, and the
// output, which is a file, a folder or stdout. It knows neither format.
package text
