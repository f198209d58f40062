package privacy

import "math"

// GaussianDelta returns δ at ε of normal noise with the given ρ, exactly: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), where μ =
// √2ρ is the distance of two values in standard deviations (Balle and Wang 2018, "Improving the Gaussian mechanism",
// ICML, theorem 8). Several such mechanisms together are one whose ρ is the sum.
func GaussianDelta(rho, epsilon float64) float64 {
	switch {
	case rho == 0:
		return 0
	case math.IsInf(rho, 1) || math.IsNaN(rho):
		return 1
	}
	mu := math.Sqrt(2 * rho)
	above := normalTail(epsilon/mu - mu/2)
	below := normalTail(epsilon/mu + mu/2)
	if below > 0 {
		below = math.Exp(epsilon + math.Log(below))
	}
	return min(max(above-below, 0), 1)
}

// normalTail is the probability that a standard normal draw is above x.
func normalTail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// ConcentratedDelta returns δ at ε of any mechanism with ρ: the least over α > 1 of
// exp((α−1)(αρ−ε)) (1−1/α)^α/(α−1) (Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy",
// NeurIPS, proposition 12 with Rényi divergence αρ).
func ConcentratedDelta(rho, epsilon float64) float64 {
	switch {
	case rho == 0:
		return 0
	case math.IsInf(rho, 1) || math.IsNaN(rho):
		return 1
	}
	log := func(alpha float64) float64 {
		return (alpha-1)*(alpha*rho-epsilon) + alpha*math.Log1p(-1/alpha) - math.Log(alpha-1)
	}
	// The exponent is convex in α (their corollary 13). Any α gives a bound, so the search need not be exact.
	slope := func(alpha float64) float64 { return (2*alpha-1)*rho - epsilon + math.Log1p(-1/alpha) }
	low, high := 1+1e-9, 2.0
	for slope(high) < 0 && high < 1e12 {
		high *= 2
	}
	for range 100 {
		if mid := (low + high) / 2; slope(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return min(math.Exp(log(high)), 1)
}

// least returns the least ε ≥ 0 at which delta, a falling function of it, is at most limit, from above; +Inf if there
// is none below 1e6.
func least(delta func(epsilon float64) float64, limit float64) float64 {
	if !(limit > 0) {
		return math.Inf(1)
	}
	if delta(0) <= limit {
		return 0
	}
	low, high := 0.0, 1.0
	for !(delta(high) <= limit) {
		if low, high = high, 2*high; high > 1e6 {
			return math.Inf(1)
		}
	}
	for range 100 {
		if mid := (low + high) / 2; delta(mid) <= limit {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// GaussianEpsilon returns the least ε at which normal noise with ρ has the given δ.
func GaussianEpsilon(rho, delta float64) float64 {
	return least(func(e float64) float64 { return GaussianDelta(rho, e) }, delta)
}

// ConcentratedEpsilon returns the least ε at which ConcentratedDelta is the given δ.
func ConcentratedEpsilon(rho, delta float64) float64 {
	return least(func(e float64) float64 { return ConcentratedDelta(rho, e) }, delta)
}
