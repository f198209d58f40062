package attack

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// bayesOf returns what the Bayesian intruder knows. With knowledge d1 these are the bias and the
// noise of each key, from the masks or from the configuration; with d2, priors of them.
func bayesOf(pl *pipeline.Plan, b *config.IntruderBayes, d *attack.Data) (*intruder.Options, error) {
	o := &intruder.Options{Threshold: b.Threshold, Population: b.Population, Jointly: b.Jointly}
	for _, j := range d.Linked {
		name := d.Numeric[j].Name
		var k intruder.Key
		phi, hasPhi := b.Phi[name]
		sigma, hasSigma := b.Sigma[name]
		implied, sd, err := impliedNoise(pl, name)
		if err != nil && !(hasPhi && hasSigma) {
			return nil, fmt.Errorf("assess.intruder.bayes: %w", err)
		}
		if k.Phi = implied; hasPhi {
			k.Phi = phi
		}
		if k.Sigma = sd; hasSigma {
			k.Sigma = sigma
		}
		if b.Knowledge == config.KnowledgeD2 {
			// Trottini et al., section 5: φ about 0.5/6, σ about a sixth of the range.
			k.PhiPrior = intruder.InverseGammaAround(0.5 / 6)
			if p := b.PhiPrior; p != nil {
				k.PhiPrior = &intruder.Prior{Shape: p.Shape, Scale: p.Scale}
			}
			if low, high := ends(d.Numeric[j].Released); high > low {
				k.SigmaPrior = intruder.InverseGammaAround((high - low) / 6)
			}
			if p := b.SigmaPrior; p != nil {
				k.SigmaPrior = &intruder.Prior{Shape: p.Shape, Scale: p.Scale}
			}
		}
		o.Keys = append(o.Keys, k)
	}
	if b.Knowledge != config.KnowledgeD2 {
		o.Covariance = covarianceOf(pl, b, d, o.Keys)
	}
	return o, nil
}

// covarianceOf returns the covariance matrix of the keys' noise if a mask correlates the noise
// of two of them, else nil.
func covarianceOf(pl *pipeline.Plan, b *config.IntruderBayes, d *attack.Data, keys []intruder.Key) [][]float64 {
	var covariance [][]float64
	for _, m := range pl.Config.Masks {
		among := transform.NeedsCorrelations(m.Params)
		for j, column := range d.Linked {
			for k, other := range d.Linked[:j] {
				x, w := d.Numeric[column].Name, d.Numeric[other].Name
				_, givenX := b.Sigma[x]
				_, givenW := b.Sigma[w]
				r, known := pl.Correlations().Of(x, w)
				if givenX || givenW || !known || !slices.Contains(among, x) || !slices.Contains(among, w) {
					continue
				}
				if covariance == nil {
					covariance = diagonal(keys)
				}
				λ, _ := transform.ActionOf(m.Params, x, pl.SD(x)).(transform.Addition)
				μ, _ := transform.ActionOf(m.Params, w, pl.SD(w)).(transform.Addition)
				covariance[j][k] += r * λ.SD * μ.SD
				covariance[k][j] = covariance[j][k]
			}
		}
	}
	return covariance
}

// diagonal returns the covariance matrix of independent noise.
func diagonal(keys []intruder.Key) [][]float64 {
	s := make([][]float64, len(keys))
	for j, key := range keys {
		s[j] = make([]float64, len(keys))
		s[j][j] = key.Sigma * key.Sigma
	}
	return s
}

// ends returns the least and the greatest value.
func ends(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

// impliedNoise returns φ and σ of z = xθ + ε for a column under the masks: for several biases
// the E θ² are multiplied, for several noises the variances are added, a bias after a noise
// multiplies its variance too, and rounding to a step h adds h²/12. Tiers, truncation and swaps
// are not part of the model. A mask that does not describe its effect is an error.
func impliedNoise(pl *pipeline.Plan, column string) (phi, sigma float64, err error) {
	sd := 0.0
	for _, c := range pl.Columns {
		if c.Name == column && c.SD == c.SD {
			sd = c.SD
		}
	}
	square, variance := 1.0, 0.0 // E θ², Var ε
	for _, m := range pl.Config.Masks {
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		switch a := transform.ActionOf(m.Params, column, sd).(type) {
		case transform.Multiplication:
			square *= 1 + a.Phi*a.Phi
			variance *= 1 + a.Phi*a.Phi
		case transform.Addition:
			variance += a.SD * a.SD
		case transform.Rounding:
			variance += a.Step * a.Step / 12
		case transform.Bounding, transform.Exchange:
		case transform.Aggregation, transform.RankExchange, transform.Shuffling, transform.Synthesis, transform.Relocation:
			return 0, 0,
				fmt.Errorf("the mask %s of %s is no noise, so phi and sigma do not follow from it; give phi and sigma of that key",
					m.Kind(), strconv.Quote(column))
		default:
			return 0, 0, fmt.Errorf("the mask %s does not say what it does to %s; give phi and sigma of that key", m.Kind(),
				strconv.Quote(column))
		}
	}
	return math.Sqrt(square - 1), math.Sqrt(variance), nil
}
