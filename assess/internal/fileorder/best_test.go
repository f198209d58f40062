package fileorder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Best is the best of all fits that an intruder would try, on files of many shapes with different
// best kinds.
func TestBestOfFilesOfManyShapes(t *testing.T) {
	const n = 1024
	won := map[string]bool{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 77))
		noise := []float64{5, 15, 40}[seed%3]
		step := []float64{0.05, 0.3, 1, 2}[rng.IntN(4)] * noise
		o := New(1024)
		x, y := microdata.Vector{Values: make([]float64, n)}, microdata.Vector{Values: make([]float64, n)}
		period := []float64{16, 32, 64, 128, 400}[rng.IntN(5)]
		level, length := 0.0, 1+rng.IntN(60)
		for i := range n {
			switch seed / 3 % 4 {
			case 0:
				x.Values[i] = 60 * math.Sin(float64(i)/period*2*math.Pi)
			case 1:
				if rng.IntN(length) == 0 {
					level += 3 * step * rng.NormFloat64()
				}
				x.Values[i] = level
			case 2:
				level += step * rng.NormFloat64()
				x.Values[i] = level
			case 3:
				x.Values[i] = float64(rng.IntN(1+length)) + 20*math.Cos(float64(i/int(period)))
			}
			y.Values[i] = x.Values[i] + noise*rng.NormFloat64()
		}
		o.Add(&place.Origin{}, &microdata.Block{N: n}, x, y, nil)
		best, ok := o.Best(noise * noise)
		least, name := Fit{Mse: math.Inf(1)}, ""
		take := func(f Fit, fitted bool, what string) {
			if fitted && f.Mse < least.Mse {
				least, name = f, what
			}
		}
		for l := range o.levels {
			s := o.sequence(l)
			if len(s.bins) < 2 {
				continue
			}
			for h := 1; 2*h <= len(s.bins); h *= 2 {
				e, _ := s.average(h)
				f, fitted := s.judged("moving average", e, 1)
				take(f, fitted, fmt.Sprint("average of ", h))
			}
			if e, fitted := s.groups(noise * noise); fitted {
				f, fitted := s.judged("groups", e, 1)
				take(f, fitted, "groups")
			}
			for _, penalty := range []float64{0.25, 0.5, 1, 2} {
				f, fitted := s.judged("levels with jumps", s.jumps(penalty*noise*noise), 1)
				take(f, fitted, fmt.Sprint("jumps at ", penalty))
			}
			if e, scale, fitted := s.neighbours(12); fitted {
				f, fitted := s.judged("neighbours", e, scale)
				take(f, fitted, "neighbours")
			}
			for k := range 4 {
				f, fitted := s.judged(isotonicName(k/2 == 1), s.isotonic(k/2 == 1, k%2 == 1), 1)
				take(f, fitted, "isotonic")
			}
		}
		if won[name] = true; !ok || best != least {
			t.Errorf("file %d: %+v, want %+v, %s", seed, best, least, name)
		}
	}
	for _, name := range []string{"average of 16", "average of 32", "average of 64", "groups", "jumps at 0.5",
		"neighbours"} {
		if !won[name] {
			t.Errorf("%s is never the best: more shapes are wanted", name)
		}
	}
}
