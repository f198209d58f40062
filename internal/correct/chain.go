package correct

import "math"

// Chain is what the masks of a column did to it, in their order, as far as it is
// published. Each step says what is known of a column that went through it; what
// no step says is not known.
type Chain []Step

// Step is one mask on a column: Added, Multiplied, Truncated, Rounded, Exchanged,
// Averaged or Unknown.
type Step interface {
	// undo turns what is known of the column behind step i of the chain into what
	// is known of the column in front of it.
	undo(k *Known, c Chain, i int)
}

// Added is noise of mean 0 that is symmetric about it: ε of standard deviation SD
// in the column's unit, NaN where that is not published, with tiers of their own
// variance.
type Added struct {
	SD    float64
	Tiers []Tier
	// Normal says that the noise is published to be normal; else it may be Laplace
	// or uniform as well.
	Normal bool
	// With are the columns with whose noise it is correlated as the values are, itself among
	// them; nil: it is drawn apart.
	With []string
}

// Multiplied is bias: a factor θ ~ N(1, φ²), Phi NaN where it is not published.
type Multiplied struct{ Phi float64 }

// Truncated keeps values within bounds, by moving those outside to the bound or
// by drawing the noise before it until they lie inside. Lower and Upper say
// whether there may be a bound on that side, Redraw whether it may be the second.
type Truncated struct{ Lower, Upper, Redraw bool }

// Rounded is rounding to multiples of Step in the column's unit, NaN where that is
// not published.
type Rounded struct{ Step float64 }

// Exchanged is a swap of values between records. Records that exchanged agree in
// the columns With, or exchanged those too.
type Exchanged struct{ With []string }

// Unknown is a mask of which nothing is published or known.
type Unknown struct{}

// Interval holds a number that is known within limits, infinite where there is
// none.
type Interval struct{ Least, Greatest float64 }

// Exact says whether the limits leave one number.
func (v Interval) Exact() bool { return v.Least == v.Greatest }

// Known is what follows for the respondents' values x of a column from mean and
// variance (divisor n−1) of the released ones y. The limits are those of the
// expectation over the masks: chance adds its standard error to each side.
type Known struct {
	Mean, Variance Interval
	// Slack bounds how far rounding may have moved covariances: |Cov(x, w) −
	// Cov(y, w)| ≤ Slack·SD(w). 0: they need no correction; +Inf: nothing is known.
	Slack float64
}

// Undo returns what is known of the respondents' values. It rests on these, of
// which none asks for a distribution of x:
//
//   - noise and bias, in whatever order, by the formulas of Masking; between the
//     least and the greatest factor where noise has tiers
//   - moving values to a bound brings any two of them no further apart, so that a
//     variance before was at least that after
//   - the mean of noise that is redrawn within bounds moves towards their inside,
//     and less than x does, and its variance is at most λ², where its logarithmic
//     density is concave, as those of all three distributions are; so the variance
//     before the noise was at least that after less λ². That fails where tiers
//     change λ between records: nothing is known then
//   - rounding moves a value by half a step at most, and the SD by no more than
//     that; where noise beforehand spreads values over a step, it adds step²/12
//     (Sheppard); see Smooth
func (c Chain) Undo(mean, variance float64) Known {
	k := Known{Interval{mean, mean}, Interval{variance, variance}, 0}
	for i := len(c) - 1; i >= 0; i-- {
		c[i].undo(&k, c, i)
	}
	if !k.Variance.Exact() {
		k.Variance.Least = max(k.Variance.Least, 0)
	}
	return k
}

// Ties says whether the swaps of the chain left alone what ties the column to
// another, named one: it moved with it, or partners agree in it.
func (c Chain) Ties(other string) bool {
	for _, s := range c {
		if e, ok := s.(Exchanged); ok && !contains(e.With, other) {
			return false
		}
	}
	return true
}

