package transform

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Originals that lie alike between the values that are rounded to share the cells of the first draw. The law of each is
// the sum over all that the two draws can give, taken one by one, in any order of the originals, on both sides of 0,
// and where numbers are so large that the grid is not exact. A base that is an odd and one that is an even multiple of
// the grid put halves to the grid or between; with tiers some originals have another scale; with bounds some cells are
// cut.
func TestOriginalsThatLieAlikeShareALaw(t *testing.T) {
	above := 4.0
	for name, masks := range map[string][]Spec{
		"even": {mask(&Noise{Columns: []string{"a"}, SD: amount(2)}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(0.5)})},
		"odd": {mask(&Noise{Columns: []string{"a"}, SD: amount(2)}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(0.4)})},
		"no": {mask(&Noise{Columns: []string{"a"}, SD: amount(0.5)})},
		"one": {mask(&Noise{Columns: []string{"a"}, SD: amount(0.02)}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(5.0)})},
		"two": {mask(&Noise{Columns: []string{"a"}, SD: amount(2)}), mask(&Round{Columns: []string{"a"}, Base: ptr(0.4)}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(0.5)})},
		"laplace": {mask(&Noise{Columns: []string{"a"}, SD: amount(1), Distribution: "laplace"}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(0.5)})},
		"tiers": {mask(&Noise{Columns: []string{"a"}, SD: amount(1), Tiers: []Tier{{Above: ptr(3.0),
			VarianceFactor: &above}}}),
			mask(&Round{Columns: []string{"a"}, Base: ptr(0.5)})},
		"bounds": {mask(&Noise{Columns: []string{"a"}, SD: amount(2)}), mask(&Round{Columns: []string{"a"}, Base: ptr(0.5)}),
			mask(&Topcode{Columns: []string{"a"}, Upper: ptr(4.0)})},
	} {
		masks = append(masks, mask(&Noise{Columns: []string{"a"}, SD: amount(1), Distribution: "laplace"}))
		setup := testSetup(t, testColumn{Values: []float64{0}, Type: arrow.PrimitiveTypes.Float64, Decimals: 1})
		setup.Columns[0].SD, setup.Columns[0].Mean = 1, 0
		shared, ok := chain(t, setup, masks...).Law("a")
		if !ok {
			t.Fatalf("%s: no law", name)
		}
		var x []float64
		for k := range 60 {
			x = append(x, float64(k-30)/10)
		}
		x = append(x, 1e5, 1e5+0.5, 1e5+2.3, -1e5-0.1, 4e5-0.1, 5e5, 1e9+0.4, 1e9+5.4, 1e12, 1e15)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(x), func(i, k int) { x[i], x[k] = x[k], x[i] })
		alone, _ := chain(t, setup, masks...).Law("a")
		alone.First.Alikes = nil
		each, p := shared.BelowEach(x), make([]float64, len(x))
		for _, d := range []float64{-6, -1.3, -0.1, 0, 0.2, 2.5, 7} {
			for _, about := range []float64{0, 1e5, 1e9} {
				each(about+d, p)
				for i, v := range x {
					one := []float64{0}
					alone.BelowEach([]float64{v})(about+d, one)
					// The ends of cells are known to the last bit of v, and the density is below 0.4.
					if !(math.Abs(p[i]-one[0]) <= 1e-11+1e-15*math.Abs(v)) {
						t.Fatalf("%s: P(y ≤ %v) of %v is %v among others and %v alone", name, about+d, v, p[i], one[0])
					}
				}
			}
		}
		for _, v := range x {
			a, b := shared.Moments(v)
			if c, d := alone.Moments(v); !(math.Abs(a-c) <= 1e-11*math.Sqrt(d)+1e-13*math.Abs(v)) ||
				!(math.Abs(b/d-1) <= 1e-10+1e-12*math.Abs(v)) {
				t.Errorf("%s: moments of %v are %v and %v among others, %v and %v alone", name, v, a, b, c, d)
			}
		}
		if kept := len(shared.First.Alikes.Of); (kept == 0) != (name == "bounds") {
			t.Errorf("%s: %d are shared", name, kept)
		}
	}
}

// The moments after noise, rounding and Laplace noise are the sums over all results of the first draw: of v on the grid
// of 0.1, rounded to multiples of 5, a half to the even one, and of the second draw on the same grid.
func TestMomentsAfterRoundingAreTheSum(t *testing.T) {
	setup := testSetup(t, testColumn{Values: []float64{0}, Type: arrow.PrimitiveTypes.Float64, Decimals: 1})
	setup.Columns[0].SD, setup.Columns[0].Mean = 1, 0
	law,
		_ := chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(20)}),
		mask(&Round{Columns: []string{"a"}, Base: ptr(5.0)}),
		mask(&Noise{Columns: []string{"a"}, SD: amount(10), Distribution: "laplace"})).Law("a")
	below := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	laplace := func(z float64) float64 {
		if z > 0 {
			return 1 - math.Exp(-z)/2
		}
		return math.Exp(z) / 2
	}
	second := variance(laplace, 10/math.Sqrt2, 45, 0.1)
	for _, k := range []int{1234, 1284, 1334, -66, -67, 25, -25, 75, 7025} { // in tenths
		var shift, square float64
		for j := -1900; j <= 1900; j++ {
			p := below(-(math.Abs(float64(j))-0.5)/200) - below(-(math.Abs(float64(j))+0.5)/200)
			v := 5 * math.RoundToEven(float64(k+j)/50)
			d := v - float64(k)/10
			shift, square = shift+p*d, square+p*(d*d+second)
		}
		a, b := law.Moments(float64(k) / 10)
		// What lies beyond 8 SDs, and halves that are put a millionth of a base beside the end, count for less.
		if !(math.Abs(a-shift) < 1e-7) || !(math.Abs(b-square) < 1e-6*square) {
			t.Errorf("moments of %v tenths are %v and %v, of the sum %v and %v", k, a, b, shift, square)
		}
	}
}
