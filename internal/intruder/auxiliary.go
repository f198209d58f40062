package intruder

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

const (
	learnSteps = 500
	// learnEnough is the relative change of the precisions 1/φ² and 1/σ² below which the
	// iteration has converged.
	learnEnough = 1e-7
)

// learn covers a case that Trottini et al. leave open: the intruder knows the keys of L
// further units, but not which records belong to them. The links and the biases θ are
// latent variables. learn finds the posteriors of φ² and σ² by variational EM, with
// inverse gamma q(φ²) = IG(a, b), q(σ²) = IG(c, d),
//
//	E: each unit's links, as in d.1 with φ² = b/a and σ² = d/c, and under each link the
//	   first two moments of θ;
//	M: a = α + R/2, b = β + ½ Σ r E(θ−1)², c = γ + R/2, d = δ + ½ Σ r E(z−xθ)²,
//
// over units and records with link probability r, R = Σ r. L = 0 returns the prior, and
// many units that are easy to link lead to the known parameters of d.1. The caller uses
// the posteriors in place of the priors. Two units may be linked to the same record;
// this matters little while L is far below the number of records. learn returns the
// error of a step or of ctx.
func learn(ctx context.Context, p *Problem, o *Options, columns []column) (*Learned, []Key, error) {
	units := len(p.Auxiliary[0])
	truth := make([]int32, units)
	for l := range truth {
		truth[l] = -1
	}
	q := Problem{Targets: p.Auxiliary, Released: p.Released, Truth: truth}
	now := make([]LearnedKey, len(o.Keys))
	for j, k := range o.Keys {
		now[j] = LearnedKey{k.PhiPrior.Shape, k.PhiPrior.Scale, k.SigmaPrior.Shape, k.SigmaPrior.Scale}
	}
	r := &Learned{Units: units}
	for r.Iterations < learnSteps && !r.Converged {
		r.Iterations++
		next, err := learnStep(ctx, &q, o, columns, now)
		if err != nil {
			return nil, nil, err
		}
		r.Converged = true
		for j := range now {
			phi := next[j].PhiScale / next[j].PhiShape * now[j].PhiShape / now[j].PhiScale
			sigma := next[j].SigmaScale / next[j].SigmaShape * now[j].SigmaShape / now[j].SigmaScale
			r.Converged = r.Converged && math.Abs(phi-1) < learnEnough && math.Abs(sigma-1) < learnEnough
		}
		now = next
	}
	r.Keys = now
	keys := make([]Key, len(now))
	for j, k := range now {
		keys[j] = Key{PhiPrior: &Prior{k.PhiShape, k.PhiScale}, SigmaPrior: &Prior{k.SigmaShape, k.SigmaScale}}
	}
	return r, keys, nil
}

// moments are the sums over links of one key, Σ r, Σ r E(θ−1)² and Σ r E(z−xθ)².
type moments struct{ links, bias, noise float64 }

func learnStep(ctx context.Context, p *Problem, o *Options, columns []column, now []LearnedKey) ([]LearnedKey, error) {
	plugged := *o
	plugged.Keys = make([]Key, len(now))
	for j, k := range now {
		plugged.Keys[j] = Key{Phi: math.Sqrt(k.PhiScale / k.PhiShape), Sigma: math.Sqrt(k.SigmaScale / k.SigmaShape)}
	}
	likelihood := newExact(p, &plugged, columns)
	perUnit := make([][]moments, len(p.Truth))
	errs := make([]error, len(p.Truth))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(perUnit)) {
		wait.Go(func() {
			defer bug.Guard()
			for {
				l := int(next.Add(1)) - 1
				if l >= len(perUnit) {
					return
				}
				perUnit[l], errs[l] = likelihood.linkMoments(ctx, l, o.Population)
			}
		})
	}
	wait.Wait()
	updated := make([]LearnedKey, len(now))
	for j, k := range o.Keys {
		var sum moments
		for l := range perUnit {
			if errs[l] != nil {
				return nil, errs[l]
			}
			sum.links += perUnit[l][j].links
			sum.bias += perUnit[l][j].bias
			sum.noise += perUnit[l][j].noise
		}
		updated[j] = LearnedKey{
			k.PhiPrior.Shape + sum.links/2, k.PhiPrior.Scale + sum.bias/2,
			k.SigmaPrior.Shape + sum.links/2, k.SigmaPrior.Scale + sum.noise/2,
		}
	}
	return updated, nil
}

// linkMoments returns the moments of each key for one unit. It passes over all records
// twice: once for the sum of the unit's densities, once for the moments under each
// link.
func (l *exact) linkMoments(ctx context.Context, unit, population int) ([]moments, error) {
	n := len(l.p.Released[0])
	b, err := l.batch([]int{unit})
	if err != nil {
		return nil, err
	}
	t := &b.(*exactBatch).targets[0]
	q, m := make([]float64, blockRecords), make([]float64, blockRecords)
	var total logSum
	for lo := 0; lo < n; lo += blockRecords {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(lo+blockRecords, n)
		b.fill(0, lo, hi, q[:hi-lo], m[:hi-lo])
		for i := range hi - lo {
			total.add(math.Log(m[i]) - q[i])
		}
	}
	if population > n {
		total.add(math.Log(float64(population-n)) + t.outside)
	}
	sums := make([]moments, len(l.keys))
	logTotal := total.log()
	if math.IsInf(logTotal, -1) {
		return sums, nil // no record can belong to this unit: it carries no information
	}
	index := make([]int, 0, len(t.keys)) // for each key of the unit, its index among all keys
	for j := range l.keys {
		if !math.IsNaN(l.p.Targets[j][unit]) {
			index = append(index, j)
		}
	}
	for lo := 0; lo < n; lo += blockRecords {
		hi := min(lo+blockRecords, n)
		b.fill(0, lo, hi, q[:hi-lo], m[:hi-lo])
		for i := range hi - lo {
			r := math.Exp(math.Log(m[i]) - q[i] - logTotal)
			if !(r > 1e-15) {
				continue
			}
			for a := range t.keys {
				k := &t.keys[a]
				z := k.z[lo+i]
				if math.IsNaN(z) {
					continue
				}
				mean, variance := weightedMoments(1+k.g*(z-k.x), k.biasSD)
				s := &sums[index[a]]
				s.links += r
				s.bias += r * ((mean-1)*(mean-1) + variance)
				s.noise += r * ((z-k.x*mean)*(z-k.x*mean) + k.x*k.x*variance)
			}
		}
	}
	return sums, nil
}
