package intruder

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// blockRecords: a block of two to four keys and the densities of one target stay in a
// core's second-level cache while the targets of a batch pass over it.
const blockRecords = 1024

// A likelihood computes densities for batches of targets. Several goroutines may call
// its methods; only one may call the methods of a batch.
type likelihood interface {
	batch(targets []int) (batch, error)
}

// A batch gives the densities of its targets under the released records, as m·exp(-q)
// times a constant of the target. a is the index of a target in the batch.
type batch interface {
	// load prepares records lo to hi-1.
	load(lo, hi int) error
	// fill sets q and m, of hi-lo entries, for target a and loaded records lo to hi-1.
	fill(a, lo, hi int, q, m []float64)
	// outside returns the logarithm of the density of target a as a person who is not
	// in the release, without the same constant.
	outside(a int) float64
	// logError returns a bound of the error of the log densities computed so far.
	logError() float64
}

// Run computes the intruder's posterior for every target and counts the correct links.
//
// A missing key value is not compared. If the target lacks the value, the key is not
// used for this target. If a record lacks it, the record's density for this key is the
// mean over the records that have the key. So a missing value neither raises nor lowers
// the record's posterior, whatever the key's unit.
//
// With known φ = 0 and σ = 0 (or σ = 0 and a target's value 0) the density of a key has
// no width. Run then uses σ = 2^-40 of the released column's SD, so that the nearest
// record gets the whole posterior.
//
// Results do not depend on the number of goroutines (GOMAXPROCS). They depend on the
// order of the records only by rounding in the last digits of a posterior. Run returns
// an error if the problem and the options do not fit together, if a prior cannot be
// integrated, or if ctx ends.
func Run(ctx context.Context, problem Problem, options Options) (*Result, error) {
	p, o := &problem, &options
	if err := check(p, o); err != nil {
		return nil, err
	}
	n := len(p.Released[0])
	r := &Result{Knowledge: "d.1", Threshold: o.Threshold, Model: o.Model, Records: n, Population: max(o.Population, n)}
	columns := describe(p.Released)
	for _, part := range []struct {
		name    string
		columns []column
	}{{"released", columns}, {"targets", describe(p.Targets)}, {"auxiliary", describe(p.Auxiliary)}} {
		for j, c := range part.columns {
			if math.IsInf(c.lowest, 0) || math.IsInf(c.highest, 0) {
				return nil, fmt.Errorf("intruder: %s[%d]: must be finite or missing, got an infinite value", part.name, j)
			}
		}
	}
	if len(p.Auxiliary) > 0 && len(p.Auxiliary[0]) > 0 {
		learned, keys, err := learn(ctx, p, o, columns)
		if err != nil {
			return nil, err
		}
		r.Learned, o.Keys = learned, keys
	}
	l, targetsPerBatch := newLikelihood(p, o, columns)
	outcomes := make([]outcome, len(p.Truth))
	logError, err := attack(ctx, p, o, l, targetsPerBatch, outcomes)
	if err != nil {
		return nil, err
	}
	if anyPrior(o.Keys) {
		r.Knowledge = "d.2"
		// A posterior is a ratio. The errors of its numerator and its denominator are
		// each at most the product of the keys' errors.
		r.Quadrature = &Quadrature{math.Min(logError, math.MaxFloat64),
			math.Min(math.Expm1(2*logError*float64(len(o.Keys))), math.MaxFloat64)}
	}
	if o.Jointly {
		if r.Jointly, err = jointly(ctx, p, l, targetsPerBatch); err != nil {
			return nil, err
		}
	}
	r.summarise(outcomes, p.Truth, o.Worst)
	return r, nil
}

