package attack

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// If the Bayesian intruder knows the masks, it knows the covariances of correlated noise too: for
// keys in one mask, in addition to the variances of all noise.
func TestIntruderKnowsCovariances(t *testing.T) {
	percent := func(v float64) *transform.Amount { return &transform.Amount{Value: v, Relative: true} }
	pl := &pipeline.Plan{
		Config: &config.Pipeline{Masks: []transform.Spec{
			{Params: &transform.Noise{Columns: []string{"a", "c"}, SD: percent(0.5), Correlated: true}},
			{Params: &transform.Noise{Columns: []string{"a", "b"}, SD: percent(0.1)}},
		}},
		Columns: []transform.ColumnInfo{{Name: "a", SD: 10}, {Name: "b", SD: 4}, {Name: "c", SD: 2}},
	}
	pl.SetCorrelations(transform.Correlations{{"a", "c"}: -0.8})
	d := &attack.Data{Numeric: []attack.NumericColumn{{Name: "c"}, {Name: "b"}, {Name: "a"}}, Linked: []int{0, 1, 2}}
	o, err := bayesOf(pl, &config.IntruderBayes{}, d)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{{1, 0, -0.8 * 5 * 1}, {0, 0.16, 0}, {-0.8 * 5 * 1, 0, 26}}
	for i := range want {
		for k := range want {
			if math.Abs(o.Covariance[i][k]-want[i][k]) > 1e-12 {
				t.Errorf("covariance of keys %d and %d is %v, want %v", i, k, o.Covariance[i][k], want[i][k])
			}
		}
	}
	if o, err = bayesOf(pl, &config.IntruderBayes{Sigma: map[string]float64{"a": 3}}, d); err != nil ||
		o.Covariance != nil {
		t.Errorf("with σ of a given, the covariance is %v (error %v), want none", o.Covariance, err)
	}
	if o, err = bayesOf(pl, &config.IntruderBayes{Sigma: map[string]float64{"c": 3}}, d); err != nil ||
		o.Covariance != nil {
		t.Errorf("with σ of c given, the covariance is %v (error %v), want none", o.Covariance, err)
	}
	for _, known := range []transform.Correlations{{{"b", "c"}: 0.5}, {{"a", "b"}: 0.5}, {{"a", "c"}: math.NaN()}, nil} {
		pl.SetCorrelations(known)
		if o, err = bayesOf(pl, &config.IntruderBayes{}, d); err != nil || o.Covariance != nil {
			t.Errorf("with correlations %v, the covariance is %v (error %v), want none", known, o.Covariance, err)
		}
	}
	if o, err = bayesOf(pl, &config.IntruderBayes{Knowledge: config.KnowledgeD2}, d); err != nil || o.Covariance != nil {
		t.Errorf("with knowledge d2, the covariance is %v (error %v), want none", o.Covariance, err)
	}
}
