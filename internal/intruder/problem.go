package intruder

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// A Model names the data that carry bias and noise: the release or the intruder's own
// values.
type Model string

const (
	// BiasNoise is z = xθ + ε, θ ~ N(1, φ²), ε ~ N(0, σ²), where the intruder knows x
	// exactly (Trottini et al. 2004, assumptions A2.1 and A2.2).
	BiasNoise Model = "bias-noise"
	// InexactTarget is x₀ = θz + ξ, θ ~ N(1, φ²), ξ ~ N(0, σ²), the bias-removing
	// model of Fienberg, Makov and Sanil (1997), assumption A3. Their φ is φ² here.
	InexactTarget Model = "inexact-target"
)

// Problem holds the intruder's data in columns: one slice per key, in the same order
// everywhere. Run does not change the columns. NaN is a missing value: see Run.
type Problem struct {
	// Targets[j][a] is key j of target a, exact.
	Targets [][]float64
	// Released[j][i] is key j of released record i.
	Released [][]float64
	// Truth[a] is the index of target a's released record, -1 if it has none or if the
	// record is unknown. It is used to count the intruder's correct links and does not
	// enter the posterior.
	Truth []int32
	// Auxiliary[j][l] is key j of the l-th further unit that the intruder knows, whose
	// record the intruder does not know. The intruder learns φ and σ from these units.
	// Empty for L = 0.
	Auxiliary [][]float64
}

// Prior is a prior distribution of a variance (φ² or σ²): inverse gamma with the given
// shape and scale under BiasNoise (Trottini et al. A3, mean Scale/(Shape−1)), gamma
// with the given shape and rate under InexactTarget (Fienberg et al. table 4.2, mean
// Shape/Scale).
type Prior struct {
	Shape, Scale float64
}

// InverseGammaAround is the inverse gamma prior of a variance whose mean is sd² and
// whose mean is 20 times its standard deviation: shape 402, the elicitation of
// Trottini et al. section 5.
func InverseGammaAround(sd float64) *Prior {
	return &Prior{Shape: 402, Scale: 401 * sd * sd}
}

// Key is what the intruder knows about bias and noise of one key. A prior replaces
// the value beside it; with a prior on any key the knowledge is d.2, else d.1.
type Key struct {
	Phi, Sigma           float64 // SD of θ (no unit) and of the noise (the key's unit), at least 0
	PhiPrior, SigmaPrior *Prior  // nil: the value is known
}

// Options are the intruder's model and knowledge and the content of the report.
type Options struct {
	Model Model // "" is BiasNoise
	Keys  []Key // one per key, or a single one for all
	// Covariance is the covariance matrix Σ of the additive noise of the keys, if the
	// masks make it correlated. It replaces Sigma. BiasNoise with known parameters
	// only.
	Covariance [][]float64
	// Population is N: a target is in the release with prior probability n/N. 0 means
	// N = n, everyone is released.
	Population int
	// Jointly asks also for a joint match of all targets. Every target is then in the release
	// (Population is 0 or n), which has at most asked.Jointly records.
	Jointly bool
	// Threshold is t, from 0 to 1: a target is linked if its greatest posterior exceeds
	// t.
	Threshold float64
	// Worst is the number of targets that are listed, those with the greatest posterior
	// of the true record; 0 means 10.
	Worst int
}

// maxBiasedKeys bounds the keys of a correlated problem in which two or more are
// biased: the mean of a product of p correlated θ takes 2^p steps.
const maxBiasedKeys = 12

// maxCorrelatedKeys: the bits of one word say which keys a record has.
const maxCorrelatedKeys = 63

func check(p *Problem, o *Options) error {
	switch o.Model {
	case "":
		o.Model = BiasNoise
	case BiasNoise, InexactTarget:
	default:
		return fmt.Errorf("intruder: model: must be %s or %s, got %q", BiasNoise, InexactTarget, string(o.Model))
	}
	k := len(p.Released)
	if k == 0 || len(p.Released[0]) == 0 {
		return fmt.Errorf("intruder: released: must have at least one key and one record")
	}
	n := len(p.Released[0])
	if n > math.MaxInt32 {
		return fmt.Errorf("intruder: released: must have at most %d records, got %d", math.MaxInt32, n)
	}
	if err := sameLength("released", p.Released, k, n); err != nil {
		return err
	}
	if len(p.Targets) == 0 || len(p.Targets[0]) == 0 {
		return fmt.Errorf("intruder: targets: must have at least one key and one target")
	}
	if err := sameLength("targets", p.Targets, k, len(p.Targets[0])); err != nil {
		return err
	}
	if len(p.Truth) != len(p.Targets[0]) {
		return fmt.Errorf("intruder: truth: must have one entry per target (%d), got %d", len(p.Targets[0]), len(p.Truth))
	}
	for a, i := range p.Truth {
		if i < -1 || int(i) >= n {
			return fmt.Errorf("intruder: truth[%d]: must be -1 or the index of one of %d records, got %d", a, n, i)
		}
	}
	if len(p.Auxiliary) > 0 {
		if err := sameLength("auxiliary", p.Auxiliary, k, len(p.Auxiliary[0])); err != nil {
			return err
		}
	}
	if o.Population != 0 && o.Population < n {
		return fmt.Errorf("intruder: population: must be at least the %d released records, got %d", n, o.Population)
	}
	if !(o.Threshold >= 0 && o.Threshold <= 1) {
		return fmt.Errorf("intruder: threshold: must be from 0 to 1, got %g", o.Threshold)
	}
	if o.Worst < 0 {
		return fmt.Errorf("intruder: worst: must be at least 0, got %d", o.Worst)
	}
	if o.Jointly && (n > asked.Jointly || len(p.Truth) > n || o.Population > n) {
		return fmt.Errorf(
			"intruder: jointly: needs at most %d released records, a record for each target, and no population beyond them, got %d targets and %d records", asked.Jointly, len(p.Truth), n)
	}
	if err := checkKeys(o, k); err != nil {
		return err
	}
	if len(p.Auxiliary) > 0 && len(p.Auxiliary[0]) > 0 {
		if o.Model != BiasNoise || !allPriors(o.Keys) {
			return fmt.Errorf("intruder: auxiliary: needs model %s and priors of phi and sigma for every key", BiasNoise)
		}
	}
	return nil
}

