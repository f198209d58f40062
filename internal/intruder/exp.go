package intruder

import "math"

const (
	expSteps = 128
	// Adding and subtracting roundShift rounds a double below 2^51 to an integer.
	roundShift = 3 << 51
	stepsPerE  = expSteps / math.Ln2
	// ln 2/128 in two parts; the first has 32 trailing zero bits, so that k times it
	// is exact for every k used here.
	stepHigh = 0x1.62e42fee00000p-08
	stepLow  = 0x1.a39ef35793c76p-40
)

var expTable = func() (t [expSteps]float64) {
	for j := range t {
		t[j] = math.Exp2(float64(j) / expSteps)
	}
	return
}()

// exp is e^x for x from -700 to 700, with a relative error below 2e-15: 2^(j/128)
// from a table times a polynomial of degree 4 on |r| ≤ ln 2/256, whose remainder is
// r⁵/120 < 1.3e-15. It replaces math.Exp, which would take a third of the time of an
// attack.
func exp(x float64) float64 {
	shifted := x*stepsPerE + roundShift
	k := shifted - roundShift
	r := (x - k*stepHigh) - k*stepLow
	n := int64(k)
	p := r + r*r*(0.5+r*(1.0/6+r*(1.0/24)))
	t := expTable[n&(expSteps-1)]
	return math.Float64frombits(math.Float64bits(t+t*p) + uint64(n>>7)<<52)
}
