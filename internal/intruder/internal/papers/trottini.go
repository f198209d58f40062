// Package papers simulates the data of the two papers that package intruder follows,
// for its tests and for the tables in docs/intruder.md.
package papers

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/sdlfilter/sdlfilter/internal/intruder"
)

// Trottini is one of the 36 scenarios of Trottini et al. (2004), section 5: 100 units,
// one key, every unit a target, t = 0.
type Trottini struct {
	Data    int     // 1: about N(92, 3.5²), 2: about N(90, 20²), read off table 1
	Phi     float64 // SD of the bias
	C       float64 // the noise's SD in SDs of the data
	Priors  bool    // d.2: priors centred at φ = 0.5/6 and at a sixth of the release's range
	Jointly bool    // also match all targets at once
}

// Amounts of bias and of noise, minimum, medium and maximum.
var (
	Phis = [3]float64{0.01 / 6, 0.2 / 6, 1.0 / 6}
	Cs   = [3]float64{1.0 / 100, 1.0 / 6, 1}
)

const trottiniUnits = 100

// Run masks a fresh data set and attacks it.
func (s Trottini) Run(ctx context.Context, rng *rand.Rand) (*intruder.Result, error) {
	mean, sd := 92.0, 3.5
	if s.Data == 2 {
		mean, sd = 90, 20
	}
	x, z, truth := make([]float64, trottiniUnits), make([]float64, trottiniUnits), make([]int32, trottiniUnits)
	sum, squares := 0.0, 0.0
	for i := range x {
		x[i] = mean + sd*rng.NormFloat64()
		truth[i] = int32(i)
		sum += x[i]
		squares += x[i] * x[i]
	}
	sigma := s.C * math.Sqrt((squares-sum*sum/trottiniUnits)/(trottiniUnits-1))
	low, high := math.Inf(1), math.Inf(-1)
	for i := range z {
		z[i] = x[i]*(1+s.Phi*rng.NormFloat64()) + sigma*rng.NormFloat64()
		low, high = math.Min(low, z[i]), math.Max(high, z[i])
	}
	key := intruder.Key{Phi: s.Phi, Sigma: sigma}
	if s.Priors {
		key = intruder.Key{PhiPrior: intruder.InverseGammaAround(0.5 / 6),
			SigmaPrior: intruder.InverseGammaAround((high - low) / 6)}
	}
	return intruder.Run(ctx, intruder.Problem{Targets: [][]float64{x}, Released: [][]float64{z}, Truth: truth},
		intruder.Options{Keys: []intruder.Key{key}, Jointly: s.Jointly})
}
