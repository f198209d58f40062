// Package placed reads sources whose records say themselves where they stand: two of
// their columns hold the place that a record has in the whole, of which the source may
// be a part in any order. What masks, samples and assessment draw by a record's place
// they draw by that one, so that a record is masked alike wherever it is read.
//
// A source without such columns has its places from the files: the first record of the
// first file is the first place. Two tasks that each read a part of one dataset by
// itself would then mask their first records with the same draws.
package placed
