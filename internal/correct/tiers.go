package correct

// Tier gives values above a bound noise of λ² times a factor. Bounds ascend; the
// last tier whose bound lies below the value holds (Duncan et al. 2004, fig. 7).
type Tier struct {
	Above  float64 // in the column's unit
	Factor float64 // of λ², at least 0
}

// MeanFactor returns the mean factor of λ² over the values which the noise met;
// NaN values are missing and left out. 1 without tiers, NaN without values. Of
// released values it is no correction: noise carries values past a bound, and
// where many lie near one the result may be further off than none. See
// MeanFactorRange.
func MeanFactor(values []float64, tiers []Tier) float64 {
	var n, sum float64
	for _, y := range values {
		if y != y {
			continue
		}
		factor := 1.0
		for _, t := range tiers {
			if y > t.Above {
				factor = t.Factor
			}
		}
		n++
		sum += factor
	}
	return sum / n
}

// gauss are distances, in standard deviations of the noise, at which MeanFactorRange
// tries its bound.
var gauss = []float64{1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10}

// MeanFactorRange returns limits of the mean factor of λ² from the released values
// y alone; NaN values are missing and left out. spread is the greatest standard
// deviation, in the column's unit, of what that noise and the masks after it add
// to a value, which must be symmetric with one peak.
//
// The mean factor is 1 + Σ (f_k − f_{k−1})·P(v > t_k), v being the value that the
// noise met. Since y exceeds v as often as not, P(v > t) ≤ 2·P(y > t); and by the
// inequality of Gauss (1823), which for a symmetric distribution with one peak
// leaves at most 2/(9c²) below −c standard deviations, c ≥ √(4/3),
// P(v > t) ≤ P(y > t − c·spread)/(1 − 2/(9c²)). From the other side alike. The
// limits are those of an expectation: of n records chance adds about 1/√n.
func MeanFactorRange(released []float64, tiers []Tier, spread float64) (least, greatest float64) {
	n, before := 0.0, 1.0
	for _, y := range released {
		if y == y {
			n++
		}
	}
	low, high := 1.0, 1.0
	for _, t := range tiers {
		above := func(bound float64) float64 {
			k := 0.0
			for _, y := range released {
				if y > bound {
					k++
				}
			}
			return k / n
		}
		most, fewest := min(1, 2*above(t.Above)), max(0, 1-2*(1-above(t.Above)))
		for _, c := range gauss {
			sure := 1 - 2/(9*c*c)
			most = min(most, above(t.Above-c*spread)/sure)
			fewest = max(fewest, 1-(1-above(t.Above+c*spread))/sure)
		}
		step := t.Factor - before
		before = t.Factor
		if step < 0 {
			most, fewest = fewest, most
		}
		low += step * fewest
		high += step * most
	}
	least, greatest = FactorRange(tiers)
	return max(least, low), min(greatest, high)
}

// FactorRange returns the least and the greatest factor of λ² that a record may
// have had. Between them lies the mean factor, and nothing else is sure of it.
func FactorRange(tiers []Tier) (least, greatest float64) {
	least, greatest = 1, 1
	for _, t := range tiers {
		least, greatest = min(least, t.Factor), max(greatest, t.Factor)
	}
	return least, greatest
}
