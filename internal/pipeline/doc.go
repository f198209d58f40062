// Package pipeline wires a configuration into a run: which columns are decoded,
// in which order things happen, what runs beside what, and when a release is
// committed or withheld. It holds no statistics and knows no file format.
package pipeline
