// Package inversion is an intruder who knows how the data were masked: the list of
// masks with all parameters, the number of records, published moments of the
// original, and the release. Only the key is not known. It computes back whatever
// part of the masking is deterministic, and what it gets to within the column's
// grid fails the release (Kerckhoffs's principle, for masks: the secrecy of a
// release must rest on the draws alone).
//
// What it tries, by column:
//
//   - The released value is the original: no mask on the column, masks with φ, λ or
//     π of 0, noise or bias so small that rounding to the grid undoes it, values
//     within the bounds of a truncation, records that no exchange of a swap can
//     reach, tiers without noise, zeros under a bias.
//   - The value of a group (microaggregation) that is the least or greatest of all, where
//     that is published: so are all values of the group.
//   - Heaps of equal values under rank swapping, wider than the window of ranks.
//   - Heaps: a released value at the bound of a truncation is that bound.
//   - A heap of one or two values, all others being exact: published mean and SD
//     give them.
//   - The release is an affine image of the original (a shift, a scale, a reflection,
//     by this program or any other): published mean and SD give it.
//
// How luck is told from inversion. On a coarse grid noise leaves many values where
// they were: with λ of 0.4 years 79 % of the years of education, with λ of 1 year
// 38 %. So for each value the probability is computed with which its masks leave it
// on its grid point. A claim whose probability is at least Options.Confidence is
// deterministic: the intruder is right more often than not and knows it, and the
// column fails if anything is recovered so. The default, 0.6827, is that of normal
// noise with λ of half a grid step. All other claims are luck, and are counted: they
// fail the column only where they come true significantly more often than the masks
// let values stay, and more often than by always guessing the most frequent value.
//
// The package reads columns in memory and does no I/O. Results hold counts and
// shares, never a value or a record.
package inversion
