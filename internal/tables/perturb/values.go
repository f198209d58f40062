package perturb

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Values holds the parameters of the changes of values: the greatest change of a cell is the sum of shares of its
// largest contributions (Thompson, Broadfoot and Elazar 2013; Giessing and Tent 2019, "Concepts for generalising tools
// implementing the cell key method to the case of continuous variables", UNECE/Eurostat work session).
type Values struct {
	Most    float64 // the share of a contribution up to Point
	Large   float64 // the share that very large contributions approach
	Point   float64 // in units; 0: the share is Most for all
	Q       int     // how fast the share falls beyond Point
	Epsilon []float64
	Least   float64 // least greatest change of a cell, in units, but never more than the value of the cell
}

// The limits of parameters of Values. A share of 1 would let a value of 0 stand for any contribution.
const (
	mostShare        = 0.95
	mostContributors = 6
	mostQ            = 10
)

// Check returns the problems of the parameters.
func (v *Values) Check() check.Problems {
	var problems check.Problems
	if !(v.Most > 0 && v.Most <= mostShare) {
		problems.Addf("most", "must be above 0 and at most %v, got %v", mostShare, v.Most)
	}
	if v.Point != 0 && !(v.Large > 0 && v.Large <= v.Most) {
		problems.Addf("large", "must be above 0 and at most most, got %v", v.Large)
	}
	if !(v.Point >= 0) || math.IsInf(v.Point, 0) {
		problems.Addf("point", "must be at least 0, got %v", v.Point)
	}
	if v.Q < 2 || v.Q > mostQ {
		problems.Addf("q", "must be between 2 and %d, got %d", mostQ, v.Q)
	}
	if !(v.Least >= 0) || math.IsInf(v.Least, 0) {
		problems.Addf("least", "must be at least 0, got %v", v.Least)
	}
	if len(v.Epsilon) < 1 || len(v.Epsilon) > mostContributors || v.Epsilon[0] != 1 {
		problems.Addf("epsilon", "must be 1 and at most %d further weights", mostContributors-1)
		return problems
	}
	for i, e := range v.Epsilon {
		if !(e >= 0 && e <= 1) || i > 0 && e > v.Epsilon[i-1] {
			problems.Addf(fmt.Sprintf("epsilon[%d]", i), "must be between 0 and 1, and not more than the one before, got %v", e)
		}
	}
	return problems
}

// share returns the share of a contribution. Beyond Point it is the flex function of the R package cellKey, which is
// Most at Point and approaches Large; it is never more than Most. Conversions keep machines from fusing operations,
// which would round otherwise.
func (v *Values) share(x float64) float64 {
	if v.Point == 0 || x <= v.Point {
		return v.Most
	}
	fall, near := 1.0, 2*v.Point/(v.Point+x)
	for range v.Q {
		fall = float64(fall * near)
	}
	above := float64(v.Most*x) - float64(v.Large*v.Point)
	return min(v.Most, v.Large+float64(above/v.Point*fall))
}

// Scale returns the greatest change of a cell with a value and its largest contributions, descending, both at least 0.
// It is at most the value, so that no value falls below 0.
func (v *Values) Scale(value float64, largest []float64) float64 {
	scale := 0.0
	for i, x := range largest[:min(len(largest), len(v.Epsilon))] {
		scale += float64(v.Epsilon[i] * float64(v.share(x)*x))
	}
	return min(max(scale, v.Least), value)
}

// tag identifies the changes of a value under these parameters: two releases with the same draws and other scales
// would show the draws, and so the values.
func (v *Values) tag(of string) []byte {
	return fmt.Appendf(nil, "%q %v %v %v %v %v %v", of, v.Most, v.Large, v.Point, v.Q, v.Epsilon, v.Least)
}

// Value returns the draw of a cell of the value of a given name, from the sum of the keys of its records: the mean of
// four uniform numbers, brought to −1 … 1. It has expectation 0 and variance VarianceOfDraw. Other values and other
// parameters give independent draws: who knows one value of a cell would otherwise know the change of the other.
func (k *Keys) Value(v *Values, of string, sum uint64) float64 {
	var b [keystream.PseudonymSize]byte
	p := k.values.Append(b[:0], binary.BigEndian.AppendUint64(v.tag(of), sum))
	total := int64(0)
	for i := range 4 {
		total += int64(binary.BigEndian.Uint32(p[4*i:]))
	}
	return float64(total-2*math.MaxUint32) / (1 << 33)
}

// VarianceOfDraw is the variance of a draw of a cell: that of the sum of four uniform numbers, 1/3, times ½².
const VarianceOfDraw = 1.0 / 12

// Change returns the published value of a cell, a whole number of units.
func Change(value, scale, draw float64) float64 { return value + math.RoundToEven(float64(scale*draw)) }

// Likelihood returns the probability that a value with a scale is published as the given one.
func Likelihood(published, value, scale float64) float64 {
	d := published - value
	if scale == 0 {
		if d == 0 {
			return 1
		}
		return 0
	}
	if scale > wideScale {
		return drawDensity(d/scale) / scale
	}
	low, high := (d-0.5)/scale, (d+0.5)/scale
	if low > 0 { // the same by symmetry, without cancellation
		low, high = -high, -low
	}
	return belowDraw(high) - belowDraw(low)
}

// wideScale is the scale above which one unit is so small a part of it that the density is as exact as the difference
// of two probabilities, which would lose its digits.
const wideScale = 1e5

// drawDensity is the density of a draw.
func drawDensity(v float64) float64 {
	x := max(2-2*math.Abs(v), 0)
	p := x * x * x
	if x > 1 {
		p -= 4 * (x - 1) * (x - 1) * (x - 1)
	}
	return p / 3
}

// belowDraw is the distribution function of a draw, from that of the sum of four uniform numbers (Irwin–Hall).
func belowDraw(v float64) float64 {
	switch {
	case v <= -1:
		return 0
	case v >= 1:
		return 1
	case v > 0:
		return 1 - belowDraw(-v)
	}
	x := 2*v + 2
	p := x * x * x * x
	if x > 1 {
		p -= 4 * (x - 1) * (x - 1) * (x - 1) * (x - 1)
	}
	return p / 24
}

// Insert appends the largest contributions of others, descending, to dst with a further one, x, at its place.
func Insert(dst, others []float64, x float64) []float64 {
	at := 0
	for at < len(others) && others[at] >= x {
		at++
	}
	return append(append(append(dst, others[:at]...), x), others[at:]...)
}
