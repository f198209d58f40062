package transform

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The law of two draws is the sum over every grid value that the first draw can give. The test
// computes this sum value by value, with its own distribution functions. If both draws are normal,
// they agree to 1e-6, and to 1 in 1000 in the tails, which matter for the extremes of a large file.
// Other densities have corners, and agree up to the error of the grid there.
func TestLawOfTwoDrawsIsTheSum(t *testing.T) {
	type draw struct {
		name  string
		scale func(v float64) float64 // of the standard form
		cdf   func(z float64) float64
		reach float64
		mask  Spec
	}
	normalCDF := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	laplaceCDF := func(z float64) float64 {
		if z < 0 {
			return math.Exp(z) / 2
		}
		return 1 - math.Exp(-z)/2
	}
	uniformCDF := func(z float64) float64 { return min(1, max(0, (z+1)/2)) }
	noise := func(sd float64) draw {
		return draw{"noise", func(float64) float64 {
			return sd
		}, normalCDF, 9, mask(&Noise{Columns: []string{"a"}, SD: amount(sd)})}
	}
	bias := func(phi float64) draw {
		return draw{"bias", func(v float64) float64 {
			return phi * math.Abs(v)
		}, normalCDF, 9, mask(&Bias{Columns: []string{"a"}, Phi: &phi})}
	}
	other := func(d string, sd float64) draw {
		n := draw{d, func(float64) float64 {
			return sd / math.Sqrt2
		}, laplaceCDF, 40, mask(&Noise{Columns: []string{"a"}, SD: amount(sd), Distribution: d})}
		if d == "uniform" {
			n.scale, n.cdf, n.reach = func(float64) float64 { return sd * math.Sqrt(3) }, uniformCDF, 1.01
		}
		return n
	}
	tiers := func(sd, at, below, above float64) draw {
		tiered := func(v float64) float64 {
			if v > at+0.001 {
				return sd * math.Sqrt(above)
			}
			if v > 0.001 {
				return sd * math.Sqrt(below)
			}
			return sd
		}
		return draw{"tiers", tiered, normalCDF, 9,
			mask(&Noise{Columns: []string{"a"}, SD: amount(sd), Tiers: []Tier{{Above: ptr(0.0), VarianceFactor: &below},
				{Above: &at, VarianceFactor: &above}}})}
	}
	points := 60
	if testing.Short() {
		points = 16
	}
	for _, tt := range []struct {
		first, second draw
		x             float64
		accuracy      float64
	}{
		{bias(0.05), tiers(3, 100, 1, 9), 100, 1e-6},
		{bias(0.05), tiers(3, 103, 1, 9), 100, 1e-6},
		{bias(0.05), tiers(0.5, 93, 4, 0), 100, 1e-6},
		{bias(0.05), tiers(0.02, 103, 1, 100), 100, 1e-6},
		{bias(0.002), tiers(30, 100, 1, 0.01), 100, 1e-6},
		{bias(0.001), tiers(0.3, 100, 1, 4), 100, 1e-6},
		{noise(3), bias(0.05), 100, 1e-6},
		{noise(3), bias(0.05), 4, 1e-6},
		{noise(3), bias(0.1), 0, 1e-6},
		{noise(0.05), bias(0.05), 10, 1e-6},
		{other("laplace", 2), noise(3), 100, 1e-6},
		{noise(3), other("laplace", 2), 100, 1e-6},
		{other("laplace", 2), other("laplace", 1), 100, 1e-6},
		{other("uniform", 2), noise(3), 100, 1e-6},
		{bias(0.03), other("uniform", 2), 100, 1e-6},
		{other("uniform", 2), other("uniform", 3), 100, 1e-5},
		{other("laplace", 2), tiers(3, 100, 1, 9), 99, 1e-6},
	} {
		setup := testSetup(t, testColumn{Values: []float64{tt.x}, Type: arrow.PrimitiveTypes.Float64, Decimals: 2})
		setup.Columns[0].SD, setup.Columns[0].Mean = 20, 100
		law, ok := chain(t, setup, tt.first.mask, tt.second.mask).Law("a")
		if !ok {
			t.Fatalf("%s, %s: has no law", tt.first.name, tt.second.name)
		}
		const h = 0.01
		s := tt.first.scale(tt.x)
		cells := math.Ceil(s*tt.first.reach/h) + 1
		of := func(f func(v, p float64)) {
			for j := -cells; j <= cells; j++ {
				f(tt.x+j*h, tt.first.cdf((math.Abs(j)*-1+0.5)*h/s)-tt.first.cdf((math.Abs(j)*-1-0.5)*h/s))
			}
		}
		low, high := law.Reach(tt.x)
		worst, tail := 0.0, 0.0
		for i := range points {
			at := math.Round((low+(high-low)*float64(i+1)/float64(points+1))/h) * h
			want := 0.0
			of(func(v, p float64) {
				if s := tt.second.scale(v); s > 0 {
					want += p * tt.second.cdf((at+h/2-v)/s)
				} else if v < at+h/2 {
					want += p
				}
			})
			got := law.Below(tt.x, at)
			worst = max(worst, math.Abs(got-want))
			if want > 1e-12 {
				tail = max(tail, math.Abs(got/want-1))
			}
		}
		if !(worst < tt.accuracy) || !(tail < 1e-3) {
			t.Errorf("%s, %s of %v: P(y ≤ t) is off by up to %.2g, relatively %.2g", tt.first.name, tt.second.name, tt.x, worst,
				tail)
		}
		var shift, square float64
		of(func(v, p float64) {
			s := tt.second.scale(v)
			shift += p * (v - tt.x)
			square += p * ((v-tt.x)*(v-tt.x) + variance(tt.second.cdf, s, tt.second.reach, h))
		})
		a, b := law.Moments(tt.x)
		if sd := math.Sqrt(square); !(math.Abs(a-shift) < 1e-6*sd) || !(math.Abs(b/square-1) < 1e-6) {
			t.Errorf("%s, %s of %v: moments %v and %v, of the sum %v and %v", tt.first.name, tt.second.name, tt.x, a, b, shift,
				square)
		}
	}
}

// variances is a cache, because many values have the same scale.
var variances = map[[3]float64]float64{}

// variance returns the variance of a draw rounded to multiples of h, by the sum.
func variance(cdf func(float64) float64, s, reach, h float64) float64 {
	if s == 0 {
		return 0
	}
	key := [3]float64{s, reach, h}
	v, known := variances[key]
	if !known {
		for j := 1.0; (j-1)*h <= s*reach; j++ {
			v += 2 * j * j * h * h * (cdf((0.5-j)*h/s) - cdf((-0.5-j)*h/s))
		}
		variances[key] = v
	}
	return v
}
