package correct_test

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Corrected covariances of columns with correlated noise: the mean over 40 replicates is within
// five standard errors of the original covariance, and without the correction it is not.
// Correlations and slopes need no correction.
func TestCovarianceFollowed(t *testing.T) {
	s := newSurvey(3000)
	key, err := keystream.NewKey(append(make([]byte, 31), 3))
	if err != nil {
		t.Fatal(err)
	}
	setup := transform.Setup{Key: key, Window: 1 << 20,
		Correlations: transform.Correlations{{"wage", "years"}: stat.Correlation(s.wage, s.years, nil)}}
	for i, name := range []string{"wage", "years"} {
		v := [][]float64{s.wage, s.years}[i]
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: 3, SD: stat.StdDev(v, nil), Mean: stat.Mean(v, nil)})
	}
	chain, err := transform.NewChain([]transform.Spec{
		{Params: &transform.Noise{Columns: []string{"years", "wage"}, SD: &transform.Amount{Value: 0.8, Relative: true},
			Correlated: true}},
		{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 0.3, Relative: true}}},
	}, setup)
	if err != nil {
		t.Fatal(err)
	}
	λ := 0.8 * setup.Columns[0].SD
	steps := correct.Chain{correct.Added{SD: λ, Normal: true, With: []string{"years", "wage"}},
		correct.Added{SD: 0.3 * setup.Columns[0].SD, Normal: true}}
	if v := steps.Follows("years"); v != λ*λ {
		t.Errorf("the noise that follows years has variance %v, want %v", v, λ*λ)
	}
	if v := steps.Follows("other"); v != 0 {
		t.Errorf("the noise that follows a column of no mask: %v", v)
	}
	truth := stat.Covariance(s.wage, s.years, nil)
	const replicates = 40
	var raw, corrected []float64
	for m := 1; m <= replicates; m++ {
		b := new(microdata.Block)
		b.Reset(0, 0, len(s.wage), 2)
		copy(b.Columns[0].Alloc(len(s.wage), false).Values, s.wage)
		copy(b.Columns[1].Alloc(len(s.wage), false).Values, s.years)
		if err := chain.Replicate(m).Apply(b); err != nil {
			t.Fatal(err)
		}
		y, w := b.Columns[0].Out().Values, b.Columns[1].Out().Values
		released := stat.Covariance(y, w, nil)
		known := steps.Undo(stat.Mean(y, nil), stat.Variance(y, nil))
		raw = append(raw, released)
		corrected = append(corrected, correct.CovarianceFollowed(released, known.Variance.Least, λ*λ))
	}
	se := stat.StdDev(corrected, nil) / math.Sqrt(replicates)
	if off := stat.Mean(corrected, nil) - truth; math.Abs(off) > 5*se {
		t.Errorf("corrected: off by %v, standard error %v", off, se)
	}
	if off := stat.Mean(raw, nil) - truth; !(math.Abs(off) > 0.5*math.Abs(truth)) {
		t.Errorf("not corrected: off by %v of %v, so nothing is shown", off, truth)
	}
}
