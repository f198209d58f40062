// Package referee measures what a release that anybody made tells of the records behind it, also where released
// records do not correspond to original ones, as in synthetic data. Its attacks are the three of the European guidance
// (Article 29 Working Party, Opinion 05/2014, WP216): singling out, linkability and inference, after Giomi, Boenisch,
// Wehmeyer and Tasnádi (2023), "A Unified Framework for Quantifying Privacy Risk in Synthetic Data", PoPETs 2023(2);
// beside them the distance to the closest record, membership inference, and what combinations tell that occur once
// in the release. Control records, of the same population and not used for the release, tell apart what the release
// says of its own records from what it says of anybody.
//
// It computes on columns in memory. Results hold counts, shares and names of columns, never a value; the predicates
// of singling out, which are made of values, are not returned. Draws follow from a seed, so that results repeat, and
// depend neither on the order of goroutines nor on their number.
package referee