func newLikelihood(p *Problem, o *Options, columns []column) (likelihood, int) {
	switch {
	case o.Model == InexactTarget:
		// The preparation per record costs most, so batches are large.
		per := (len(p.Truth) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
		return newInexact(p, o, columns), min(max(per, 1), 1024)
	case o.Covariance != nil:
		return newCorrelated(p, o, columns), 16
	case anyPrior(o.Keys):
		return newUncertain(p, o, columns), 16
	default:
		return newExact(p, o, columns), 16
	}
}

// attack runs batches of targets on GOMAXPROCS goroutines and returns the greatest
// error of a log density, or the first error of a batch.
func attack(ctx context.Context, p *Problem, o *Options, l likelihood, perBatch int, outcomes []outcome) (float64,
	error) {
	batches := (len(outcomes) + perBatch - 1) / perBatch
	errs := make([]error, batches)
	logErrors := make([]float64, batches)
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), batches) {
		wait.Go(func() {
			defer bug.Guard()
			q, m := make([]float64, blockRecords), make([]float64, blockRecords)
			for {
				b := int(next.Add(1)) - 1
				if b >= batches || failed.Load() {
					return
				}
				first := b * perBatch
				targets := make([]int, min(perBatch, len(outcomes)-first))
				for a := range targets {
					targets[a] = first + a
				}
				if logErrors[b], errs[b] = attackBatch(ctx, p, o, l, targets, outcomes, q, m); errs[b] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	greatest := 0.0
	for b, err := range errs {
		if err != nil {
			return 0, err
		}
		greatest = math.Max(greatest, logErrors[b])
	}
	return greatest, nil
}

func attackBatch(ctx context.Context, p *Problem, o *Options, l likelihood, targets []int, outcomes []outcome, q,
	m []float64) (float64, error) {
	n := len(p.Released[0])
	b, err := l.batch(targets)
	if err != nil {
		return 0, err
	}
	tallies := make([]tally, len(targets))
	for a, target := range targets {
		tallies[a] = newTally()
		if t := int(p.Truth[target]); t >= 0 {
			if err := b.load(t, t+1); err != nil {
				return 0, err
			}
			b.fill(a, t, t+1, q[:1], m[:1])
			tallies[a].expect(q[0], m[0])
		}
	}
	for lo := 0; lo < n; lo += blockRecords {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		hi := min(lo+blockRecords, n)
		if err := b.load(lo, hi); err != nil {
			return 0, err
		}
		for a := range targets {
			b.fill(a, lo, hi, q[:hi-lo], m[:hi-lo])
			tallies[a].add(q[:hi-lo], m[:hi-lo])
		}
	}
	for a, target := range targets {
		logOutside := math.Inf(-1)
		if o.Population > n {
			logOutside = math.Log(float64(o.Population-n)) + b.outside(a)
		}
		outcomes[target] = tallies[a].outcome(n, logOutside)
	}
	return b.logError(), nil
}

// column describes the values of one key.
type column struct {
	mean, variance float64 // of the values that are not missing
	lowest         float64
	highest        float64
	missing        bool // some values are missing
	// floor is the variance that replaces 0 if there is neither bias nor noise.
	floor float64
}

func describe(released [][]float64) []column {
	columns := make([]column, len(released))
	for j, z := range released {
		c := column{lowest: math.Inf(1), highest: math.Inf(-1)}
		n, m2 := 0.0, 0.0
		for _, v := range z {
			if math.IsNaN(v) {
				c.missing = true
				continue
			}
			n++
			d := v - c.mean
			c.mean += d / n
			m2 += d * (v - c.mean)
			c.lowest, c.highest = math.Min(c.lowest, v), math.Max(c.highest, v)
		}
		if n == 0 {
			c.lowest, c.highest = 0, 0
		}
		if n > 1 {
			c.variance = m2 / (n - 1)
		}
		scale := c.variance
		if scale == 0 {
			scale = 1
		}
		c.floor = scale * 0x1p-80
		columns[j] = c
	}
	return columns
}

// predictive returns the variance of the predictive distribution of a further value: the
// column's variance plus the variance of its mean. Fienberg et al. (4) integrate the
// unknown record of a person outside the release over this distribution, which is taken
// as normal.
func (c *column) predictive(n int) float64 {
	return c.variance * (1 + 1/float64(n))
}
