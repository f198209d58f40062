package figure

import "math"

// Share is a share of which more is worse, as Risking writes it: 0.25 %, 4.9 %, 100 %.
func Share(v float64) string {
	text, _ := Risking(v, 0)
	return text
}

// LeftOf is what is left of the unmasked data, as Remaining writes it.
func LeftOf(v float64) string {
	text, _ := Remaining(v, 0)
	return text
}

// Portion is a share that is neither good nor bad, to the nearest; it has the digits of
// Share.
func Portion(v float64) string {
	text, _ := roundedShare(v, 0, math.Round)
	return text
}
