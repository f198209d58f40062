package attack

import (
	"context"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
)

// matched enters the greatest number of respondents that the Bayesian intruder links rightly in what all releases have
// of the keys of numbers: in each earlier release alone, and in the data of tries. Whatever he knows of this release,
// here he knows bias and noise of each key, as they are in the data, and their correlations. Two standard errors are
// added, as in linked.
func (u *union) matched(ctx context.Context, id *assess.Identity) error {
	if u.o.Bayes == nil || u.alone == nil || u.alone.CorrectLinks != u.alone.CorrectLinks ||
		!slices.ContainsFunc(u.pl.Config.Gate.Rules, func(r assess.Rule) bool {
			return r.MaxCorrectLinks != nil && r.OfUnion()
		}) {
		return nil
	}
	tries, why := u.tries()
	if why == "" {
		why = u.lawless()
	}
	if why != "" {
		id.Unmatched = why
		return nil
	}
	found := float64(u.alone.CorrectLinks)
	for _, d := range tries {
		if len(d.Linked) == 0 {
			continue
		}
		for _, o := range noiseOf(&d, *u.o.Bayes) {
			r, err := attack.Run(ctx, d, attack.Options{Targets: u.o.Targets, Bayes: &o})
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				id.Unmatched = err.Error()
				return nil
			}
			n, links := float64(r.Targets), float64(r.Identity().CorrectLinks)
			found = max(found, min(n, links+2*math.Sqrt(links*(1-links/n))))
		}
	}
	id.CorrectLinks = assess.Float(found)
	return nil
}

// lawless names a key of numbers that some release masks otherwise than by noise, roundings and bounds: what the
// intruder knows of it does not follow from its errors. "" if there is none.
func (u *union) lawless() (why string) {
	for _, i := range u.d.Linked {
		if _, why = u.heldOf(&u.d.Numeric[i]); why != "" {
			return why
		}
	}
	for _, k := range u.keys() {
		e := u.release(k.before.Release)
		if _, known := e.Law(k.before.Of); !known && u.pl.IsKey(e, k.before.Of) && numbers(k.before.Values) &&
			!sameValues(k.before.Values, k.after.Values) {
			return "the masks of " + e.At() + " on " + k.before.Of + " have no law of a single value in closed form"
		}
	}
	return ""
}

// noiseOf returns what an intruder may know of the keys of some data: their errors as noise of one size, by the mean of
// their squares and by that of most of them, which values at a bound hardly change; as noise and bias; and with their
// correlations where there are some.
func noiseOf(d *attack.Data, of intruder.Options) (list []intruder.Options) {
	errs := make([][]float64, len(d.Linked))
	of.Keys, of.Covariance = nil, nil
	usual, biased := of, of
	for k, j := range d.Linked {
		c := &d.Numeric[j]
		errs[k] = make([]float64, len(c.Original))
		var n, sum float64
		var squares, sizes []float64 // of the errors, and of the originals
		for i, x := range c.Original {
			if errs[k][i] = c.Released[i] - x; errs[k][i] == errs[k][i] {
				e := errs[k][i] * errs[k][i]
				n, sum, squares, sizes = n+1, sum+e, append(squares, e), append(sizes, x*x)
			}
		}
		of.Keys = append(of.Keys, intruder.Key{Sigma: math.Sqrt(sum / max(n, 1))})
		usual.Keys = append(usual.Keys, intruder.Key{Sigma: math.Sqrt(variance(squares))})
		biased.Keys = append(biased.Keys, biasOf(squares, sizes))
	}
	list = append(list, of, usual)
	if slices.ContainsFunc(biased.Keys, func(k intruder.Key) bool { return k.Phi > 0 }) {
		list = append(list, biased)
	}
	if s := correlated(errs); s != nil {
		of.Covariance = s
		list = append(list, of)
	}
	return list
}

// variance is that of normal errors of whose squares the least nine tenths have the same mean: some values at a bound
// do not change it much, nor do errors that are mostly 0.
func variance(squares []float64) float64 {
	const kept = 0.9
	const share = 0.6230 // 1 − 2zφ(z)/0.9 with Φ(z) = 0.95: the mean square of the least nine tenths of normal errors
	n, sum := int(math.Ceil(kept*float64(len(squares)))), 0.0
	for _, e := range slices.Sorted(slices.Values(squares))[:n] {
		sum += e
	}
	return sum / max(float64(n), 1) / share
}

// middleOf is the median of a list that is not empty.
func middleOf(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// biasOf returns noise and bias, E(y − x)² = σ² + φ²x², with which the half of the records with the greater originals
// and the other half have their errors' sizes.
func biasOf(squares, sizes []float64) (k intruder.Key) {
	if len(squares) < 4 {
		return intruder.Key{Sigma: math.Sqrt(variance(squares))}
	}
	bound := middleOf(sizes)
	var of, at [2][]float64
	for i, x := range sizes {
		half := 0
		if x > bound {
			half = 1
		}
		of[half], at[half] = append(of[half], squares[i]), append(at[half], x)
	}
	if len(of[1]) == 0 {
		return intruder.Key{Sigma: math.Sqrt(variance(squares))}
	}
	low, high := variance(of[0]), variance(of[1])
	x0, x1 := middleOf(at[0]), middleOf(at[1])
	phi := min(max(0, (high-low)/(x1-x0)), high/x1)
	return intruder.Key{Phi: math.Sqrt(phi), Sigma: math.Sqrt(max(0, high-phi*x1))}
}

// correlated returns the covariance matrix of errors, where two of them are correlated by more than chance; else nil.
func correlated(errs [][]float64) [][]float64 {
	k, some := len(errs), false
	s := make([][]float64, k)
	for a := range k {
		s[a] = make([]float64, k)
	}
	for a := range k {
		for b := range a + 1 {
			n, sum := 0.0, 0.0
			for i, e := range errs[a] {
				if p := e * errs[b][i]; p == p {
					n, sum = n+1, sum+p
				}
			}
			s[a][b] = sum / max(n, 1)
			s[b][a] = s[a][b]
		}
	}
	for a := range k {
		for b := range a {
			some = some || s[a][b]*s[a][b] > 25*s[a][a]*s[b][b]/float64(len(errs[a]))
		}
	}
	if !some {
		return nil
	}
	for a := range k {
		s[a][a] *= 1 + 1e-9 // two releases of one draw would make it singular
	}
	return s
}
