package assess

// Law is the distribution of the released value y of a column given the original value x, over
// the randomness of the masks of record scope. transform.Law implements it. It must be safe for
// concurrent use.
type Law interface {
	// Moments returns E(y − x) and E(y − x)².
	Moments(x float64) (shift, square float64)
	// Below returns P(y ≤ t).
	Below(x, t float64) float64
	// BelowEach returns a function that writes Below(x[i], t) into p[i] for every i; it is called
	// for many t. x must not change meanwhile.
	BelowEach(x []float64) func(t float64, p []float64)
	// Reach returns an interval outside which y lies with a probability below 1e-14.
	Reach(x float64) (low, high float64)
	// Support returns the least and greatest value that can be released, infinite if there is
	// none, and the step of which released values are multiples, 0 if there is none.
	Support() (low, high, step float64)
	// Fixed reports whether nothing is drawn; y is then a nondecreasing function of x.
	Fixed() bool
}
