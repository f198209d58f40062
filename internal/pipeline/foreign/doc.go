// Package foreign measures and attacks releases that any tool made, from the original
// and the released records.
package foreign
