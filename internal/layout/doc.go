// Package layout is a test alone: it holds the map of the packages in docs/design.md
// against the packages that there are and what they import.
package layout
