package inversion

import "math"

// tier is the noise of values above a bound and up to the next tier's bound.
type tier struct {
	above float64
	noise noise
}

// tierOf returns the tier of a value.
func tierOf(tiers []tier, x float64) *tier {
	at := 0
	for t := range tiers {
		if x > tiers[t].above {
			at = t
		}
	}
	return &tiers[at]
}

// Numbers of cells in which values on the two sides of a bound are counted.
const (
	sourceCells = 256
	targetCells = 48
)

// notFromElsewhere multiplies p by the share of the released values in the same cell
// that were in the same tier before the noise. The noise of a neighbouring tier can
// move values over the bound into a tier with little noise, so that a released value
// there need not be the original. The number of these values is estimated from the
// released values outside the tier, in place of the originals.
func notFromElsewhere(tiers []tier, y, p []float64) {
	for t := range tiers {
		lo, hi := tiers[t].above, math.Inf(1)
		if t+1 < len(tiers) {
			hi = tiers[t+1].above
		}
		var reach float64
		for o := range tiers {
			if o != t {
				reach = max(reach, tiers[o].noise.reach())
			}
		}
		if reach <= tiers[t].noise.reach() {
			continue // the noise of this tier reaches as far
		}
		if !math.IsInf(lo, -1) {
			fromBeyond(tiers, y, p, lo, min(lo+reach, hi), reach)
		}
		if !math.IsInf(hi, 1) {
			fromBeyond(tiers, y, p, hi, max(hi-reach, lo), reach)
		}
	}
}

// fromBeyond multiplies p for the released values between a tier's bound, edge, and
// end, a point inside the tier. It estimates how many of them came from values within
// reach on the other side of edge.
func fromBeyond(tiers []tier, y, p []float64, edge, end, reach float64) {
	width := end - edge // negative below an upper bound
	var sources [sourceCells]float64
	var seen [targetCells]float64
	target := func(v float64) int {
		f := (v - edge) / width
		if !(f >= 0 && f < 1) || v == edge && width > 0 {
			return -1
		}
		return int(f * targetCells)
	}
	sign := math.Copysign(1, width)
	for _, v := range y {
		if c := target(v); c >= 0 {
			seen[c]++
		} else if f := (edge - v) * sign / reach; f >= 0 && f < 1 {
			sources[int(f*sourceCells)]++
		}
	}
	var share [targetCells]float64
	for c := range share {
		from, to := edge+width*float64(c)/targetCells, edge+width*float64(c+1)/targetCells
		if from > to {
			from, to = to, from
		}
		var incoming float64
		for s, count := range sources {
			if count == 0 {
				continue
			}
			x := edge - sign*reach*(float64(s)+0.5)/sourceCells
			e := tierOf(tiers, x).noise
			incoming += count * (e.below(to-x) - e.below(from-x))
		}
		if seen[c] > 0 {
			share[c] = max(0, 1-incoming/seen[c])
		}
	}
	for i, v := range y {
		if c := target(v); c >= 0 {
			p[i] *= share[c]
		}
	}
}
