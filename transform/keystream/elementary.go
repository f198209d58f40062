package keystream

import "math"

// log and exp follow FreeBSD's e_log.c and e_exp.c, which have this notice:
//
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
// Developed at SunPro, a Sun Microsystems, Inc. business.
// Permission to use, copy, modify, and distribute this software is freely
// granted, provided that this notice is preserved.

const (
	ln2Hi = 6.93147180369123816490e-01 // the upper bits of ln 2: its products with exponents are exact
	ln2Lo = 1.90821492927058770002e-10
)

// log is the natural logarithm, with an error below 1 ulp and the same bits on
// every platform. log(0) is −Inf, log of a negative number NaN.
func log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	if x < 0x1p-1022 {
		return logNormal(x*0x1p52, -52)
	}
	return logNormal(x, 0)
}

// halfRoot2 are the bits of √2/2.
const halfRoot2 = 0x3fe6a09e667f3bcd

// logNormal is log(x·2^exponent), where x is a normal number above 0. It has no branch, since
// about half of all numbers would go either way.
func logNormal(x float64, exponent int) float64 {
	// x·2^exponent = 2^k (1 + f), √2/2 ≤ 1 + f < √2
	b := math.Float64bits(x)
	m := b&(1<<52-1) | 1022<<52    // in [1/2, 1)
	below := (m - halfRoot2) >> 63 // 1 where it is below √2/2, else 0
	exponent += int(b>>52) - 1022 - int(below)
	f, k := math.Float64frombits(m+below<<52)-1, float64(exponent)

	// s = f/(2 + f); log(1 + f) = 2s + 2s³/3 + … by a minimax polynomial in s²
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	t1 := float64(s2 * (6.666666666666735130e-01 + float64(s4*(2.857142874366239149e-01+
		float64(s4*(1.818357216161805012e-01+float64(s4*1.479819860511658591e-01)))))))
	t2 := float64(s4 * (3.999999999940941908e-01 + float64(s4*(2.222219843214978396e-01+
		float64(s4*1.531383769920937332e-01)))))
	half := float64(float64(0.5*f) * f)
	return float64(k*ln2Hi) - ((half - (float64(s*(half+(t1+t2))) + float64(k*ln2Lo))) - f)
}

// exp is the exponential function, with an error below 1 ulp where the result is
// a normal float64, and the same bits on every platform.
func exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 7.09782712893383973096e+02:
		return math.Inf(1)
	case x < -7.45133219101941108420e+02:
		return 0
	case -0x1p-28 < x && x < 0x1p-28:
		return 1 + x
	}
	// x = k ln 2 + r, |r| ≤ ln 2 / 2, r = hi − lo
	var k int
	if x < 0 {
		k = int(float64(math.Log2E*x) - 0.5)
	} else {
		k = int(float64(math.Log2E*x) + 0.5)
	}
	hi := x - float64(float64(k)*ln2Hi)
	lo := float64(float64(k) * ln2Lo)
	r := hi - lo
	t := float64(r * r)
	c := r - float64(t*(1.66666666666666657415e-01+float64(t*(-2.77777777770155933842e-03+
		float64(t*(6.61375632143793436117e-05+float64(t*(-1.65339022054652515390e-06+
			float64(t*4.13813679705723846039e-08)))))))))
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	return scale(y, k)
}

// scale is y·2^k for y in [1/2, 2) and k in [−1076, 1024], rounded once.
func scale(y float64, k int) float64 {
	switch {
	case k < -1000:
		return y * math.Float64frombits(uint64(k+1000+1023)<<52) * 0x1p-1000
	case k > 1000:
		return y * math.Float64frombits(uint64(k-1000+1023)<<52) * 0x1p1000
	}
	return y * math.Float64frombits(uint64(k+1023)<<52)
}
