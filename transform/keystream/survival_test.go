package keystream

// The upper tails are used by tests to check the lower tails and the draws. The program itself uses
// the lower tail of −x.

// normalSurvival is 1 − Φ(x), with the same relative accuracy in the upper tail as NormalCDF in the
// lower.
func normalSurvival(x float64) float64 {
	_, upper := normalTails(x)
	return upper
}

// laplaceSurvival is 1 − LaplaceCDF(x), with full relative accuracy in the upper tail.
func laplaceSurvival(x float64) float64 { return LaplaceCDF(-x) }
