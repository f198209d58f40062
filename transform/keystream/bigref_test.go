package keystream

import (
	"math"
	"math/big"
)

// High-precision references for the distribution functions and the ziggurat, computed only with the
// four operations and the square root of big.Float.

func bigF(prec uint, v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }

// bigExp is e^x: Taylor's series of x/2^k, squared k times.
func bigExp(x *big.Float) *big.Float {
	prec := x.Prec()
	work := prec + 64
	r := new(big.Float).SetPrec(work).Set(x)
	k := 0
	if r.Sign() != 0 {
		k = max(0, r.MantExp(nil)+12)
		r.SetMantExp(r, -k)
	}
	sum, term := bigF(work, 1), bigF(work, 1)
	for n := 1; ; n++ {
		term.Mul(term, r)
		term.Quo(term, bigF(work, float64(n)))
		if term.Sign() == 0 || term.MantExp(nil) < -int(work) {
			break
		}
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return new(big.Float).SetPrec(prec).Set(sum)
}

// bigLog is ln y by Halley's iteration on exp, from the float64 logarithm.
func bigLog(y *big.Float) *big.Float {
	prec := y.Prec()
	work := prec + 64
	m := new(big.Float).SetPrec(work)
	e := y.MantExp(m) // y = m·2^e
	near, _ := m.Float64()
	z := bigF(work, math.Log(near)+float64(e)*math.Ln2)
	for bits := uint(40); bits < 2*work; bits *= 3 {
		ez := bigExp(z)
		num := new(big.Float).SetPrec(work).Sub(y, ez)
		den := new(big.Float).SetPrec(work).Add(y, ez)
		num.Quo(num, den)
		z.Add(z, num.Mul(num, bigF(work, 2)))
	}
	return new(big.Float).SetPrec(prec).Set(z)
}

// bigPi is Machin's formula, 16 arctan 1/5 − 4 arctan 1/239.
func bigPi(prec uint) *big.Float {
	work := prec + 64
	arctan := func(n float64) *big.Float {
		p := new(big.Float).SetPrec(work).Quo(bigF(work, 1), bigF(work, n))
		sq := new(big.Float).SetPrec(work).Mul(p, p)
		sum := bigF(work, 0)
		for k := 0; p.Sign() != 0 && p.MantExp(nil) > -int(work); k++ {
			t := new(big.Float).SetPrec(work).Quo(p, bigF(work, float64(2*k+1)))
			if k%2 == 1 {
				t.Neg(t)
			}
			sum.Add(sum, t)
			p.Mul(p, sq)
		}
		return sum
	}
	a, b := arctan(5), arctan(239)
	a.Mul(a, bigF(work, 16))
	b.Mul(b, bigF(work, 4))
	return new(big.Float).SetPrec(prec).Sub(a, b)
}

// bigGauss is exp(−x²/2).
func bigGauss(x *big.Float) *big.Float {
	q := new(big.Float).SetPrec(x.Prec()).Mul(x, x)
	q.Quo(q, bigF(x.Prec(), -2))
	return bigExp(q)
}

// bigDensity is the standard normal density.
func bigDensity(x *big.Float) *big.Float {
	root := bigPi(x.Prec())
	root.Mul(root, bigF(x.Prec(), 2))
	root.Sqrt(root)
	return root.Quo(bigGauss(x), root)
}

// tailPrec returns a precision that gives bigNormalCDF(x) more than 128 correct bits: the tail is
// the difference of 1/2 and almost 1/2, which loses a little more than x²/(2 ln 2) bits.
func tailPrec(x float64) uint { return uint(256 + x*x) }

// bigNormalCDF is Φ(x) = 1/2 + φ(x) Σ x^(2n+1)/(1·3·5···(2n+1)), at x's precision.
func bigNormalCDF(x *big.Float) *big.Float {
	prec := x.Prec()
	sq := new(big.Float).SetPrec(prec).Mul(x, x)
	sum, term := new(big.Float).SetPrec(prec).Set(x), new(big.Float).SetPrec(prec).Set(x)
	for n := 1; term.Sign() != 0; n++ {
		term.Mul(term, sq)
		term.Quo(term, bigF(prec, float64(2*n+1)))
		if term.MantExp(nil) < sum.MantExp(nil)-int(prec) {
			break
		}
		sum.Add(sum, term)
	}
	sum.Mul(sum, bigDensity(x))
	return sum.Add(sum, bigF(prec, 0.5))
}

// relativeError is |got − want|/|want|.
func relativeError(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(want.Prec()).Sub(bigF(want.Prec(), got), want)
	if d.Sign() == 0 {
		return 0
	}
	d.Quo(d, want)
	e, _ := d.Abs(d).Float64()
	return e
}