func sameLength(what string, columns [][]float64, k, n int) error {
	if len(columns) != k {
		return fmt.Errorf("intruder: %s: must have the %d keys of the release, got %d", what, k, len(columns))
	}
	for j, c := range columns {
		if len(c) != n {
			return fmt.Errorf("intruder: %s[%d]: must have %d values as the first key has, got %d", what, j, n, len(c))
		}
	}
	return nil
}

// checkKeys expands a single entry to k keys and returns an error if an entry or the
// covariance is not valid.
func checkKeys(o *Options, k int) error {
	switch len(o.Keys) {
	case k:
		o.Keys = append([]Key(nil), o.Keys...)
	case 1:
		one := o.Keys[0]
		o.Keys = make([]Key, k)
		for j := range o.Keys {
			o.Keys[j] = one
		}
	default:
		return fmt.Errorf("intruder: keys: must have one entry, or one for each of %d keys, got %d", k, len(o.Keys))
	}
	biased, priors := 0, false
	for j, key := range o.Keys {
		if err := key.check(j, o.Model); err != nil {
			return err
		}
		priors = priors || key.PhiPrior != nil || key.SigmaPrior != nil
		if key.Phi > 0 {
			biased++
		}
	}
	if o.Covariance == nil {
		return nil
	}
	if o.Model != BiasNoise || priors {
		return fmt.Errorf("intruder: covariance: needs model %s with known parameters", BiasNoise)
	}
	if k > maxCorrelatedKeys {
		return fmt.Errorf("intruder: covariance: must have at most %d keys, got %d", maxCorrelatedKeys, k)
	}
	if k > maxBiasedKeys && biased > 0 {
		return fmt.Errorf("intruder: covariance: must have at most %d keys when one is biased, got %d", maxBiasedKeys, k)
	}
	return checkCovariance(o.Covariance, k)
}

// check returns an error if the values or priors of key j are out of range.
func (key *Key) check(j int, model Model) error {
	// An inverse gamma of shape near 0 has a tail that no grid covers; a gamma of
	// shape 1/2 or less gives a density that is infinite where target and record agree.
	least := 0.5
	if model == InexactTarget {
		least = 1
	}
	for _, v := range []struct {
		name  string
		value float64
		prior *Prior
	}{{"phi", key.Phi, key.PhiPrior}, {"sigma", key.Sigma, key.SigmaPrior}} {
		if v.prior == nil {
			if !(v.value >= 0) || math.IsInf(v.value, 1) {
				return fmt.Errorf("intruder: keys[%d].%s: must be at least 0 and finite, got %g", j, v.name, v.value)
			}
			continue
		}
		if !(v.prior.Shape >= least) || v.prior.Shape > 1e6 {
			return fmt.Errorf("intruder: keys[%d].%s_prior.shape: must be from %g to 1e6, got %g", j, v.name, least,
				v.prior.Shape)
		}
		if !(v.prior.Scale > 0) || math.IsInf(v.prior.Scale, 1) {
			return fmt.Errorf("intruder: keys[%d].%s_prior.scale: must be above 0 and finite, got %g", j, v.name, v.prior.Scale)
		}
	}
	return nil
}

// checkCovariance returns an error unless the matrix is symmetric and finite, with k
// rows and a diagonal of at least 0.
func checkCovariance(covariance [][]float64, k int) error {
	if len(covariance) != k {
		return fmt.Errorf("intruder: covariance: must have %d rows, got %d", k, len(covariance))
	}
	for i, row := range covariance {
		if len(row) != k {
			return fmt.Errorf("intruder: covariance[%d]: must have %d columns, got %d", i, k, len(row))
		}
		for j := range row {
			if math.IsNaN(row[j]) || math.IsInf(row[j], 0) || (i == j && row[j] < 0) {
				return fmt.Errorf("intruder: covariance[%d][%d]: must be finite, and at least 0 on the diagonal, got %g", i, j,
					row[j])
			}
			if j < i && math.Abs(row[j]-covariance[j][i]) > 1e-9*math.Sqrt(row[i]*covariance[j][j]+math.SmallestNonzeroFloat64) {
				return fmt.Errorf("intruder: covariance: must be symmetric, [%d][%d] is %g and [%d][%d] is %g", i, j, row[j], j, i,
					covariance[j][i])
			}
		}
	}
	return nil
}

func allPriors(keys []Key) bool {
	for _, k := range keys {
		if k.PhiPrior == nil || k.SigmaPrior == nil {
			return false
		}
	}
	return true
}

func anyPrior(keys []Key) bool {
	for _, k := range keys {
		if k.PhiPrior != nil || k.SigmaPrior != nil {
			return true
		}
	}
	return false
}