// Follows returns the variance of the noise that is correlated with that of another column
// as the values are; 0 where there is none, NaN where it is not published.
func (c Chain) Follows(other string) (variance float64) {
	for _, s := range c {
		if a, ok := s.(Added); ok && contains(a.With, other) {
			variance += a.SD * a.SD
		}
	}
	return variance
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

// Smooth says whether the values that step i rounds are spread so widely by noise
// just before it that Sheppard's correction holds whatever x is: the amplitude of
// the rounding error's harmonics is that of the noise's characteristic function at
// 2π/step (Widrow and Kollár 2008, Quantization Noise, section 4), which is at
// most .007 for normal noise of half a step and .05 for Laplace and uniform noise
// of two steps. A truncation or rounding in between takes the smoothness away.
func (c Chain) Smooth(i int) bool {
	step := c[i].(Rounded).Step
	for j := i - 1; j >= 0; j-- {
		switch s := c[j].(type) {
		case Added:
			least, _ := FactorRange(s.Tiers)
			sd, enough := s.SD*math.Sqrt(least), 2*step
			if s.Normal {
				enough = step / 2
			}
			if sd >= enough {
				return true
			}
		case Multiplied, Exchanged:
		default:
			return false
		}
	}
	return false
}

func (s Added) undo(k *Known, c Chain, i int) {
	if math.IsNaN(s.SD) {
		k.Variance.Least = 0
		return
	}
	least, greatest := FactorRange(s.Tiers)
	k.Variance.Least -= s.SD * s.SD * greatest
	k.Variance.Greatest -= s.SD * s.SD * least
	if t, redrawn := c.truncatedNext(i); redrawn && t.Redraw && len(s.Tiers) > 0 {
		k.Variance.Least = 0
	}
}

// truncatedNext returns the truncation that comes next after step i, if it is one
// that may have redrawn the noise of that step.
func (c Chain) truncatedNext(i int) (Truncated, bool) {
	if i+1 >= len(c) {
		return Truncated{}, false
	}
	t, ok := c[i+1].(Truncated)
	return t, ok
}

func (s Multiplied) undo(k *Known, _ Chain, _ int) {
	if math.IsNaN(s.Phi) {
		k.Variance.Least = 0
		return
	}
	phi2 := s.Phi * s.Phi
	near, far := 0.0, max(math.Abs(k.Mean.Least), math.Abs(k.Mean.Greatest))
	if k.Mean.Least > 0 || k.Mean.Greatest < 0 {
		near = min(math.Abs(k.Mean.Least), math.Abs(k.Mean.Greatest))
	}
	if phi2 > 0 {
		k.Variance.Least = (k.Variance.Least - phi2*far*far) / (1 + phi2)
		k.Variance.Greatest = (k.Variance.Greatest - phi2*near*near) / (1 + phi2)
	}
}

func (s Truncated) undo(k *Known, _ Chain, _ int) {
	if s.Lower {
		k.Mean.Least = math.Inf(-1)
	}
	if s.Upper {
		k.Mean.Greatest = math.Inf(1)
	}
	k.Variance.Greatest = math.Inf(1)
	k.Slack = math.Inf(1)
}

func (s Rounded) undo(k *Known, c Chain, i int) {
	if math.IsNaN(s.Step) {
		Unknown{}.undo(k, c, i)
		return
	}
	if c.Smooth(i) {
		k.Variance.Least -= s.Step * s.Step / 12
		k.Variance.Greatest -= s.Step * s.Step / 12
		return
	}
	half := s.Step / 2
	k.Mean.Least -= half
	k.Mean.Greatest += half
	low := max(0, math.Sqrt(max(k.Variance.Least, 0))-half)
	high := math.Sqrt(max(k.Variance.Greatest, 0)) + half
	k.Variance = Interval{low * low, high * high}
	k.Slack += half
}

func (s Exchanged) undo(*Known, Chain, int) {}

func (s Unknown) undo(k *Known, _ Chain, _ int) {
	*k = Known{Interval{math.Inf(-1), math.Inf(1)}, Interval{0, math.Inf(1)}, math.Inf(1)}
}
