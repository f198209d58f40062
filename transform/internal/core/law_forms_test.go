package core

import (
	"math"
	"testing"
)

// testDensity is the density of the standard form, by definition.
func (d Draw) testDensity(z float64) float64 {
	switch d {
	case Laplace:
		return math.Exp(-math.Abs(z)) / 2
	case Uniform:
		if math.Abs(z) <= 1 {
			return 0.5
		}
		return 0
	}
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// testIntegral integrates z^power times the density over [a, b] with the midpoint rule, on cells
// that end at −1, 0 and 1, where densities have corners.
func (d Draw) testIntegral(a, b float64, power int) float64 {
	a, b = max(a, -45), min(b, 45)
	const cells = 4000
	sum := 0.0
	cuts := []float64{a, min(max(a, -1), b), min(max(a, 0), b), min(max(a, 1), b), b}
	for k := 1; k < len(cuts); k++ {
		width := (cuts[k] - cuts[k-1]) / cells
		for i := range cells {
			z := cuts[k-1] + (float64(i)+0.5)*width
			sum += width * math.Pow(z, float64(power)) * d.testDensity(z)
		}
	}
	return sum
}

// The closed forms of the three distributions equal their integrals, over bounded and unbounded
// intervals on either side of 0 and around it.
func TestFormsAreIntegrals(t *testing.T) {
	inf := math.Inf(1)
	bounds := []float64{-inf, -6, -2.5, -1, -0.4, 0, 0.4, 1, 2.5, 6, inf}
	for _, d := range []Draw{Normal, Laplace, Uniform} {
		for i, a := range bounds {
			for _, b := range bounds[i:] {
				want := [3]float64{}
				if a < b {
					for power := range want {
						want[power] = d.testIntegral(a, b, power)
					}
				}
				var got [3]float64
				got[0] = d.mass(a, b)
				got[1], got[2] = d.partial(a, b)
				for power, g := range got {
					// The error of the midpoint rule: the squared width (at most 45/4000), times
					// the maximum second derivative of z² times a density (3), divided by 24, on an
					// interval of effective length 10.
					if !(math.Abs(g-want[power]) <= 2e-4) {
						t.Errorf("draw %d: ∫ z^%d over [%v, %v] is %v, want %v", d, power, a, b, g, want[power])
					}
				}
				if got := d.Within(a, b, 1); !(math.Abs(got-want[0]) <= 2e-4) {
					t.Errorf("draw %d: within [%v, %v]: %v, want %v", d, a, b, got, want[0])
				}
				if mass, _ := d.partial(b, a); a < b && mass != 0 {
					t.Errorf("draw %d: the mass of an empty interval is %v", d, mass)
				}
			}
		}
		if v := d.testIntegral(-inf, inf, 2); !(math.Abs(d.variance()-v) <= 2e-4) {
			t.Errorf("draw %d: variance %v, want %v", d, d.variance(), v)
		}
		if got, want := d.Deviation(3), 3*math.Sqrt(d.variance()); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("draw %d: SD %v, want %v", d, got, want)
		}
		// The probability beyond reach is less than 1e-15; a tenth closer there is more, except for
		// uniform draws.
		r := d.reach()
		if d.mass(r, inf) > 1e-15 || d != Uniform && d.mass(0.9*r, inf) < 1e-15 || d == Uniform &&
			d.mass(0.9*r, inf) != 0.05*1 && math.Abs(d.mass(0.9*r, inf)-0.05) > 1e-12 {
			t.Errorf("draw %d: the probability beyond %v is %v", d, r, d.mass(r, inf))
		}
	}
}

// The variance of a rounded draw is the sum over its possible values.
func TestRoundedIsASum(t *testing.T) {
	for _, d := range []Draw{Normal, Laplace, Uniform} {
		for _, s := range []float64{0.05, 0.2, 0.499, 0.5, 0.7, 1, 1.49, 1.5, 2.3, 2.99, 3, 5, 17.3} {
			for _, h := range []float64{1, 0.25, 3} {
				want := 0.0
				for j := 1.0; (j-0.5)*h/s < d.reach()+1; j++ {
					want += 2 * j * j * h * h * d.mass((j-0.5)*h/s, (j+0.5)*h/s)
				}
				// From three steps on, the variance of a rounded normal draw is approximated by
				// adding a twelfth of the squared step. The error is exp(−2π²·9) times the squares
				// of a few steps.
				if got := rounded(d, s, h); !(math.Abs(got-want) <= 1e-9*(want+h*h)) {
					t.Errorf("draw %d of scale %v to steps of %v: %v, want %v", d, s, h, got, want)
				}
			}
		}
		if got := rounded(d, 2, 0); got != 4*d.variance() {
			t.Errorf("draw %d: not rounded it is %v", d, got)
		}
		if got := rounded(d, 0, 2); got != 0 {
			t.Errorf("draw %d: of scale 0 it is %v", d, got)
		}
		// A step so small that the limit replaces the sum.
		if got, want := rounded(d, 1, 1e-6), d.variance(); !(math.Abs(got-want) <= 1e-11) {
			t.Errorf("draw %d, fine steps: %v, want %v", d, got, want)
		}
	}
}

// Between two bounds, a share u of the probability lies below the returned point, wherever the
// bounds are. If both are out of reach, the result is the nearer one.
func TestBetweenIsTheShare(t *testing.T) {
	inf := math.Inf(1)
	bounds := []float64{-inf, -12, -6, -2.5, -1, -0.4, 0, 0.4, 1, 2.5, 6, 12, inf}
	for _, d := range []Draw{Normal, Laplace, Uniform} {
		for i, a := range bounds {
			for _, b := range bounds[i+1:] {
				mass := d.mass(a, b)
				for _, u := range []float64{1e-9, 0.1, 0.5, 0.9, 1 - 1e-9} {
					z := d.Between(a, b, u)
					if !(z >= a && z <= b) {
						t.Errorf("draw %d in [%v, %v]: %v", d, a, b, z)
					}
					if mass < 1e-290 {
						if want := map[bool]float64{true: a, false: b}[a > 0]; z != want && d != Uniform {
							t.Errorf("draw %d in [%v, %v]: %v, want %v", d, a, b, z, want)
						}
						continue
					}
					below := u
					if a > 0 {
						below = 1 - u // mirrored, to keep the tail exact
					}
					if got := d.mass(a, z) / mass; !(math.Abs(got-below) <= 1e-7) {
						t.Errorf("draw %d in [%v, %v]: the probability below %v is %v, want %v", d, a, b, z, got, below)
					}
				}
			}
		}
	}
	if z := Normal.Between(-60, -50, 0.5); z != -50 {
		t.Errorf("out of reach: %v", z)
	}
	if z := Normal.Between(50, 60, 0.5); z != 50 {
		t.Errorf("out of reach: %v", z)
	}
}
