package intruder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// noisyRelease returns a release of n records with independent standard normal keys, bias φ and
// noise σ, with its first `targets` people as targets.
func noisyRelease(seed uint64, n, targets, keys int, phi, sigma float64) Problem {
	rng := rand.New(rand.NewPCG(seed, 11))
	p := Problem{Truth: make([]int32, targets)}
	for range keys {
		x, z := make([]float64, targets), make([]float64, n)
		for i := range z {
			v := 10 + rng.NormFloat64()
			if i < targets {
				x[i] = v
			}
			z[i] = v*(1+phi*rng.NormFloat64()) + sigma*rng.NormFloat64()
		}
		p.Targets, p.Released = append(p.Targets, x), append(p.Released, z)
	}
	for a := range p.Truth {
		p.Truth[a] = int32(a)
	}
	return p
}

// 1,000 targets against 1,000,000 records on four keys. With noise of 20 % few records
// have a relevant density for each target; with noise as large as the data most records
// have.
func BenchmarkPosterior(b *testing.B) {
	for _, c := range []struct {
		name  string
		sigma float64
	}{{"noise=0.2", 0.2}, {"noise=1", 1}} {
		p := noisyRelease(1, 1_000_000, 1_000, 4, 0.01, c.sigma)
		b.Run("d1/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Run(context.Background(), p, Options{Keys: []Key{{Phi: 0.01, Sigma: c.sigma}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	p := noisyRelease(1, 1_000_000, 50, 4, 0.01, 0.2)
	b.Run("d2/targets=50", func(b *testing.B) {
		o := Options{Keys: []Key{{PhiPrior: InverseGammaAround(0.01), SigmaPrior: InverseGammaAround(0.2)}}}
		for b.Loop() {
			if _, err := Run(context.Background(), p, o); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkExp(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(float64) float64
	}{{"table", exp}, {"math", math.Exp}} {
		b.Run(c.name, func(b *testing.B) {
			s := 0.0
			for i := 0; b.Loop(); i++ {
				s += c.f(-float64(i&1023) / 32)
			}
			if s < 0 {
				b.Fatal(fmt.Sprint(s))
			}
		})
	}
}
