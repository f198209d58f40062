package fileorder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// scores are those of a level by their definitions: that of the descents first, then that
// of the autocorrelation at each lag from 1 to 13, and the share and the correlation at
// lag 1. All records lie in one stretch, and no two values are equal.
func (s *sequence) scores() (all [14]float64, share, correlation float64) {
	n := float64(len(s.bins))
	rank := make([]float64, len(s.bins))
	var up, down, square float64
	for i, b := range s.bins {
		for _, o := range s.bins {
			if o.x < b.x {
				rank[i]++
			}
		}
		rank[i] -= (n - 1) / 2
		square += rank[i] * rank[i] / n
		if i > 0 && b.x > s.bins[i-1].x {
			up++
		} else if i > 0 {
			down++
		}
	}
	all[0] = (up - down) / math.Sqrt((n+1)/3)
	for lag := 1; lag <= 13; lag++ {
		sum := 0.0
		for i := lag; i < len(rank); i++ {
			sum += rank[i] * rank[i-lag]
		}
		pairs := n - float64(lag)
		r := max(-1, min(1, sum/pairs/square))
		if all[lag] = r * math.Sqrt(pairs); lag == 1 {
			correlation = r
		}
	}
	return all, down / (up + down), correlation
}

// ordered returns a file of 300 records whose order is not random. Each value is
// correlated, positively or negatively, with the one lag places before; with lag 0, some pairs of
// neighbours rise, or fall, by very little, which descents show better than correlations.
func ordered(rng *rand.Rand, lag int, strength float64) []float64 {
	e, x := make([]float64, 300), make([]float64, 300)
	for i := range x {
		e[i] = rng.NormFloat64()
		x[i] = e[i]
		switch {
		case lag > 0 && i >= lag:
			x[i] += strength * e[i-lag]
		case lag == 0 && i%2 == 1 && rng.Float64() < math.Abs(strength):
			x[i] = x[i-1] + math.Copysign(1e-6, strength)
		}
	}
	return x
}

// A file departs from a shuffled one where the score of its descents, or of its
// autocorrelation at a lag from 1 to 12, is beyond 4.8 on either side, at any level. What is
// said of it beside that is of neighbouring records.
func TestOrderDepartsBeyondTheScore(t *testing.T) {
	decided := map[string]int{}
	check := func(name string, x []float64, limit int) {
		o := New(limit)
		o.Add(&place.Origin{}, &microdata.Block{N: len(x)}, microdata.Vector{Values: x}, microdata.Vector{Values: x}, nil)
		got, departs := o.Departure(), false
		for l := range o.levels {
			all, share, r := o.sequence(l).scores()
			beyond := 0
			for k, z := range all {
				if math.Abs(z) > 4.8 && k < 13 {
					departs = true
					beyond++
				}
			}
			for k, z := range all {
				if alone := beyond == 1 && math.Abs(z) > 4.8 || beyond == 0; alone && math.Abs(z) > 4 && math.Abs(z) < 5.7 {
					decided[fmt.Sprint(k, z > 0, departs)]++
				}
			}
			decided[fmt.Sprint("level ", l, " of ", len(o.levels), beyond > 0)]++
			if l == 0 && !(math.Abs(got.Descents-share) <= 1e-12 && math.Abs(got.Autocorrelation-r) <= 1e-12) {
				t.Errorf("%s: %+v, want a share of %v and a correlation of %v", name, got, share, r)
			}
		}
		if got.Departs != departs {
			t.Errorf("%s: departs is %v, want %v", name, got.Departs, departs)
		}
	}
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 61))
		for _, lag := range []int{0, 1, 2, 12, 13} {
			for _, sign := range []float64{-1, 1} {
				strength := sign * (0.25 + 0.2*rng.Float64())
				check(fmt.Sprintf("seed %d, lag %d, strength %v", seed, lag, strength), ordered(rng, lag, strength), 512)
			}
		}
	}
	for _, what := range []string{"0 true true", "0 false true", "0 true false", "1 true true", "1 false true",
		"1 true false",
		"2 true true", "12 true true", "12 false true", "12 true false", "13 true false", "13 false false"} {
		if decided[what] == 0 {
			t.Errorf("no file of %q: %v", what, decided)
		}
	}
	// What happens over a long distance is seen in wide bins alone, what happens from record to
	// record in narrow ones.
	rng := rand.New(rand.NewPCG(5, 61))
	wave, turns := make([]float64, 4096), make([]float64, 4096)
	for i := range wave {
		wave[i] = rng.NormFloat64() + 0.8*math.Sin(float64(i)/150)
		turns[i] = rng.NormFloat64() + 2*float64(i%2)
	}
	clear(decided)
	check("wave", wave, 300)
	check("turns", turns, 300)
	for _, what := range []string{"level 0 of 3 true", "level 0 of 3 false", "level 2 of 3 true", "level 2 of 3 false"} {
		if decided[what] != 1 {
			t.Errorf("%q: %v", what, decided)
		}
	}
	if none := New(0).Departure(); none.Departs || none.Descents == none.Descents ||
		none.Autocorrelation == none.Autocorrelation {
		t.Errorf("of no records: %+v", none)
	}
}
