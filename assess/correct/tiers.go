package correct

// Tier gives values above a bound noise of λ² times a factor. Bounds ascend; the
// last tier whose bound lies below the value holds (Duncan et al. 2004, fig. 7).
type Tier struct {
	Above  float64 // in the column's unit
	Factor float64 // of λ², at least 0
}

// MeanFactor returns the mean factor of λ² over the released values of a column
// with tiers; NaN values are missing and left out. It is an approximation: a
// record's tier was that of the value which the noise met, and the noise may have
// carried it past a bound. 1 without tiers, NaN without values.
func MeanFactor(released []float64, tiers []Tier) float64 {
	var n, sum float64
	for _, y := range released {
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

// FactorRange returns the least and the greatest factor of λ² that a record may
// have had. Between them lies the mean factor, and nothing else is sure of it.
func FactorRange(tiers []Tier) (least, greatest float64) {
	least, greatest = 1, 1
	for _, t := range tiers {
		least, greatest = min(least, t.Factor), max(greatest, t.Factor)
	}
	return least, greatest
}
