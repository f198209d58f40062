package keystream

// The upper tails, by which tests hold the lower ones and the draws: the program itself
// asks for the lower tail of −x.

// normalSurvival is 1 − Φ(x), as accurate in the upper tail as NormalCDF is in the lower.
func normalSurvival(x float64) float64 {
	_, upper := normalTails(x)
	return upper
}

// laplaceSurvival is 1 − LaplaceCDF(x), with full relative accuracy in the upper tail.
func laplaceSurvival(x float64) float64 { return LaplaceCDF(-x) }
