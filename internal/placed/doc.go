// Package placed reads sources whose records carry their own places: two of their columns hold
// the place (stream and number) that a record has in the whole dataset. The source may be a
// part of that dataset, in any order. Masks, samples and assessment draw by this place, so
// that a record is masked alike in whatever part it is read.
//
// Without such columns the places follow from the files: the first record of the first file
// has the first place. Two tasks that each read a part of one dataset would then mask their
// first records with the same draws.
package placed
