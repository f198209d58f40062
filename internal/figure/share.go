package figure

// Share is Percent with two digits left of a share that one decimal would round away,
// and without decimals of none and of all.
func Share(v float64) string {
	switch {
	case v == 0 || v == 1:
		return Trimmed(100*v) + "\u00a0%"
	case v > 0 && v < 0.001:
		return Pretty(100*v, 2) + "\u00a0%"
	}
	return Percent(v)
}
