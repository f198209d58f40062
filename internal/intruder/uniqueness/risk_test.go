package uniqueness

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bigBits = 600

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(bigBits).SetFloat64(x) }
func bigNew() *big.Float         { return new(big.Float).SetPrec(bigBits) }

// bigLog is ln x for x > 0 by 2·artanh((m−1)/(m+1)), x = m·2^e with m in [½, 1).
func bigLog(x *big.Float) *big.Float {
	artanh := func(num, den *big.Float) *big.Float {
		y := bigNew().Quo(num, den)
		square := bigNew().Mul(y, y)
		sum, power := bigNew(), bigNew().Copy(y)
		for k := 1; power.Sign() != 0 && power.MantExp(nil) > -bigBits; k += 2 {
			sum.Add(sum, bigNew().Quo(power, bigOf(float64(k))))
			power.Mul(power, square)
		}
		return sum
	}
	m := bigNew()
	e := x.MantExp(m)
	log := artanh(bigNew().Sub(m, bigOf(1)), bigNew().Add(m, bigOf(1)))
	ln2 := artanh(bigOf(1), bigOf(3))
	log.Add(log, bigNew().Mul(bigOf(float64(e)), ln2))
	return log.Mul(log, bigOf(2))
}

// riskByRecurrence is p·I(f) for whole f, upwards from I(1) = −ln(p)/q in 600 bits;
// 600 bits cover errors that grow by p/q at each of f steps while f·log2(p/q) < 400.
func riskByRecurrence(f int, p float64) float64 {
	bp := bigOf(p)
	q := bigNew().Sub(bigOf(1), bp)
	integral := bigNew().Quo(bigNew().Neg(bigLog(bp)), q)
	for k := 1; k < f; k++ {
		next := bigNew().Quo(bigOf(1), bigOf(float64(k)))
		next.Sub(next, bigNew().Mul(bp, integral))
		integral = next.Quo(next, q)
	}
	r, _ := bigNew().Mul(bp, integral).Float64()
	return r
}

// riskBySeries is p/f·₂F₁(1, 1; f+1; q) in 600 bits.
func riskBySeries(f, p float64) float64 {
	q := bigNew().Sub(bigOf(1), bigOf(p))
	sum, term := bigOf(1), bigOf(1)
	for m := 1; term.MantExp(nil) > -80; m++ {
		term.Mul(term, q)
		term.Mul(term, bigOf(float64(m)))
		term.Quo(term, bigNew().Add(bigOf(f), bigOf(float64(m))))
		sum.Add(sum, term)
	}
	sum.Mul(sum, bigOf(p))
	r, _ := sum.Quo(sum, bigOf(f)).Float64()
	return r
}

// Against arithmetic with 600 bits, by two routes: the recurrence where p ≤ ½ (p/q ≤ 1,
// no growth) or f small, the series where it converges in some thousand terms.
func TestIndividualRiskAgainstBigFloat(t *testing.T) {
	ps := []float64{1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.19, 0.2, 0.21, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999,
		1 - 1e-6, 1 - 1e-12, 1 - 0x1p-53}
	fs := []float64{1, 2, 3, 4, 5, 7, 10, 15, 20, 23, 24, 25, 26, 30, 50, 100, 107, 200, 1000, 12345, 1e5, 1e6}
	both := 0
	for _, p := range ps {
		for _, f := range fs {
			got := IndividualRisk(f, p)
			references := 0
			compare := func(name string, want float64) {
				references++
				if !(math.Abs(got-want) <= 2e-14*want) {
					t.Errorf("f = %v, p = %v: got %v, want %v by %s", f, p, got, want, name)
				}
			}
			if f <= 1000 && (p <= 0.5 || f*math.Log2(p/(1-p)) < 400) {
				compare("recurrence", riskByRecurrence(int(f), p))
			}
			if f >= 10 || p >= 0.05 {
				compare("series", riskBySeries(f, p))
			}
			if references == 0 {
				t.Errorf("f = %v, p = %v: no reference", f, p)
			}
			if references == 2 {
				both++
			}
		}
	}
	if both < 100 {
		t.Errorf("%d points had both references", both)
	}
}

