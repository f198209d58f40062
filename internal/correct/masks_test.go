package correct_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func ptr[T any](v T) *T { return &v }

// survey is wage (skewed, with cents), hours (integers, correlated with wage) and years (correlated
// with both, never masked) of n artificial people.
type survey struct{ wage, hours, years []float64 }

func newSurvey(n int) survey {
	r := rand.New(rand.NewPCG(3, 2004))
	var s survey
	for range n {
		z, e, h := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		s.wage = append(s.wage, math.Round(100*math.Exp(6.2+0.6*z))/100)
		s.hours = append(s.hours, math.Round(40+4*z+6*h))
		s.years = append(s.years, 13+1.2*z+0.8*h+1.5*e)
	}
	return s
}

// masked returns replicate m of the masks on wage and hours.
func (s survey) masked(t *testing.T, masks []transform.Spec) func(m int) (wage, hours []float64) {
	t.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(11*i + 5)
	}
	key, err := keystream.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	info := func(name string, i, decimals int, v []float64) transform.ColumnInfo {
		mean, sd := stat.MeanStdDev(v, nil)
		return transform.ColumnInfo{Name: name, Index: i,
			Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Decimals: decimals, SD: sd, Mean: mean}
	}
	chain, err := transform.NewChain(masks, transform.Setup{Key: key, Window: 1 << 20,
		Columns: []transform.ColumnInfo{info("wage", 0, 2, s.wage), info("hours", 1, 0, s.hours)}})
	if err != nil {
		t.Fatal(err)
	}
	return func(m int) (wage, hours []float64) {
		b := new(microdata.Block)
		b.Reset(0, 0, len(s.wage), 2)
		copy(b.Columns[0].Alloc(len(s.wage), false).Values, s.wage)
		copy(b.Columns[1].Alloc(len(s.wage), false).Values, s.hours)
		if err := chain.Replicate(m).Apply(b); err != nil {
			t.Fatal(err)
		}
		return b.Columns[0].Out().Values, b.Columns[1].Out().Values
	}
}

// estimator is one statistic of wage, hours and years: uncorrected and corrected.
type estimator struct {
	name     string
	unbiased bool // true also without correction
	of       func(wage, hours, years []float64, w, h correct.Masking) float64
}

func reliability(v []float64, m correct.Masking) float64 {
	mean, variance := stat.MeanVariance(v, nil)
	return m.Reliability(mean, variance)
}

var estimators = []estimator{
	{"mean of wage", true, func(wage, _, _ []float64, w, _ correct.Masking) float64 {
		return w.Mean(stat.Mean(wage, nil))
	}},
	{"variance of wage", false, func(wage, _, _ []float64, w, _ correct.Masking) float64 {
		return w.Variance(stat.MeanVariance(wage, nil))
	}},
	{"variance of hours", false, func(_, hours, _ []float64, _, h correct.Masking) float64 {
		return h.Variance(stat.MeanVariance(hours, nil))
	}},
	{"covariance of wage and hours", true, func(wage, hours, _ []float64, _, _ correct.Masking) float64 {
		return correct.Covariance(stat.Covariance(wage, hours, nil))
	}},
	{"correlation of wage and hours", false, func(wage, hours, _ []float64, w, h correct.Masking) float64 {
		return correct.Correlation(stat.Correlation(wage, hours, nil), reliability(wage, w), reliability(hours, h))
	}},
	{"correlation of wage and years", false, func(wage, _, years []float64, w, _ correct.Masking) float64 {
		return correct.Correlation(stat.Correlation(wage, years, nil), reliability(wage, w), 1)
	}},
	{"slope of years on wage", false, func(wage, _, years []float64, w, _ correct.Masking) float64 {
		_, slope := stat.LinearRegression(wage, years, nil, false)
		return correct.Slope(slope, reliability(wage, w))
	}},
	{"intercept of years on wage", false, func(wage, _, years []float64, w, _ correct.Masking) float64 {
		_, slope := stat.LinearRegression(wage, years, nil, false)
		return correct.Intercept(stat.Mean(years, nil), correct.Slope(slope, reliability(wage, w)), stat.Mean(wage, nil))
	}},
	{"slope of wage on years", true, func(wage, _, years []float64, _, _ correct.Masking) float64 {
		_, slope := stat.LinearRegression(years, wage, nil, false)
		return slope
	}},
	{"slope on hours of years on wage and hours", false, func(wage, hours, years []float64, w, h correct.Masking) float64 {
		s := mat.NewSymDense(2,
			[]float64{stat.Variance(wage, nil), stat.Covariance(wage, hours, nil), 0, stat.Variance(hours, nil)})
		b,
			err := correct.Slopes(s,
			[]float64{s.At(0, 0) - w.Variance(stat.MeanVariance(wage, nil)),
				s.At(1, 1) - h.Variance(stat.MeanVariance(hours, nil))},
			[]float64{stat.Covariance(wage, years, nil), stat.Covariance(hours, years, nil)})
		if err != nil {
			return math.NaN()
		}
		return b[1]
	}},
}

