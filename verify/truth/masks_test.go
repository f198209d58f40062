package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// mask is a second implementation of a mask: its configuration and its effect.
type mask interface {
	yaml() string
	// apply masks the values y of the records of a file; NaN is missing.
	apply(y []float64, f *file, g *rand.Rand)
}

// number formats v so that it is read back as v.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// snap returns the nearest number with the column's decimals.
func (f *file) snap(v float64) float64 {
	if f.decimals < 0 {
		return v // the grid of such a column is 2⁻²⁰ of the noise and can be ignored
	}
	mult := math.Pow10(f.decimals)
	return math.RoundToEven(v*mult) / mult
}

// noise adds ε to each value; value and ε are each rounded to the decimals.
type noise struct {
	sd     float64
	kind   string // normal, laplace, uniform
	tiers  []tier
	bounds *bounds // of the following truncation with mode redraw
}

type tier struct{ above, factor float64 }

type bounds struct{ lower, upper float64 } // infinite if absent

func (b bounds) yaml() string {
	var parts []string
	if !math.IsInf(b.lower, 0) {
		parts = append(parts, "lower: "+number(b.lower))
	}
	if !math.IsInf(b.upper, 0) {
		parts = append(parts, "upper: "+number(b.upper))
	}
	return strings.Join(parts, ", ")
}

func (m noise) yaml() string {
	s := "{noise: {columns: [x], sd: " + number(m.sd)
	if m.kind != "normal" {
		s += ", distribution: " + m.kind
	}
	for i, t := range m.tiers {
		s += []string{", tiers: [", ", "}[min(i, 1)] + "{above: " + number(t.above) + ", variance_factor: " +
			number(t.factor) + "}"
	}
	if len(m.tiers) > 0 {
		s += "]"
	}
	s += "}}"
	if m.bounds != nil {
		s += ", {truncate: {columns: [x], mode: redraw, " + m.bounds.yaml() + "}}"
	}
	return s
}

// sdAt is λ for a value x.
func (m noise) sdAt(x float64) float64 {
	sd := m.sd
	for _, t := range m.tiers {
		if x > t.above {
			sd = m.sd * math.Sqrt(t.factor)
		}
	}
	return sd
}

// standard returns a draw with mean 0 and standard deviation 1.
func standard(kind string, g *rand.Rand) float64 {
	switch kind {
	case "laplace":
		z := g.ExpFloat64() / math.Sqrt2
		if g.Uint64()&1 == 0 {
			return -z
		}
		return z
	case "uniform":
		return (2*g.Float64() - 1) * math.Sqrt(3)
	}
	return g.NormFloat64()
}

func (m noise) apply(y []float64, f *file, g *rand.Rand) {
	for i, x := range y {
		if x != x {
			continue
		}
		sd := m.sdAt(x)
		if m.bounds != nil {
			y[i] = m.within(x, sd, f, g)
		} else {
			y[i] = f.snap(f.snap(x) + f.snap(sd*standard(m.kind, g)))
		}
	}
}

// within draws the noise repeatedly until the result lies inside. If a hundred draws have missed
// the interval, it draws from the tail: for the normal with Robert's (1995) exponential proposals,
// for Laplace with the exact law of the tail. Uniform noise that cannot reach the interval gives
// the nearer bound.
func (m noise) within(x, sd float64, f *file, g *rand.Rand) float64 {
	b := *m.bounds
	nearest := math.Min(math.Max(x, b.lower), b.upper)
	if sd == 0 {
		return nearest
	}
	for range 100 {
		if y := f.snap(f.snap(x) + f.snap(sd*standard(m.kind, g))); y >= b.lower && y <= b.upper {
			return y
		}
	}
	half := 0.5 / math.Pow10(max(f.decimals, 0)) // a value that rounds to the bound lies inside too
	if f.decimals < 0 {
		half = 0
	}
	lo, hi, sign := (b.lower-half-x)/sd, (b.upper+half-x)/sd, 1.0
	if hi < 0 {
		lo, hi, sign = -hi, -lo, -1
	}
	inside := func(z float64) float64 {
		return math.Min(math.Max(f.snap(f.snap(x)+f.snap(sign*z*sd)), b.lower), b.upper)
	}
	switch {
	case m.kind == "uniform":
		if lo > math.Sqrt(3) {
			return nearest
		}
		top := math.Min(hi, math.Sqrt(3))
		return inside(math.Max(lo, -math.Sqrt(3)) + g.Float64()*(top-math.Max(lo, -math.Sqrt(3))))
	case lo <= 0: // narrow, around the middle
		for {
			z := lo + g.Float64()*(hi-lo)
			weight := math.Exp(-z * z / 2)
			if m.kind == "laplace" {
				weight = math.Exp(-math.Sqrt2 * math.Abs(z))
			}
			if g.Float64() < weight {
				return inside(z)
			}
		}
	case m.kind == "laplace":
		return inside(lo + exponentialWithin(math.Sqrt2, hi-lo, g))
	}
	for {
		d := exponentialWithin(lo, hi-lo, g)
		if g.Float64() < math.Exp(-d*d/2) {
			return inside(lo + d)
		}
	}
}

// exponentialWithin draws from the exponential distribution of a rate, given that
// it is at most width.
func exponentialWithin(rate, width float64, g *rand.Rand) float64 {
	return -math.Log1p(g.Float64()*math.Expm1(-rate*width)) / rate
}

// bias multiplies by θ ~ N(1, φ²).
type bias struct{ phi float64 }

func (m bias) yaml() string { return "{bias: {columns: [x], phi: " + number(m.phi) + "}}" }

func (m bias) apply(y []float64, f *file, g *rand.Rand) {
	for i, x := range y {
		if x == x {
			y[i] = f.snap(f.snap(x) * (1 + m.phi*g.NormFloat64()))
		}
	}
}

// clip moves values outside the bounds to the nearer bound.
type clip struct{ bounds }

func (m clip) yaml() string { return "{truncate: {columns: [x], " + m.bounds.yaml() + "}}" }

func (m clip) apply(y []float64, f *file, g *rand.Rand) {
	for i, x := range y {
		if x < m.lower {
			y[i] = m.lower
		} else if x > m.upper {
			y[i] = m.upper
		}
	}
}

// round rounds to the nearest multiple of base, an integer number of units of the last decimal;
// halves go to even multiples.
type round struct{ base float64 }

func (m round) yaml() string { return "{round: {columns: [x], base: " + number(m.base) + "}}" }

func (m round) apply(y []float64, f *file, g *rand.Rand) {
	mult := math.Pow10(max(f.decimals, 0))
	step := math.Round(m.base * mult)
	for i, x := range y {
		if x == x {
			k := math.RoundToEven(x * mult)
			if f.decimals < 0 {
				y[i] = math.RoundToEven(x/m.base) * m.base
				continue
			}
			y[i] = math.RoundToEven(k/step) * step / mult
		}
	}
}

// chain is a list of masks in the order in which they apply.
type chain []mask

func (c chain) yaml() string {
	parts := make([]string, len(c))
	for i, m := range c {
		parts[i] = m.yaml()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (c chain) apply(y []float64, f *file, g *rand.Rand) {
	for _, m := range c {
		m.apply(y, f, g)
	}
}

// mixes reports whether a value may move to another record.
func (c chain) mixes() bool {
	for _, m := range c {
		switch m.(type) {
		case swap, black:
			return true
		}
	}
	return false
}

func (c chain) String() string { return fmt.Sprint(c.yaml()) }
