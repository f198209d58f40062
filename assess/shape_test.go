package assess

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestApart(t *testing.T) {
	nan := math.NaN()
	codes := func(numbers ...int) (list []float64) {
		for k, n := range numbers {
			for range n {
				list = append(list, Categories*(1+float64(k)/1024))
			}
		}
		return list
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, nan}, {[]float64{7}, nan}, {[]float64{7, 7}, 0}, {[]float64{7, 8}, 1}, {[]float64{nan, 7, nan, 8}, 1},
		{codes(2, 2), 1 - 4./12}, {codes(3, 1), 0.5}, {codes(0, 5), 0},
	} {
		if got := float64(ShapeOf(c.values).Apart); !(math.Abs(got-c.want) < 1e-12) && (got == got || c.want == c.want) {
			t.Errorf("%v: %v of the pairs differ, want %v", c.values, got, c.want)
		}
	}
	for _, n := range []int{mostDifferent, mostDifferent + 1} {
		var values []float64
		for i := range n {
			values = append(values, float64(i))
		}
		if got := ShapeOf(values).Apart; (got == got) != (n == mostDifferent) {
			t.Errorf("of %d different values %v of the pairs differ", n, got)
		}
	}
	shape := func(apart float64) Shape { return Shape{Present: 1, Magnitude: Float(nan), Apart: Float(apart)} }
	for _, c := range []struct {
		then, now float64
		unlike    bool
	}{
		{0.8, 0.8, false}, {0.8, 0.99, false}, {0.8, 0.61, false}, {0.8, 0.59, true}, {0.8, 0, true}, {0, 0, false}, {0, 1, false},
		{0.04, 0.021, false}, {0.04, 0.019, true}, {0.1, 0.06, false}, {0.1, 0.04, true}, {0.24, 0.17, true}, {0.16, 0.115, false},
		{nan, 0, false}, {0.8, nan, false},
	} {
		if why := shape(c.then).Unlike(shape(c.now)); (why != "") != c.unlike {
			t.Errorf("%v of the pairs differed, %v do: %q", c.then, c.now, why)
		}
	}
}

// The same values in another unit have another magnitude and the same spread; values that have grown by less, or whose
// spread has changed, are honest change. Below three times the magnitude nothing else is noticed, and nothing in what an
// older ledger has.
func TestUnitsOfShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var pounds, later []float64
	for range 2000 {
		v := 150 * math.Exp(0.2*rng.NormFloat64())
		pounds, later = append(pounds, v), append(later, v*math.Exp(0.2*rng.NormFloat64()))
	}
	times := func(values []float64, by float64) (list []float64) {
		for _, v := range values {
			list = append(list, v*by)
		}
		return list
	}
	was := ShapeOf(pounds)
	for _, c := range []struct {
		now    []float64
		unlike bool
	}{
		{pounds, false}, {times(pounds, 0.4536), true}, {times(pounds, 2.2046), true}, {times(pounds, 1.609), true},
		{times(pounds, 0.621), true}, {times(pounds, 1.35), false}, {times(pounds, 1/1.35), false}, {later, false},
		{times(later, 1.6), false}, {times(later, 3.2), true},
	} {
		if why := was.Unlike(ShapeOf(c.now)); (why != "") != c.unlike {
			t.Errorf("magnitude %v, spread %v, was %v, %v: %q", ShapeOf(c.now).Magnitude, ShapeOf(c.now).Spread, was.Magnitude,
				was.Spread, why)
		}
	}
	if older := (Shape{Present: 1, Magnitude: was.Magnitude, Apart: Float(math.NaN())}); older.Unlike(ShapeOf(times(pounds, 2))) != "" {
		t.Error("without a spread, twice the magnitude is noticed")
	}
}

// Codes that are exchanged are noticed, if their shares differ, also those of numbers and those that are all new; shares
// that have moved by 0.05 are not, nor those of another sample, nor a new rare code. Two samples of 600 differ by about
// 2/600 in the sum of squares, of which the thirtieth of 0.45 is five times as much.
func TestCodesOfShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	n := 600
	of := func(base float64, shares ...float64) Shape {
		var values []float64
		for range n {
			u, k := rng.Float64(), 0
			for k < len(shares)-1 && u > shares[k] {
				u -= shares[k]
				k++
			}
			values = append(values, base*(1+float64(k)/64))
		}
		return ShapeOf(values)
	}
	for name, base := range map[string]float64{"texts": Categories, "numbers": 64} {
		was := of(base, 0.3, 0.25, 0.2, 0.15, 0.1)
		for _, c := range []struct {
			now    Shape
			unlike bool
		}{
			{of(base, 0.3, 0.25, 0.2, 0.15, 0.1), false}, {of(base, 0.1, 0.15, 0.2, 0.25, 0.3), true},
			{of(base, 0.15, 0.1, 0.2, 0.3, 0.25), true}, {of(base, 0.25, 0.3, 0.2, 0.15, 0.1), false},
			{of(base, 0.29, 0.25, 0.2, 0.15, 0.1, 0.01), false},
			{of(base, 0.5, 0.2, 0.1, 0.1, 0.1), false}, {of(2*base, 0.3, 0.25, 0.2, 0.15, 0.1), true},
		} {
			if why := was.Unlike(c.now); (why != "") != c.unlike {
				t.Errorf("%s: %v: %q, want %v", name, c.now.Shares, why, c.unlike)
			}
		}
	}
	even := []float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6}
	for _, n = range []int{60, 300, 3000} {
		for range 200 {
			if why := of(Categories, even...).Unlike(of(Categories, even...)); why != "" && n > 60 || strings.Contains(why, "shares") {
				t.Fatalf("two samples of %d values: %q", n, why)
			}
		}
	}
	older := of(Categories, 0.3, 0.2, 0.5)
	older.Codes = nil
	if why := older.Unlike(of(Categories, 0.5, 0.2, 0.3)); why != "" {
		t.Errorf("without sums: %q", why)
	}
	if s := ShapeOf(make([]float64, 9)); s.Codes != nil {
		t.Error("one value has codes")
	}
}
