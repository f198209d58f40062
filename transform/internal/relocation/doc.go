// Package relocation pairs households that exchange their places: targeted record swapping. It knows numbers of
// households, areas and combinations of values.
package relocation
