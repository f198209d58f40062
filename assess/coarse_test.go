package assess

import (
	"math"
	"testing"
)

func TestCoarse(t *testing.T) {
	nan, inf := Float(math.NaN()), Float(math.Inf(1))
	for _, c := range []struct {
		v, scale Float
		n        int64
		want     Float
	}{
		{158.7, 158.7, 28_155, 158}, // 1.89
		{158.7, 158.7, 100_000_000, 158.7},
		{0.31, 0.31, 4, 0.5}, {0.2, 0.31, 4, 0}, // 0.31
		{603.7, 450, 2_025, 600},   // 20 exactly
		{603.7, 450.5, 2_025, 600}, // 20.02 → 50
		{629, 450.5, 2_025, 650},   // likewise
		{-629, 450.5, 2_025, -650},
		{0.412, 1, 10_000, 0.42},        // 0.02
		{0.412, 1, 9_999, 0.4},          // 0.05
		{1.37e-5, 1.37e-5, 400, 1.4e-5}, // 1.37e-6 → 2e-6
		{123_456, 123_456, 400, 120_000},
		{0, 0, 5, 0}, {0, 7, 0, 0}, {5, 0, 10, nan}, {5, 5, 0, nan}, {5, nan, 10, nan}, {nan, nan, 10, nan},
		{inf, inf, 10, inf}, {-inf, 1, 10, -inf}, {5, inf, 10, nan}, {math.MaxFloat64, math.MaxFloat64, 4, nan},
	} {
		if got := Coarse(c.v, c.scale, c.n); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("Coarse(%v, %v, %d) is %v, want %v", c.v, c.scale, c.n, got, c.want)
		}
	}
}
