package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// utility returns the utility of column c: U by eq. 14 from replicates if there are any, otherwise
// that of the release. docs/methods.md, section 3.
func (r *reckoning) utility(c int) Utility {
	x, y := r.a.original.At(c, c), r.a.released.At(c, c)
	variance := r.releasedVariance(c) / y.N
	drift := y.Above(x)
	u := Utility{
		RealisedU: Float(estimate.Risk(variance + drift*drift)),
		U0:        Float(estimate.Risk(x.Variance() / x.N)),
	}
	u.U, u.Bias, u.SE = u.RealisedU, biasOf(drift, x), Float(math.NaN())
	if r.candidate {
		u.RealisedU = Float(math.NaN())
	}
	u.gate(x, y.Variance(), drift)
	answers, replicated := r.answers[c]
	of := r.a.opts.Columns[c]
	if e := r.expected[c]; e != nil {
		u.U, u.Bias = Float(estimate.Risk(e.Error)), biasOf(e.Bias, x)
		u.SE = Float(estimate.StandardError(float64(u.U), e.ErrorNoise))
		u.Sampled = e.Sampled
		u.gate(&e.X, e.Variance, e.Bias)
		if of.Fitted {
			bias := float64(u.Bias)
			u.fitted(&e.X, e.OfMean, bias*bias, estimate.VarianceOfSquare(bias*bias, e.BiasNoise))
		}
		u.setEfficiency()
		return u
	}
	switch {
	case replicated && r.partial && of.Fitted:
		b := r.bias[c]
		u.Bias = biasOf(b.mean, x)
		held := heldOut(x, of.HeldOut)
		square := square(b.mean, b.noise, held/r.share, held)
		m := float64(r.copies(c))
		u.fitted(x, b.ofMean/m, square, b.squareNoise+b.ofMeanNoise/(m*m))
		u.Sampled, u.Approximate, u.Errs = true, true, ErrsEither
	case replicated && of.Fitted:
		u.expectFitted(answers, x, of)
	case replicated && r.partial:
		// S_y² of the release is computed from more records than any replicate has.
		u.U = Float(estimate.Risk(variance + r.bias[c].square))
		u.Bias = biasOf(r.bias[c].mean, x)
		u.SE = Float(estimate.StandardError(float64(u.U), r.varianceNoise(answers)/(y.N*y.N)+r.bias[c].squareNoise))
		u.gate(x, variance*y.N, math.Sqrt(r.bias[c].square))
		u.Sampled, u.Approximate, u.Errs = true, true, ErrsEither
	case replicated:
		u.expect(answers, x)
	case r.single && (r.a.opts.Draws == nil || r.a.opts.Draws(of.Name)): // the release is one draw
		own := r.a.columns[c].squareDiff / float64(r.a.columns[c].pairs)
		u.SE = Float(estimate.StandardError(float64(u.U), estimate.VarianceOfSquare(drift*drift, own/x.N)))
		u.Approximate, u.Errs = true, ErrsEither
	case of.Fitted && of.Masked && !r.candidate: // nothing is drawn
		u.fitted(x, 0, drift*drift, 0)
		u.RealisedU, u.SE = u.U, Float(math.NaN())
	}
	u.setEfficiency()
	return u
}

// fitted sets U of a column whose released values come from all original ones together. The mean of values that are
// drawn from a model of the data, or of groups of them, varies about that of the population as the mean of the data
// does, and beside that over the draws: 1/U = S_x²/n + Var(ȳ | x) + (E ȳ − x̄)². The variance of the released values
// says nothing of it (for values that are each a draw about their own original, eq. 14 is this sum). noise is the
// variance of the last two terms.
func (u *Utility) fitted(x *comoment.Pair, ofMean, square, noise float64) {
	own := x.Variance() / x.N
	loss := own + ofMean + square
	u.U = Float(estimate.Risk(loss))
	u.SE = Float(estimate.StandardError(float64(u.U), noise))
	if u.EfficiencyGate = Float(own / loss); own == 0 && loss == 0 {
		u.EfficiencyGate = 1 // a constant column, released as it is
	}
}

