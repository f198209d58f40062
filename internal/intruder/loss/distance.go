package loss

import (
	"math"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Distance compares two empirical distributions. Measured is false if one of them is
// empty; the distances are then 0.
type Distance struct {
	KS          float64 // Kolmogorov–Smirnov: sup |F − G|, between 0 and 1
	Wasserstein float64 // W1: ∫|F − G|, the mean distance that mass must move, in the column's unit
	Measured    bool
}

// DistanceOf computes the exact distances between the values of two columns. It sorts
// copies of them; NaN is a missing value and is omitted. The distances do not depend on
// which record has which value: after a swap both are 0.
func DistanceOf(original, released []float64) Distance {
	both := [2][]float64{original, released}
	cores.Each(len(both), func(i int) { both[i] = sorted(both[i]) })
	x, y := both[0], both[1]
	if len(x) == 0 || len(y) == 0 {
		return Distance{}
	}
	d := Distance{Measured: true}
	n, m := float64(len(x)), float64(len(y))
	at := min(x[0], y[0])
	i, j := 0, 0
	gap := 0.0 // |F − G| between at and the next value
	for i < len(x) || j < len(y) {
		next := math.Inf(1)
		if i < len(x) {
			next = x[i]
		}
		if j < len(y) {
			next = min(next, y[j])
		}
		if gap > 0 {
			d.Wasserstein += gap * (next - at)
		}
		at = next
		for i < len(x) && x[i] == at {
			i++
		}
		for j < len(y) && y[j] == at {
			j++
		}
		// The difference of two counts over n·m is exactly 0 if F = G.
		gap = math.Abs(float64(i)*m-float64(j)*n) / (n * m)
		d.KS = max(d.KS, gap)
	}
	return d
}

func sorted(values []float64) []float64 {
	s := make([]float64, 0, len(values))
	for _, x := range values {
		if x == x {
			s = append(s, x)
		}
	}
	rank.Sort(s)
	return s
}
