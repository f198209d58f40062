// Package inversion simulates an intruder who knows how the data were masked: the list
// of masks with all parameters, the number of records, published moments of the
// original, and the release. Only the secret key of the draws is unknown. The package
// inverts the deterministic part of the masking. If it recovers values to within the
// column's grid, the release fails (Kerckhoffs's principle applied to masks: the
// secrecy of a release must depend on the draws alone).
//
// For each column it tries these inversions:
//
//   - The released value is the original: no mask on the column, masks with φ, λ or
//     π of 0, noise or bias so small that rounding to the grid undoes it, values
//     within the bounds of a truncation, records that no swap can have changed, tiers
//     without noise, zeros under a bias.
//   - The value of the record with which a swap has most probably exchanged the value: a
//     group of two, the neighbour in rank. Where several partners have the same value, the
//     probabilities of that value add up. Several swaps are undone from the last to the first.
//   - The value of a group (microaggregation) is the published minimum or maximum: then
//     all values of the group are equal to it.
//   - Sets of equal values ("heaps") under rank swapping that are wider than the window
//     of ranks.
//   - Heaps: a released value at the bound of a truncation is that bound.
//   - One or two values at bounds, if all others are known exactly: they follow from
//     published mean and SD.
//   - The values that are usual in the column. An intruder knows from ordinary life that
//     wages are multiples of 1,000 or prices end in .99. The package finds the lattices on
//     which the originals lie (lattice.go), and for each released value computes the posterior of
//     the original from the law of the masks: with every lattice point alike, and with the
//     frequencies of the original values as prior (prior.go, posterior.go).
//   - The release is an affine image of the original (a shift, a scale, a reflection,
//     by this program or any other): the original follows from published mean and SD.
//
// Chance and inversion are distinguished as follows. On a coarse grid, noise leaves
// many values unchanged: with λ of 0.4 years 79 % of the years of education, with λ of
// 1 year 38 %. So the package computes for each value the probability that its masks
// leave it on its grid point. A claim with a probability of at least Options.Confidence
// is deterministic: the intruder knows that it is more likely correct than not, and the
// column fails if such claims recover values. The default, 0.6827, is the probability
// for normal noise with λ of half a grid step. All other claims may be correct by
// chance. They fail the column only if they are correct significantly more often than
// the masks leave values unchanged, and more often than a constant guess of the most
// frequent value.
//
// Claims by a lattice are deterministic if the posterior with every point alike reaches the
// confidence: frequent values by themselves make none, since their frequency is known without the
// release. Claims by the frequencies count where the release tells a value apart from all others: a
// posterior of 0.95, and odds that are 20 times those of the prior.
//
// Beside this, the package computes which share of the values the best snooper states within a
// distance (Exact), by any claims. The default limit of the gate compares it with what normal noise
// of one usual step would leave of the same column, so that coarse data with noise of a
// step pass however frequent their values are.
//
// The package reads columns in memory and does no I/O. Results contain counts and
// shares, never a value or a record.
package inversion
