package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
)

// U is that of the mean of a population: over populations of n records from a known law, each masked with a key of its
// own, the mean of the reported 1/U is the mean squared error of the released mean about the law's. Of each population
// the known σ²/n takes the place of the squared error of its own mean, which is most of the noise: the mean squared
// error 2σ²/n of synthetic values is then known from N populations to 0.9·√(2/N) of σ²/n, and for N = 120 four of these
// standard errors are half of it. A U that leaves out the draws of a model says σ²/n. Four are allowed, those of the
// reported figures with them; on the safe side any difference for masks of which U is a bound.
func TestUtilityOfPopulations(t *testing.T) {
	if formOf(t) == small && testing.Short() {
		t.Skip("seconds")
	}
	const n, mean, sigma = 400, 50.0, 10.0
	kinds := []struct {
		name, masks string
		small       bool
		spiked      bool // half of the values are 0, the others exponential
		bound       bool // 1/U may be greater than the truth
	}{
		{name: "noise", masks: "{noise: {columns: [x], sd: 10}}"},
		{name: "laplace, rounded",
			masks: "{noise: {columns: [x], sd: 8, distribution: laplace}}, {round: {columns: [x], base: 5}}"},
		{name: "bias", masks: "{bias: {columns: [x], phi: 0.2}}"},
		{name: "clip", masks: "{truncate: {columns: [x], upper: 65}}"},
		{name: "topcode, mean", masks: "{topcode: {columns: [x], upper_percentile: 90, replace: mean}}"},
		{name: "topcode, percentile", masks: "{topcode: {columns: [x], upper_percentile: 80}}", bound: true},
		{name: "microaggregate", masks: "{microaggregate: {columns: [x], k: 5}}"},
		{name: "noise, microaggregate", masks: "{noise: {columns: [x], sd: 10}}, {microaggregate: {columns: [x], k: 20}}"},
		{name: "rankswap", masks: "{rankswap: {columns: [x], p: 0.1}}"},
		{name: "rankswap, ends", masks: "{rankswap: {columns: [x], p: 0.1, top: 0.2, bottom: 0.2}}"},
		{name: "shuffle", masks: "{shuffle: {columns: [x]}}"},
		{name: "swap",
			masks: "{swap: {columns: [x], keys: [many], attribute: a, rate: 0.5, policy: random, scope: dataset}}"},
		{name: "recordswap", masks: "{recordswap: {hierarchy: [x], risk: [a], k: 1, rate: 0.5}}"},
		{name: "synthesise", masks: "{synthesise: {columns: [x]}}", small: true},
		{name: "synthesise, normal", masks: "{synthesise: {columns: [x], method: normal}}"},
		{name: "synthesise, trees", masks: "{synthesise: {columns: [x], method: cart, on: [a], categories: [a]}}"},
		{name: "synthesise, held out", masks: "{synthesise: {columns: [x], held_out: 0.5}}", small: true},
		{name: "synthesise, spike", masks: "{synthesise: {columns: [x]}}", small: true, spiked: true},
		{name: "synthesise, spike, normal", masks: "{synthesise: {columns: [x], method: normal}}", spiked: true},
		{name: "synthesise, spike, trees", masks: "{synthesise: {columns: [x], method: cart, on: [a], categories: [a]}}",
			spiked: true},
		{name: "synthesise, spike, held out", masks: "{synthesise: {columns: [x], held_out: 0.5}}", spiked: true},
		{name: "synthesise, noise", masks: "{synthesise: {columns: [x]}}, {noise: {columns: [x], sd: 10}}"},
	}
	of := formOf(t)
	populations := map[form]int{small: 120, short: 100, full: 400}[of]
	for _, k := range kinds {
		if of == small && !k.small {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			dir := tempDir(t)
			var truth, said, gate tally
			for i := range populations {
				draw, mean, sigma := func(g *rand.Rand) float64 { return mean + sigma*g.NormFloat64() }, mean, sigma
				if k.spiked { // mean 10, variance ½·2·20² − 10² = 300
					draw, mean, sigma = func(g *rand.Rand) float64 {
						return float64(g.IntN(2)) * math.Ceil(2000*g.ExpFloat64()) / 100
					}, 10, math.Sqrt(300)
				}
				f := columnOf("normal", 2, onGrid(n, "population "+strconv.Itoa(i), draw))
				path := filepath.Join(dir, fmt.Sprint(i, ".csv"))
				f.write(t, path)
				r, y := job{f: f, masks: "[" + k.masks + "]", path: path, sample: 100_000, replicates: 12, key: 1000 + i}.release(t)
				released, _ := moments(y)
				square := func(d float64) float64 { return d * d }
				truth.add(square(released-mean) - square(f.mean-mean) + sigma*sigma/n)
				u := r.Columns["x"].Utility
				said.add(1 / float64(u.U))
				gate.add(1 / float64(*u.EfficiencyGate*u.U0))
			}
			se := 4 * math.Hypot(truth.figure().se, said.figure().se)
			t.Logf("1/U said %.4f, for the gate %.4f, is %.4f ± %.4f", said.mean(), gate.mean(), truth.mean(), se/4)
			if !(said.mean() >= truth.mean()-se) || !(gate.mean() >= truth.mean()-se) {
				t.Errorf("UNSAFE: 1/U said %.4f, for the gate %.4f, is %.4f ± %.4f", said.mean(), gate.mean(), truth.mean(), se/4)
			}
			if !k.bound && !(said.mean() <= truth.mean()+se) {
				t.Errorf("timid: 1/U said %.4f, is %.4f ± %.4f", said.mean(), truth.mean(), se/4)
			}
		})
	}
}
