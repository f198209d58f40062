package linkage

import "math"

// exactSum adds finite numbers without rounding, so that the sum does not depend
// on their order; total rounds once. It holds a number of 68 digits of 32 bits; the
// lowest bit is worth 2⁻¹⁰⁷⁵ (R. M. Neal 2015, "Fast exact summation using small and
// large superaccumulators", arXiv:1505.05571). The last bit of an SD must not depend on
// the order of the file, because it determines which distances are equal.
type exactSum struct {
	digit [68]int64 // not normalised: a digit can overflow only after more than 2³⁰ additions
	added int
	wrong bool // a term was not finite
}

func (s *exactSum) add(x float64) {
	if s.added++; s.added == 1<<30 {
		s.carry()
		s.added = 1
	}
	bits := math.Float64bits(x)
	exponent, mantissa := bits>>52&0x7ff, bits&(1<<52-1)
	if exponent == 0x7ff {
		s.wrong = true
		return
	}
	if exponent == 0 {
		exponent = 1
	} else {
		mantissa |= 1 << 52
	}
	at, shift := exponent>>5, exponent&31
	low, high := mantissa<<shift, mantissa>>(64-shift)
	d := s.digit[at : at+3 : at+3]
	if bits>>63 == 0 {
		d[0] += int64(low & (1<<32 - 1))
		d[1] += int64(low >> 32)
		d[2] += int64(high)
	} else {
		d[0] -= int64(low & (1<<32 - 1))
		d[1] -= int64(low >> 32)
		d[2] -= int64(high)
	}
}

// carry brings all digits but the highest into [0, 2³²), which makes the
// representation unique.
func (s *exactSum) carry() {
	last := len(s.digit) - 1
	for i := range last {
		c := s.digit[i] >> 32
		s.digit[i] -= c << 32
		s.digit[i+1] += c
	}
}

// total returns the sum, within one unit in the last place; NaN if a term was not
// finite.
func (s *exactSum) total() float64 {
	if s.wrong {
		return math.NaN()
	}
	n := *s
	n.carry()
	sign := 1.0
	last := len(n.digit) - 1
	if n.digit[last] < 0 {
		sign = -1
		for i := range n.digit {
			n.digit[i] = -n.digit[i]
		}
		n.carry()
	}
	top := last
	for top > 0 && n.digit[top] == 0 {
		top--
	}
	// The three highest digits have more than 64 bits.
	sum := 0.0
	for i := max(0, top-2); i <= top; i++ {
		sum += math.Ldexp(float64(n.digit[i]), 32*i-1075)
	}
	return sign * sum
}

// moments holds number, mean, SD (divisor n−1), minimum and maximum of the values of a
// column that are not missing.
type moments struct {
	n              int
	mean, sd       float64
	least, biggest float64
}

// momentsOf returns the moments of x·scale; scale prevents overflow of the squares.
func momentsOf(x []float64, scale float64) moments {
	m := moments{least: math.Inf(1), biggest: math.Inf(-1)}
	var sum exactSum
	for _, v := range x {
		if v *= scale; !math.IsNaN(v) {
			m.n++
			sum.add(v)
			m.least, m.biggest = min(m.least, v), max(m.biggest, v)
		}
	}
	m.mean = sum.total() / float64(m.n)
	if m.n < 2 {
		m.sd = math.NaN()
		return m
	}
	var squares exactSum
	for _, v := range x {
		if v = v*scale - m.mean; !math.IsNaN(v) {
			squares.add(float64(v * v))
		}
	}
	m.sd = math.Sqrt(squares.total() / float64(m.n-1))
	return m
}

// scaleOf returns the power of two that brings the greatest magnitude of the columns
// into [½, 1), so that scaling causes no relevant rounding error. The exponent is
// limited to ±1000.
func scaleOf(columns ...[]float64) float64 {
	biggest := 0.0
	for _, x := range columns {
		for _, v := range x {
			if a := math.Abs(v); a > biggest {
				biggest = a
			}
		}
	}
	_, e := math.Frexp(biggest)
	return math.Ldexp(1, max(-1000, min(1000, -e)))
}
