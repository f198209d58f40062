package assess

import (
	"math"
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
