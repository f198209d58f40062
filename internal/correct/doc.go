// Package correct takes the masks out of statistics of released values: what a
// user of the data computes from a column with published noise and bias, made
// right for the respondents' values. Trottini et al. (2004), section 6, ask
// agencies to publish the parameters of their masks for just this.
//
// Everything is a pure function of published parameters and of statistics of the
// released data. The note for users in the public report states the same
// formulas; the tests hold its text, its R and its Python against this package.
//
// # The model
//
// Bias and noise leave a value right in the mean and spread it: with x the
// respondent's value and y the released one,
//
//	E(y | x) = x,   Var(y | x) = φ²x² + λ²
//
// whatever the distribution of the noise, and however many such masks follow one
// another. So over the respondents
//
//	E(y) = E(x)
//	Var(y) = (1 + φ²)·Var(x) + φ²·E(x)² + λ²
//	Cov(y, w) = Cov(x, w)
//
// where w is any column whose masks draw apart from those of y, as the program's
// do. That is the classical model of errors in variables: Fuller, W. A. (1987),
// Measurement Error Models, Wiley, sections 1.1 to 2.2; for masked data Sullivan
// and Fuller (1989) and Little (1993).
//
// # What has no formula
//
// Truncation makes E(y | x) differ from x near the bound. A swap leaves the column
// as it is, to the bit, and changes what ties it to columns that did not move with
// it, by how much depends on the data. Rounding that no noise precedes does what
// the values make of it. Of all these a Chain tells the limits that hold whatever
// the distribution, and that nothing is known where there are none; where values
// within bounds look normal, ClippedNormal gives more. Quantiles of noised values
// need a model of the distribution.
package correct