// The masks of the program bias the statistics of a user, and the corrections remove the bias. Over
// K replicates the mean of a corrected statistic is within 5 standard errors of the respondents'
// own (exceeded by chance once in 1.7 million), plus the second-order bias of a ratio, at most
// about twice the relative variance of one replicate. The uncorrected statistic must differ by more
// than three times as much, otherwise the test would prove nothing.
func TestCorrectionRemovesBias(t *testing.T) {
	const n = 3000
	replicates := 200
	if testing.Short() {
		replicates = 60
	}
	s := newSurvey(n)
	noise := func(sd, hoursSD float64, distribution string) []transform.Spec {
		return []transform.Spec{
			{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: sd}, Distribution: distribution}},
			{
				Params: &transform.Noise{Columns: []string{"hours"}, SD: &transform.Amount{Value: hoursSD},
					Distribution: distribution}},
		}
	}
	bias := transform.Spec{Params: &transform.Bias{Columns: []string{"wage", "hours"}, Range: ptr(0.6)}}
	// Hours are integers, so every draw is rounded: 1/12 more.
	plain := correct.Masking{}
	hours := plain.WithNoise(5, 1).WithRounding(1)
	for _, c := range []struct {
		name        string
		masks       []transform.Spec
		wage, hours correct.Masking
	}{
		{"normal", noise(200, 5, ""), plain.WithNoise(200, 1), hours},
		{"laplace", noise(200, 5, "laplace"), plain.WithNoise(200, 1), hours},
		{"uniform", noise(200, 5, "uniform"), plain.WithNoise(200, 1), hours},
		{"bias", []transform.Spec{bias}, plain.WithBias(0.2), plain.WithBias(0.2).WithRounding(1)},
		{"bias and noise", append([]transform.Spec{bias}, noise(150, 5, "")...),
			plain.WithBias(0.2).WithNoise(150, 1), plain.WithBias(0.2).WithRounding(1).WithNoise(5, 1).WithRounding(1)},
		{"noise and bias", append(noise(150, 5, ""), bias),
			plain.WithNoise(150, 1).WithBias(0.2), hours.WithBias(0.2).WithRounding(1)},
		{"noise and rounding",
			append(noise(150, 5, ""), transform.Spec{Params: &transform.Round{Columns: []string{"wage"}, Base: ptr(400.0)}}),
			plain.WithNoise(150, 1).WithRounding(400), hours},
		{"tiers", []transform.Spec{
			{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 120},
				Tiers: []transform.Tier{{Above: ptr(500.0), VarianceFactor: ptr(2.0)},
					{Above: ptr(1000.0), VarianceFactor: ptr(6.0)}}}},
			{Params: &transform.Noise{Columns: []string{"hours"}, SD: &transform.Amount{Value: 5}}},
		},
			plain.WithNoise(120, correct.MeanFactor(s.wage, []correct.Tier{{Above: 500, Factor: 2}, {Above: 1000, Factor: 6}})),
			hours},
	} {
		t.Run(c.name, func(t *testing.T) {
			release := s.masked(t, c.masks)
			corrected, naive := make([][]float64, len(estimators)), make([][]float64, len(estimators))
			for m := range replicates {
				wage, hours := release(m + 1)
				for i, e := range estimators {
					corrected[i] = append(corrected[i], e.of(wage, hours, s.years, c.wage, c.hours))
					naive[i] = append(naive[i], e.of(wage, hours, s.years, plain, plain))
				}
			}
			for i, e := range estimators {
				truth := e.of(s.wage, s.hours, s.years, plain, plain)
				mean, sd := stat.MeanStdDev(corrected[i], nil)
				tolerance := 5*sd/math.Sqrt(float64(replicates)) + 2*sd*sd/math.Abs(truth)
				if !(math.Abs(mean-truth) <= tolerance) {
					t.Errorf("%s: corrected %v, want %v within %v", e.name, mean, truth, tolerance)
				}
				if off := math.Abs(stat.Mean(naive[i], nil) - truth); !e.unbiased && off < 3*tolerance {
					t.Errorf("%s: off by %v without correction, which is not beyond 3 × %v", e.name, off, tolerance)
				}
			}
		})
	}
}

