package record

import (
	"math"
	"testing"
)

// A percentile of one value is that value; a percentile of two values lies between them.
func TestPercentileOfFewValues(t *testing.T) {
	for _, p := range []float64{0.5, 50, 99.5, 100} {
		if got := percentile([]float64{7}, p); got != 7 {
			t.Errorf("percentile %v of 7: %v", p, got)
		}
		if got := percentile([]float64{7, 17}, p); math.Abs(got-(7+p/10)) > 1e-12 {
			t.Errorf("percentile %v of 7 and 17: %v", p, got)
		}
	}
}