// For fractional f, against the integral p·∫ e^(−f·x)/(p + q·e^(−x)) dx over x = −ln u
// > 0 by the trapezoidal rule after x = e^(y − e^(−y)), under which the integrand falls
// off double exponentially and the rule converges geometrically.
func TestIndividualRiskOfFractions(t *testing.T) {
	integral := func(f, p float64) float64 {
		const h = 1. / 256
		sum := 0.0
		for i := -6 * 256; i <= 8*256; i++ {
			y := float64(i) * h
			x := math.Exp(y - math.Exp(-y))
			sum += x * (1 + math.Exp(-y)) * math.Exp(-f*x) / (p + (1-p)*math.Exp(-x))
		}
		return p * sum * h
	}
	for _, f := range []float64{1, 1 + 1e-12, 1 + 1e-7, 1.009, 1.0095, 1.01, 1.1, 1.25, 1.499, 1.5, 1.501, 1.75, 1.99,
		2 - 1e-9, 2, 2.3, 2.5, 3.5, 7.25, 17.125, 23.5, 24.5, 102.5} {
		for _, p := range []float64{1e-12, 1e-8, 1e-4, 0.01, 0.1, 0.19, 0.2, 0.21, 0.4, 0.8, 0.99} {
			// Two thousand terms of about 1e-16 relative error each, of one sign.
			got, want := IndividualRisk(f, p), integral(f, p)
			if !(math.Abs(got-want) <= 2e-13*want) {
				t.Errorf("f = %v, p = %v: got %v, want %v", f, p, got, want)
			}
		}
	}
}

// The closed forms, and conditions that every risk must satisfy: between p/f, since
// E(1/F) ≥ 1/E(F) = p/f, and 1/f; falling in f, rising in p.
func TestIndividualRiskProperties(t *testing.T) {
	closed := []struct{ f, p, want float64 }{
		{1, 0.5, math.Ln2},
		{2, 0.5, 1 - math.Ln2},
		{3, 0.5, math.Ln2 - 0.5},
		{1, 1, 1}, {7, 1, 1. / 7}, {7, 0, 0}, {4, 2, 0.25},
	}
	for _, c := range closed {
		if got := IndividualRisk(c.f, c.p); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("f = %v, p = %v: got %v, want %v", c.f, c.p, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		f, p := 1+math.Exp(15*random.Float64())-1, math.Exp(-28*random.Float64())
		r := IndividualRisk(f, p)
		if !(r >= p/f*(1-1e-14) && r <= 1/f*(1+1e-14)) {
			t.Fatalf("f = %v, p = %v: %v is not within [p/f, 1/f]", f, p, r)
		}
		if more := IndividualRisk(f+1, p); more > r {
			t.Fatalf("p = %v: rises from f = %v, %v, to f + 1, %v", p, f, r, more)
		}
		if more := IndividualRisk(f, min(1, p*1.001)); more < r {
			t.Fatalf("f = %v: falls from p = %v, %v, to %v", f, p, r, more)
		}
	}
}

func TestEstimators(t *testing.T) {
	for _, test := range []struct {
		e       Estimator
		f, F, r float64
	}{
		{Exact, 1, 2, math.Ln2},
		{Approximate, 1, 2, math.Ln2},
		{Approximate, 4, 8, 0.5 / 3.5},
		{Exact, 3, 6, math.Ln2 - 0.5},
		{Exact, 3, 3, 1. / 3},
		{Approximate, 3, 1.5, 1. / 3},
		{Approximate, 1.5, 15, IndividualRisk(1.5, 0.1)},
		{Exact, 2, math.Inf(1), 0},
	} {
		if got := test.e.Risk(test.f, test.F); !(math.Abs(got-test.r) <= 1e-15) {
			t.Errorf("%v, f = %v, F = %v: got %v, want %v", test.e, test.f, test.F, got, test.r)
		}
	}
	if s := fmt.Sprint(Exact, Approximate, Estimator(7)); s != "exact approx Estimator(7)" {
		t.Error(s)
	}
}

func TestHouseholdRisk(t *testing.T) {
	got := householdRisk([]int32{0, 5, 0, -1, -1, 5, 7, 7}, []float64{0.5, 1e-17, 0.5, 0.25, 0.125, 1e-17, 1, 0.5})
	want := []float64{0.75, 2e-17, 0.75, 0.25, 0.125, 2e-17, 1, 1}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-15*want[i]) {
			t.Errorf("record %d: got %v, want %v", i, got[i], want[i])
		}
	}
}