// A correction for tiers: the factors of the released values replace those of the respondents'
// values. It is not exact, but removes nine tenths of the bias, and the truth is between the
// bounds.
func TestTiersFromReleasedValues(t *testing.T) {
	s := newSurvey(20_000)
	tiers := []correct.Tier{{Above: 500, Factor: 2}, {Above: 1000, Factor: 6}}
	release := s.masked(t,
		[]transform.Spec{{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 60},
			Tiers: []transform.Tier{{Above: ptr(500.0), VarianceFactor: ptr(2.0)},
				{Above: ptr(1000.0), VarianceFactor: ptr(6.0)}}}}})
	truth := stat.Variance(s.wage, nil)
	least, greatest := correct.FactorRange(tiers)
	var off, naive float64
	const replicates = 40
	for m := range replicates {
		wage, _ := release(m + 1)
		mean, variance := stat.MeanVariance(wage, nil)
		off += correct.Masking{}.WithNoise(60, correct.MeanFactor(wage, tiers)).Variance(mean, variance) - truth
		naive += variance - truth
		low := correct.Masking{}.WithNoise(60, greatest).Variance(mean, variance)
		high := correct.Masking{}.WithNoise(60, least).Variance(mean, variance)
		if !(low < truth && truth < high) {
			t.Errorf("replicate %d: the variance is not between the bounds %v and %v", m, low, high)
		}
	}
	// The SD of S_y² over the masks is about 1 % of the noise's variance, and a tenth of that over
	// 40 replicates, far below the tolerance of one tenth.
	if !(math.Abs(off) < naive/10) {
		t.Errorf("off by %v of %v", off/replicates, naive/replicates)
	}
}

// Swapping keeps a column's own moments, and its relation to the keys.
func TestSwapKeepsMomentsAndKeys(t *testing.T) {
	s := newSurvey(4000)
	job, region := make([]float64, len(s.wage)), make([]float64, len(s.wage))
	for i := range job {
		job[i], region[i] = math.Round(s.years[i]), float64(i%4)
	}
	secret := make([]byte, 32)
	key, err := keystream.NewKey(append(secret[:31], 9))
	if err != nil {
		t.Fatal(err)
	}
	var columns []transform.ColumnInfo
	for i, name := range []string{"wage", "job", "region"} {
		columns = append(columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: 2})
	}
	chain,
		err := transform.NewChain(
		[]transform.Spec{
			{Params: &transform.Swap{Keys: []string{"job"}, Attribute: "region", Columns: []string{"wage"}, Rate: ptr(0.8),
				Policy: "random"}}},
		transform.Setup{Key: key, Columns: columns, Window: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	b.Reset(0, 0, len(s.wage), 3)
	for i, v := range [][]float64{s.wage, job, region} {
		copy(b.Columns[i].Alloc(len(v), false).Values, v)
	}
	if err := chain.Apply(b); err != nil {
		t.Fatal(err)
	}
	wage := b.Columns[0].Out().Values
	moved := 0
	for i := range wage {
		if wage[i] != s.wage[i] {
			moved++
		}
	}
	if moved < len(wage)/3 {
		t.Fatalf("only %d of %d values moved", moved, len(wage))
	}
	// The same numbers in another order: sums differ only in the last bits.
	same := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("variance", stat.Variance(wage, nil), stat.Variance(s.wage, nil))
	same("covariance with the key", stat.Covariance(wage, job, nil), stat.Covariance(s.wage, job, nil))
	// Within a job the swapped wage is no longer correlated with the hours.
	if r, was := stat.Correlation(wage, s.hours, nil), stat.Correlation(s.wage, s.hours,
		nil); !(math.Abs(r) < 0.8*math.Abs(was)) {
		t.Errorf("correlation with a column that stayed is %v, was %v", r, was)
	}
}
