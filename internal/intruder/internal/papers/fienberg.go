package papers

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/sdlfilter/sdlfilter/internal/intruder"
)

// FienbergUnits is the number of respondents of the survey of Fienberg, Makov and Sanil
// (1997), section 4.1, all of them released.
const FienbergUnits = 662

// Fienberg is one of the paper's four scenarios: the four keys of 662 simulated
// respondents, each of whom is attacked with intruder's values that carry bias or noise
// or both.
type Fienberg struct {
	Bias  float64 // SD of θ, 0.1732 in section 4.1; 0: none
	Noise bool
	// PriorOfSD reads the gamma prior of φ in table 4.2, whose mean of 0.08 is a sixth
	// of the range of θ, as the prior of the standard deviation of θ. Otherwise it is
	// the prior of the variance, as in the paper's formula.
	PriorOfSD bool
	// Targets is the number of respondents that are attacked, the first ones; 0: all.
	Targets int
	Jointly bool // also match all targets at once
}

// FienbergKeys names the keys, in order.
var FienbergKeys = [4]string{"civil", "can_us", "age", "income"}

// σ of the simulation (section 4.1) and the rate of the priors of σ² (table 4.2). Income
// is in 10,000s.
var (
	fienbergSigma = [4]float64{5, 5, 3, 2}
	fienbergRate  = [4]float64{34, 63, 3.5, 110}
)

// Respondents draws the released keys: sums of five-point items with N(0, ½), ages with
// N(0, 4), incomes in brackets of 10,000 with a uniform part, and the 38 % of 80,000 and
// more as 60,000 + 25,000·t(8), t conditional on a value in this range.
func Respondents(rng *rand.Rand) [][]float64 {
	z := make([][]float64, 4)
	for j := range z {
		z[j] = make([]float64, FienbergUnits)
	}
	item := func(leaning float64) float64 {
		return math.Min(math.Max(math.Round(3+leaning+1.2*rng.NormFloat64()), 1), 5)
	}
	for i := range FienbergUnits {
		liberal, national := 0.8*rng.NormFloat64(), 0.6*rng.NormFloat64()
		z[0][i] = item(liberal) + item(liberal) + item(liberal) + (8 - item(-liberal)) + math.Sqrt(0.5)*rng.NormFloat64()
		z[1][i] = (5 - item(-national)) + item(national) + (5 - item(-national)) + item(national) +
			math.Sqrt(0.5)*rng.NormFloat64()
		z[2][i] = math.Round(math.Min(math.Max(45+13*rng.NormFloat64(), 20), 80)) + 2*rng.NormFloat64()
		if rng.Float64() < 0.38 {
			z[3][i] = 6 + 2.5*upperT8(rng)
		} else {
			z[3][i] = math.Floor(8*math.Sqrt(rng.Float64())) + rng.Float64()
		}
	}
	return z
}

// upperT8 returns a draw of Student's t with 8 degrees of freedom, conditional on at
// least 0.8, where 60,000 + 25,000·t reaches 80,000.
func upperT8(rng *rand.Rand) float64 {
	for {
		chi := 0.0
		for range 8 {
			u := rng.NormFloat64()
			chi += u * u
		}
		if t := rng.NormFloat64() / math.Sqrt(chi/8); t >= 0.8 {
			return t
		}
	}
}

// Run draws respondents and attacks them.
func (s Fienberg) Run(ctx context.Context, rng *rand.Rand) (*intruder.Result, error) {
	z := Respondents(rng)
	x := make([][]float64, 4)
	keys := make([]intruder.Key, 4)
	truth := make([]int32, FienbergUnits)
	for i := range truth {
		truth[i] = int32(i)
	}
	phiPrior := &intruder.Prior{Shape: 400, Scale: 5000}
	if s.PriorOfSD {
		phiPrior = &intruder.Prior{Shape: 400, Scale: 400 / (0.08 * 0.08)}
	}
	if s.Targets > 0 {
		truth = truth[:s.Targets]
	}
	for j := range x {
		x[j] = make([]float64, len(truth))
		for i := range x[j] {
			theta, xi := 1.0, 0.0
			if s.Bias > 0 {
				theta += s.Bias * rng.NormFloat64()
			}
			if s.Noise {
				xi = fienbergSigma[j] * rng.NormFloat64()
			}
			x[j][i] = theta*z[j][i] + xi
		}
		keys[j] = intruder.Key{PhiPrior: phiPrior, SigmaPrior: &intruder.Prior{Shape: 400, Scale: fienbergRate[j]}}
	}
	return intruder.Run(ctx, intruder.Problem{Targets: x, Released: z, Truth: truth},
		intruder.Options{Model: intruder.InexactTarget, Keys: keys, Jointly: s.Jointly})
}
