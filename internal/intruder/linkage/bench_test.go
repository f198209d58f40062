package linkage

import (
	"math/rand/v2"
	"testing"
)

// noisy returns n records of p keys with distributions as in surveys, and the first m
// as targets; the release has noise of the given share of the SD.
func noisy(n, m, p int, noise float64) (targets, released Keys) {
	random := rand.New(rand.NewPCG(1, 2))
	for range p {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64()
			y[i] = x[i] + noise*random.NormFloat64()
		}
		targets.Numeric, released.Numeric = append(targets.Numeric, x[:m]), append(released.Numeric, y)
	}
	return targets, released
}

func benchmarkLink(b *testing.B, n, m, p int, noise float64, o Options) {
	targets, released := noisy(n, m, p, noise)
	b.ReportAllocs()
	b.ResetTimer()
	var share float64
	for b.Loop() {
		r, err := Link(b.Context(), targets, released, o)
		if err != nil {
			b.Fatal(err)
		}
		share = r.CorrectShare
	}
	b.ReportMetric(share, "linked/target")
}

func BenchmarkLinkage1000x1M(b *testing.B) {
	for _, c := range methods {
		b.Run(c.name, func(b *testing.B) { benchmarkLink(b, 1_000_000, 1000, 4, 0.1, Options{method: c.method}) })
	}
	b.Run("ranked", func(b *testing.B) { benchmarkLink(b, 1_000_000, 1000, 4, 0.1, Options{Ranked: true}) })
}

var methods = []struct {
	name   string
	method method
}{{"tree", byTree}, {"blocks", byBlocks}}

func BenchmarkNearest100kTree(b *testing.B) { benchmarkNearest(b, byTree) }

func BenchmarkNearest100kBrute(b *testing.B) { benchmarkNearest(b, byBlocks) }

func benchmarkNearest(b *testing.B, m method) {
	for _, c := range []struct {
		name  string
		noise float64
		o     Options
	}{{"noise10", 0.1, Options{method: m}}, {"noise100", 1, Options{method: m}},
		{"noise10/ranked", 0.1, Options{method: m, Ranked: true}}} {
		b.Run(c.name, func(b *testing.B) { benchmarkLink(b, 100_000, 100_000, 4, c.noise, c.o) })
	}
}

// The hardest case for trees: many keys, and noise with which few targets are found.
func BenchmarkNearest10k12Keys(b *testing.B) {
	for _, c := range methods {
		b.Run(c.name+"/noise10", func(b *testing.B) { benchmarkLink(b, 10_000, 10_000, 12, 0.1, Options{method: c.method}) })
		b.Run(c.name+"/noise100", func(b *testing.B) { benchmarkLink(b, 10_000, 10_000, 12, 1, Options{method: c.method}) })
	}
}

func BenchmarkOneToOne5000(b *testing.B) {
	benchmarkLink(b, 5000, 5000, 4, 0.3, Options{OneToOne: true})
}
