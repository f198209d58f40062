package assess

import "math"

// utility of column c: U by eq. 14 where there are replicates, else that of the
// release. docs/methods.md, section 3.
func (r *reckoning) utility(c int) Utility {
	x, y := r.a.original.at(c, c), r.a.released.at(c, c)
	variance := r.releasedVariance(c) / y.N
	drift := y.above(x)
	u := Utility{
		RealisedU: Float(riskOf(variance + drift*drift)),
		U0:        Float(riskOf(x.variance() / x.N)),
	}
	u.U, u.Bias, u.SE = u.RealisedU, Float(drift), Float(math.NaN())
	if r.tried {
		u.RealisedU = Float(math.NaN())
	}
	u.gate(x, y.variance(), drift)
	answers, asked := r.answers[c]
	if e := r.expected[c]; e != nil {
		u.U, u.Bias = Float(riskOf(e.error)), Float(e.bias)
		u.SE = Float(standardError(float64(u.U), e.errorNoise))
		u.Sampled = e.of.sampled()
		u.gate(&e.x, e.variance, e.bias)
		u.setEfficiency()
		return u
	}
	switch {
	case asked && r.partial:
		// S_y² of the release rests on more records than any replicate.
		u.U = Float(riskOf(variance + r.bias[c].square))
		u.Bias = Float(r.bias[c].mean)
		u.SE = Float(standardError(float64(u.U), r.varianceNoise(answers)/(y.N*y.N)+r.bias[c].squareNoise))
		u.gate(x, variance*y.N, math.Sqrt(r.bias[c].square))
		u.Sampled, u.Approximate, u.Errs = true, true, ErrsEither
	case asked:
		u.expect(answers, x)
	}
	u.setEfficiency()
	return u
}

// expect sets what is expected over replicates of all records, of which x are the
// moments: Duncan et al. (2004), eq. 14.
func (u *Utility) expect(answers []answer, x *comoment) {
	var n, mean, spread float64
	for _, a := range answers {
		if a.variance == a.variance {
			n++
			mean += a.mean
			spread += a.variance / a.n
		}
	}
	mean, spread = mean/n, spread/n
	u.U = Float(riskOf(spread + (mean-x.Mi)*(mean-x.Mi)))
	u.Bias = Float(mean - x.Mi)
	u.SE = Float(standardError(float64(u.U), utilityNoise(answers, mean, mean-x.Mi)))
	u.gate(x, spread*x.N, mean-x.Mi)
}

// gate sets the efficiency that a gate judges, of a release with so much variance and
// bias.
func (u *Utility) gate(x *comoment, variance, bias float64) {
	own := x.variance()
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

// utilityNoise is the Monte-Carlo variance of the mean of s²_m/n + b², b the
// bias of ȳ, the mean of all replicates. To first order it is that of the mean of
// s²_m/n + 2bȳ_m. Where b is near 0 that leaves out what counts, the square of a
// b that is there by chance: b² has the variance 4E(b)²v + 2v², v that of b.
func utilityNoise(answers []answer, mean, bias float64) float64 {
	means, terms := make([]float64, len(answers)), make([]float64, len(answers))
	for i, a := range answers {
		means[i] = a.mean
		if a.variance != a.variance {
			means[i] = math.NaN()
		}
	}
	noise := spreadOf(means, 1).noise()
	slope := 2 * math.Copysign(math.Sqrt(max(0, bias*bias-noise)), bias)
	for i, a := range answers {
		terms[i] = a.variance/a.n + slope*(a.mean-mean)
	}
	return spreadOf(terms, 1).noise() + varianceOfSquare(0, noise)
}
