package keystream

import "math"

// NormalCDF is the standard normal distribution function Φ. Its relative error is
// below 1e-12 wherever it is above 1e-300, the lower tail included; the bits are
// the same on every platform.
func NormalCDF(x float64) float64 {
	lower, _ := normalTails(x)
	return lower
}

// normalTails returns Φ(x) and 1 − Φ(x) by the rational approximations of Cody
// (1969), Mathematics of Computation 23, 631, as in his ANORM (Algorithm 715).
func normalTails(x float64) (lower, upper float64) {
	y := math.Abs(x)
	switch {
	case x != x:
		return x, x
	case y <= 0.67448975:
		s := float64(y * y)
		num, den := float64(codySmallNum[4]*s), s
		for i := range 3 {
			num = float64((num + codySmallNum[i]) * s)
			den = float64((den + codySmallDen[i]) * s)
		}
		t := float64(x*(num+codySmallNum[3])) / (den + codySmallDen[3])
		return 0.5 + t, 0.5 - t
	case y <= 5.656854248:
		num, den := float64(codyMiddleNum[8]*y), y
		for i := range 7 {
			num = float64((num + codyMiddleNum[i]) * y)
			den = float64((den + codyMiddleDen[i]) * y)
		}
		lower = (num + codyMiddleNum[7]) / (den + codyMiddleDen[7])
	case y < 39:
		s := 1 / float64(y*y)
		num, den := float64(codyLargeNum[5]*s), s
		for i := range 4 {
			num = float64((num + codyLargeNum[i]) * s)
			den = float64((den + codyLargeDen[i]) * s)
		}
		t := float64(s*(num+codyLargeNum[4])) / (den + codyLargeDen[4])
		lower = (inverseRoot2Pi - t) / y
	default:
		y = 39 // Φ(−39) is below the least float64
	}
	// exp(−y²/2) as a product of two factors, so that the rounding of y² has no
	// effect: the first factor's argument is exact.
	head := float64(math.Floor(float64(y*16)) / 16) // a division by 2⁴ is compiled to a product
	rest := float64((y - head) * (y + head))
	lower = float64(float64(exp(float64(-0.5*float64(head*head)))*exp(float64(-0.5*rest))) * lower)
	if x > 0 {
		return 1 - lower, lower
	}
	return lower, 1 - lower
}

const inverseRoot2Pi = 0.39894228040143267793994605993438 // φ(0)

var (
	codySmallNum = [5]float64{2.2352520354606839287e00, 1.6102823106855587881e02, 1.0676894854603709582e03,
		1.8154981253343561249e04, 6.5682337918207449113e-2}
	codySmallDen = [4]float64{4.7202581904688241870e01, 9.7609855173777669322e02, 1.0260932208618978205e04,
		4.5507789335026729956e04}
	codyMiddleNum = [9]float64{3.9894151208813466764e-1, 8.8831497943883759412e00, 9.3506656132177855979e01,
		5.9727027639480026226e02, 2.4945375852903726711e03, 6.8481904505362823326e03, 1.1602651437647350124e04,
		9.8427148383839780218e03, 1.0765576773720192317e-8}
	codyMiddleDen = [8]float64{2.2266688044328115691e01, 2.3538790178262499861e02, 1.5193775994075548050e03,
		6.4855582982667607550e03, 1.8615571640885098091e04, 3.4900952721145977266e04, 3.8912003286093271411e04,
		1.9685429676859990727e04}
	codyLargeNum = [6]float64{2.1589853405795699e-1, 1.274011611602473639e-1, 2.2235277870649807e-2,
		1.421619193227893466e-3, 2.9112874951168792e-5, 2.307344176494017303e-2}
	codyLargeDen = [5]float64{1.28426009614491121e00, 4.68238212480865118e-1, 6.59881378689285515e-2,
		3.78239633202758244e-3, 7.29751555083966205e-5}
)

// LaplaceCDF is the standard Laplace distribution function (scale 1, variance 2),
// with full relative accuracy in the lower tail.
func LaplaceCDF(x float64) float64 {
	if x < 0 {
		return 0.5 * exp(x)
	}
	return 1 - float64(0.5*exp(-x))
}

// NormalTails writes Φ(−|x[i]|), the smaller of Φ(x[i]) and 1 − Φ(x[i]), into q[i] for
// every i: the bits of NormalCDF(−|x[i]|), in less time than that many calls take. q must
// have the length of x and may be x itself.
func NormalTails(q, x []float64) {
	q = q[:len(x)]
	for i, v := range x {
		y := math.Abs(v)
		var lower float64
		switch {
		case !(y > 0.67448975 && y < 39):
			q[i] = NormalCDF(-y)
			continue
		case y <= 5.656854248:
			n, d := float64(codyMiddleNum[8]*y), y
			n, d = float64((n+codyMiddleNum[0])*y), float64((d+codyMiddleDen[0])*y)
			n, d = float64((n+codyMiddleNum[1])*y), float64((d+codyMiddleDen[1])*y)
			n, d = float64((n+codyMiddleNum[2])*y), float64((d+codyMiddleDen[2])*y)
			n, d = float64((n+codyMiddleNum[3])*y), float64((d+codyMiddleDen[3])*y)
			n, d = float64((n+codyMiddleNum[4])*y), float64((d+codyMiddleDen[4])*y)
			n, d = float64((n+codyMiddleNum[5])*y), float64((d+codyMiddleDen[5])*y)
			n, d = float64((n+codyMiddleNum[6])*y), float64((d+codyMiddleDen[6])*y)
			lower = (n + codyMiddleNum[7]) / (d + codyMiddleDen[7])
		default:
			s := 1 / float64(y*y)
			n, d := float64(codyLargeNum[5]*s), s
			n, d = float64((n+codyLargeNum[0])*s), float64((d+codyLargeDen[0])*s)
			n, d = float64((n+codyLargeNum[1])*s), float64((d+codyLargeDen[1])*s)
			n, d = float64((n+codyLargeNum[2])*s), float64((d+codyLargeDen[2])*s)
			n, d = float64((n+codyLargeNum[3])*s), float64((d+codyLargeDen[3])*s)
			t := float64(s*(n+codyLargeNum[4])) / (d + codyLargeDen[4])
			lower = (inverseRoot2Pi - t) / y
		}
		cell := int(float64(y*16)) % len(sixteenths) // y is below 39
		head := float64(float64(cell) / 16)          // a division by 2⁴ is compiled to a product
		a := float64(-0.5 * float64((y-head)*(y+head)))
		e := 1 + a
		if a <= -0x1p-28 { // exp(a) as exp computes it
			k := int(float64(math.Log2E*a) - 0.5)
			hi, lo := a-float64(float64(k)*ln2Hi), float64(float64(k)*ln2Lo)
			r := hi - lo
			t := float64(r * r)
			c := r - float64(t*(1.66666666666666657415e-01+float64(t*(-2.77777777770155933842e-03+
				float64(t*(6.61375632143793436117e-05+float64(t*(-1.65339022054652515390e-06+
					float64(t*4.13813679705723846039e-08)))))))))
			e = float64(1-((lo-float64(r*c)/(2-c))-hi)) * math.Float64frombits(uint64(k+1023)<<52)
		}
		q[i] = float64(float64(sixteenths[cell]*e) * lower)
	}
}

// sixteenths has exp(−x²/2) at the multiples of 1/16.
var sixteenths = func() (table [1024]float64) {
	for i := range table {
		x := float64(i) / 16
		table[i] = exp(float64(-0.5 * float64(x*x)))
	}
	return table
}()
