package correct_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/internal/masksim"
)

// menu has one of each mask. λ is 6, with an SD of 20. Normal noise smooths the step of rounding;
// the others do not.
var menu = []masksim.Mask{
	{Kind: "noise", SD: 6},
	{Kind: "laplace", SD: 6},
	{Kind: "uniform", SD: 6},
	{Kind: "bias", SD: 0.05},
	{Kind: "tiers", SD: 6, Above: 110, Factor: 4},
	{Kind: "clip", Lower: 70, Upper: 130},
	{Kind: "redraw", Lower: 70, Upper: 130},
	{Kind: "round", Step: 10},
	{Kind: "swap", Rate: 0.6},
}

// stepOf returns a mask of the menu as a step of package correct.
func stepOf(m masksim.Mask) correct.Step {
	switch m.Kind {
	case "noise":
		return correct.Added{SD: m.SD, Normal: true}
	case "laplace", "uniform":
		return correct.Added{SD: m.SD}
	case "tiers":
		return correct.Added{SD: m.SD, Tiers: []correct.Tier{{Above: m.Above, Factor: m.Factor}}, Normal: true}
	case "bias":
		return correct.Multiplied{Phi: m.SD}
	case "clip":
		return correct.Truncated{Lower: true, Upper: true}
	case "redraw":
		return correct.Truncated{Lower: true, Upper: true, Redraw: true}
	case "round":
		return correct.Rounded{Step: m.Step}
	}
	return correct.Exchanged{With: []string{"key"}}
}

// limits are the smallest and greatest possible values of a statistic, and its uncorrected value,
// for each of several draws of the masks.
type limits struct{ least, greatest, naive []float64 }

func (l *limits) add(v correct.Interval, naive float64) {
	l.least, l.greatest, l.naive = append(l.least, v.Least), append(l.greatest, v.Greatest), append(l.naive, naive)
}

// statisticsOf adds the limits of each statistic of x from released values.
func statisticsOf(found map[string]*limits, chain correct.Chain, y []float64, others map[string][]float64) {
	add := func(name string, v correct.Interval, naive float64) {
		if found[name] == nil {
			found[name] = &limits{}
		}
		found[name].add(v, naive)
	}
	mean, variance := stat.MeanVariance(y, nil)
	known := chain.Undo(mean, variance)
	add("mean", known.Mean, mean)
	add("variance", known.Variance, variance)
	add("SD",
		correct.Interval{Least: math.Sqrt(max(known.Variance.Least, 0)), Greatest: math.Sqrt(known.Variance.Greatest)},
		math.Sqrt(variance))
	for name, w := range others {
		k := known
		if !chain.Ties(name) {
			k.Slack = math.Inf(1)
		}
		sd := stat.StdDev(w, nil)
		c, r := stat.Covariance(y, w, nil), stat.Correlation(y, w, nil)
		covariance := k.CovarianceRange(c, sd)
		add("covariance with "+name, covariance, c)
		add("correlation with "+name, k.CorrelationRange(r, math.Sqrt(variance)), r)
		add("slope as regressor of "+name, k.SlopeRange(c, sd), c/variance)
		add("slope as response to "+name,
			correct.Interval{Least: covariance.Least / (sd * sd), Greatest: covariance.Greatest / (sd * sd)}, c/(sd*sd))
	}
}

// TestEveryCombination: for any masks, any order and any shape of the column, the truth is within
// the limits, so no corrected statistic is further from the truth than the uncorrected one. The
// limits are expectations: their mean over K draws may be exceeded by 5 of its standard errors,
// which happens by chance once in 3.5 million, plus the second-order bias of a ratio of estimates,
// which is at most twice the squared SD relative to its size.
func TestEveryCombination(t *testing.T) {
	const n = 400
	length, replicates := 3, 60
	if testing.Short() {
		length = 2
	}
	statistics := 0
	for shape, d := range masksim.Shapes(n) {
		key := make([]float64, n)
		for i, k := range d.Key {
			key[i] = float64(k)
		}
		others := map[string][]float64{"w": d.W, "key": key}
		truth := map[string]*limits{}
		statisticsOf(truth, nil, d.X, others)
		for c, masks := range masksim.Chains(menu, length) {
			var chain correct.Chain
			label := shape
			for _, m := range masks {
				chain, label = append(chain, stepOf(m)), label+", "+m.Kind
			}
			found := map[string]*limits{}
			r := rand.New(rand.NewPCG(uint64(c), 5))
			for range replicates {
				statisticsOf(found, chain, masksim.Apply(r, d.X, d.Key, masks), others)
			}
			for name, l := range found {
				statistics++
				want := truth[name].naive[0]
				if problem := l.miss(want); problem != "" {
					t.Errorf("%s: %s: %s", label, name, problem)
				}
			}
		}
	}
	if !testing.Short() && statistics < 30_000 {
		t.Errorf("%d statistics were looked at, which is not every combination", statistics)
	}
}

// miss describes how far the truth lies outside the limits, or returns "".
func (l *limits) miss(truth float64) string {
	tolerance := func(of []float64) (mean, tol float64) {
		mean, sd := stat.MeanStdDev(of, nil)
		return mean, 5*sd/math.Sqrt(float64(len(of))) + 2*sd*sd/math.Abs(truth) + 1e-9*math.Abs(truth)
	}
	naive := stat.Mean(l.naive, nil)
	if least, tol := tolerance(l.least); least > truth+tol {
		return fmt.Sprintf("at least %v (± %v), but the truth is %v and the uncorrected value %v", least, tol, truth, naive)
	}
	if greatest, tol := tolerance(l.greatest); greatest < truth-tol {
		return fmt.Sprintf("at most %v (± %v), but the truth is %v and the uncorrected value %v", greatest, tol, truth, naive)
	}
	return ""
}