// expectFitted is expect for a column with Column.Fitted. Of several copies users take the mean: Reiter's (2003)
// variance ū + b/m, with b the variance between copies.
func (u *Utility) expectFitted(answers []replicate.Answer, x *comoment.Pair, c Column) {
	means := meansOf(answers)
	for i, a := range answers {
		if a.Variance != a.Variance {
			means[i] = math.NaN()
		}
	}
	of := estimate.SpreadOf(means, 1)
	if of.Variance != of.Variance || of.N < 2 {
		return // of one replicate the variance is not known
	}
	held, m := heldOut(x, c.HeldOut), float64(max(1, c.Copies))
	bias := float64(biasOf(of.Mean-x.Mi, x))
	if u.Bias = Float(bias); bias == 0 && float64(biasOf(math.Sqrt(of.Variance), x)) == 0 {
		of.Variance = 0 // the rest is rounding
	}
	noise := of.Variance / of.N
	u.fitted(x, of.Variance/m, square(bias, noise, held, held),
		of.VarianceNoise()/(m*m)+estimate.VarianceOfSquare(bias*bias-noise, noise))
}

// heldOut returns the variance of the mean of the records that a model is fitted to about that of all n, if a share of
// them is set aside at random.
func heldOut(x *comoment.Pair, share float64) float64 {
	return x.Variance() / x.N * share / (1 - share)
}

// square returns the expected square of a bias that was found with a variance of noise. Which records are set aside is
// the same in all replicates, so a bias within three standard errors of noise and seen, the variance over that choice,
// is one draw of it: its square then is that variance, held.
func square(bias, noise, seen, held float64) float64 {
	if seen > 0 && bias*bias < 9*(noise+seen) {
		return held
	}
	return max(0, bias*bias-noise)
}

// biasOf returns the bias of the mean of a column with the moments x; it is 0 if it is so small that it is
// only the rounding of sums, as it is for masks that exchange values.
func biasOf(bias float64, x *comoment.Pair) Float {
	if math.Abs(bias) <= 1e-13*(math.Abs(x.Mi)+math.Sqrt(x.Variance())) {
		return 0
	}
	return Float(bias)
}

// expect sets the expectations over replicates of all records, whose moments are x: Duncan et
// al. (2004), eq. 14.
func (u *Utility) expect(answers []replicate.Answer, x *comoment.Pair) {
	var n, mean, spread float64
	for _, a := range answers {
		if a.Variance == a.Variance {
			n++
			mean += a.Mean
			spread += a.Variance / a.N
		}
	}
	mean, spread = mean/n, spread/n
	u.U = Float(estimate.Risk(spread + (mean-x.Mi)*(mean-x.Mi)))
	u.Bias = biasOf(mean-x.Mi, x)
	u.SE = Float(estimate.StandardError(float64(u.U), utilityNoise(answers, mean, mean-x.Mi)))
	u.gate(x, spread*x.N, mean-x.Mi)
}

// gate sets the efficiency that a gate judges, for a release with the given variance and bias.
func (u *Utility) gate(x *comoment.Pair, variance, bias float64) {
	own := x.Variance()
	if bias = float64(biasOf(bias, x)); math.Abs(variance-own) <= 1e-12*own {
		variance = own // the rest is rounding: masks that exchange values pass a limit of 1
	}
	loss := max(own, variance)/x.N + bias*bias
	if variance != variance {
		loss = math.NaN()
	}
	if u.EfficiencyGate = Float(own / x.N / loss); own == 0 && loss == 0 {
		u.EfficiencyGate = 1 // a constant column, released as it is
	}
}

func (u *Utility) setEfficiency() {
	u.Efficiency = u.U / u.U0
	if math.IsInf(float64(u.U), 1) && math.IsInf(float64(u.U0), 1) {
		u.Efficiency = 1 // a constant column, released as it is
	}
}

// utilityNoise returns the Monte-Carlo variance of the mean of s²_m/n + b², where b is the
// bias of the mean ȳ of all replicates. To first order it is that of the mean of
// s²_m/n + 2bȳ_m. If b is near 0, the main part is missing there, the variance of the square of
// a random b: b² has the variance 4E(b)²v + 2v², where v is the variance of b.
func utilityNoise(answers []replicate.Answer, mean, bias float64) float64 {
	means, terms := make([]float64, len(answers)), make([]float64, len(answers))
	for i, a := range answers {
		means[i] = a.Mean
		if a.Variance != a.Variance {
			means[i] = math.NaN()
		}
	}
	noise := estimate.SpreadOf(means, 1).Noise()
	slope := 2 * math.Copysign(math.Sqrt(max(0, bias*bias-noise)), bias)
	for i, a := range answers {
		terms[i] = a.Variance/a.N + slope*(a.Mean-mean)
	}
	return estimate.SpreadOf(terms, 1).Noise() + estimate.VarianceOfSquare(0, noise)
}
