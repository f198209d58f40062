package estimate

import (
	"math"
	"slices"
)

// Law is what Posterior needs of the distribution of a released value y given its original x: P(y ≤ t), an interval
// in which y lies, and the step of its values (0: none) between the least and the greatest.
type Law interface {
	Below(x, t float64) float64
	Reach(x float64) (low, high float64)
	Support() (low, high, step float64)
}

// Observed is what one release has of a column, by row (NaN: nothing), and the law of its masks. Releases are
// independent given the original.
type Observed struct {
	Values []float64
	Law    Law
}

const (
	posteriorCells = 96 // in which the originals that are possible for a row are counted
	leastPrior     = 30 // originals that a prior rests on
)

// Posterior returns by row the mean of the original given what all releases have of it: E(x | y₁ … y_m) = Σ x π(x) Π
// f_i(y_i | x) / Σ π(x) Π f_i(y_i | x), Bayes' theorem. π is the distribution of the other rows' originals x (of the
// first rows; others may follow), counted in cells; where fewer than 30 are possible, it is even between the ends of
// what is possible. NaN where a row has no value, or where no original can have been released as all of them.
func Posterior(x []float64, seen []Observed) []float64 {
	sorted := make([]float64, 0, len(x))
	for _, v := range x {
		if v == v {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	p := &posterior{sorted: sorted, seen: seen}
	mean := make([]float64, len(seen[0].Values))
	for i := range mean {
		own := math.NaN()
		if i < len(x) {
			own = x[i]
		}
		mean[i] = p.of(i, own)
	}
	return mean
}

// posterior is what Posterior keeps from row to row.
type posterior struct {
	sorted []float64 // the originals
	seen   []Observed
}

// of returns the posterior mean of a row, whose own original does not count.
func (p *posterior) of(row int, own float64) float64 {
	low, high, some := p.possible(row)
	if !some {
		return math.NaN()
	}
	from, _ := slices.BinarySearch(p.sorted, low)
	to, _ := slices.BinarySearch(p.sorted, math.Nextafter(high, math.Inf(1)))
	others := to - from
	if own >= low && own <= high {
		others--
	}
	if len(p.sorted) > 0 && others >= leastPrior {
		low, high = max(low, p.sorted[0]), min(high, p.sorted[len(p.sorted)-1])
	}
	width := (high - low) / posteriorCells
	if !(width > 0) {
		return low
	}
	var sum, mass float64
	at := from
	for k := range posteriorCells {
		left, right := low+float64(k)*width, low+float64(k+1)*width
		weight, centre := 1.0, (left+right)/2
		if others >= leastPrior {
			weight, centre = 0, 0
			for ; at < to && (p.sorted[at] < right || k == posteriorCells-1); at++ {
				weight, centre = weight+1, centre+p.sorted[at]
			}
			if own >= left && (own < right || k == posteriorCells-1 && own <= high) {
				weight, centre = weight-1, centre-own
			}
			if weight < 0.5 {
				continue
			}
			centre /= weight
		}
		for _, o := range p.seen {
			if y := o.Values[row]; y == y {
				weight *= likelihood(o.Law, centre, y, width)
			}
		}
		sum, mass = sum+weight*centre, mass+weight
	}
	if !(mass > 0) {
		return (low + high) / 2
	}
	return sum / mass
}

// possible returns the ends of the originals that can have been released as what a row has.
func (p *posterior) possible(row int) (low, high float64, some bool) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, o := range p.seen {
		y := o.Values[row]
		if y != y {
			continue
		}
		some = true
		least, most := o.Law.Reach(y)
		bottom, top, step := o.Law.Support()
		half := step / 2
		if y > bottom {
			low = max(low, y-max(most-y, 0)-half)
		}
		if y < top {
			high = min(high, y+max(y-least, 0)+half)
		}
	}
	if n := len(p.sorted); some && n > 0 {
		if math.IsInf(low, -1) {
			low = min(p.sorted[0], high)
		}
		if math.IsInf(high, 1) {
			high = max(p.sorted[n-1], low)
		}
	}
	return low, high, some && low <= high && !math.IsInf(low, 0) && !math.IsInf(high, 0)
}

// likelihood is the probability, given an original, of a released value, or of one as near to it as a cell is wide
// where values have no coarser step; of a bound to which values are moved it is that of all beyond.
func likelihood(law Law, x, y, width float64) float64 {
	bottom, top, step := law.Support()
	half := step / 2
	if half == 0 {
		half = width / 2
	}
	above, below := 1.0, 0.0
	if y < top {
		above = law.Below(x, y+half)
	}
	if y > bottom {
		below = law.Below(x, math.Nextafter(y-half, math.Inf(-1)))
	}
	return max(above-below, 0)
}
