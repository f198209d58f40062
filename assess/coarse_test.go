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

// A risk of an order statistic from which its value follows: by the mean, of one release, where nothing is drawn, or an
// error that is a distance.
func TestTellsTarget(t *testing.T) {
	usual := Risk{Target: TargetTypical, Knowledge: KnowledgeIndex, R: 1. / 400, RealisedR: 1. / 400, RMSE: 20}
	of := func(change func(k *Risk)) Risk {
		k := Risk{Target: "max", Knowledge: KnowledgeIndex, R: 1. / 1600, RealisedR: 1. / 1500, RMSE: 40, Replicates: 200}
		change(&k)
		return k
	}
	inf := Float(math.Inf(1))
	for name, c := range map[string]struct {
		k    Risk
		want bool
	}{
		"noise":                {of(func(*Risk) {}), false},
		"beside a bound":       {of(func(k *Risk) { k.RMSE = 0.01 }), false},
		"far from a bound":     {of(func(k *Risk) { k.RMSE = 40.01 }), true},
		"not known":            {of(func(k *Risk) { k.RMSE = Float(math.NaN()) }), true},
		"by position":          {of(func(k *Risk) { k.Knowledge = KnowledgePosition }), false},
		"by the mean":          {of(func(k *Risk) { k.Knowledge = KnowledgeMean }), true},
		"without replicates":   {of(func(k *Risk) { k.Replicates = 0 }), true},
		"nothing is drawn":     {of(func(k *Risk) { k.RealisedR = k.R * (1 + 1e-12) }), true},
		"as it is":             {of(func(k *Risk) { k.R, k.RealisedR, k.RMSE = inf, inf, 0 }), false},
		"typical":              {usual, false},
		"typical, by the mean": {Risk{Target: TargetTypical, Knowledge: KnowledgeMean, RMSE: 400}, false},
	} {
		first := ColumnMeasures{Risk: []Risk{usual, {Target: TargetTypical, Knowledge: KnowledgeMean, RMSE: 1}, c.k}}
		last := ColumnMeasures{Risk: []Risk{c.k, {Target: "max", Knowledge: KnowledgeIndex, RMSE: 1}, usual}}
		for _, m := range []*ColumnMeasures{&first, &last} {
			if got := m.TellsTarget(&c.k); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if k := of(func(*Risk) {}); !(&ColumnMeasures{Risk: []Risk{k}}).TellsTarget(&k) {
		t.Error("without the typical record nothing shows that it is no distance")
	}
}
