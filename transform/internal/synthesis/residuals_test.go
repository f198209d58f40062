package synthesis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// The residual of a record and the noise that smooths it are independent, in the first column and
// in later ones: the spread stays that of the data, although residuals increase with the places of
// the records. If they were drawn together, it would be a fifth greater. An SD of n normal values
// has a standard error of 1/√(2n). Both SDs have one, and the tolerance is five of the difference.
func TestSmoothingIsIndependentOfResiduals(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(8, 12))
	rising, other := make([]float64, n), make([]float64, n)
	for i := range n {
		rising[i], other[i] = 1000+100*r.NormFloat64(), 50+10*r.NormFloat64()
	}
	slices.Sort(rising)
	columns := []testColumn{floats(-1, rising...), floats(-1, other...)}
	for _, names := range [][]string{{"a"}, {"b", "a"}} {
		got := whole(t, chain(t, testSetup(t, columns...), synthesise(Synthesise{Columns: names})), 500, columns...)
		ratio := stat.StdDev(got[0], nil) / stat.StdDev(rising, nil)
		if tolerance := 5 / math.Sqrt(n); !(math.Abs(ratio-1) <= tolerance) {
			t.Errorf("%v: the SD is %v times that of the data, want 1 ± %v", names, ratio, tolerance)
		}
	}
}
