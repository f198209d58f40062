package papers

import (
	"math"
	"testing"
)

// value returns a figure, and ends the test if there is an error.
func value(tb testing.TB) func(v float64, err error) float64 {
	return func(v float64, err error) float64 {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func near(tb testing.TB, what string, got, want, relative float64) {
	tb.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) && got != want {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

const exact = 1e-12 // relative, for a few operations
