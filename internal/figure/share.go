package figure

import "math"

// Share formats a share of which a greater value is worse, like Risking: 0.25 %, 4.9 %,
// 100 %.
func Share(v float64) string {
	text, _ := Risking(v, 0)
	return text
}

// LeftOf formats what remains of the unmasked data, as a share, like Remaining.
func LeftOf(v float64) string {
	text, _ := Remaining(v, 0)
	return text
}

// Portion formats a share that is neither good nor bad: rounded to the nearest, with
// the digits of Share.
func Portion(v float64) string {
	text, _ := roundedShare(v, 0, math.Round)
	return text
}
