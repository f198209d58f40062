package intruder

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// jointProblem draws records with normal keys and noise of a share of their SD; the targets are the
// first m respondents, whose records are in another order.
func jointProblem(rng *rand.Rand, m, n, keys int, noise float64) (Problem, Options) {
	order := rng.Perm(n)
	p := Problem{Truth: make([]int32, m)}
	for a := range p.Truth {
		p.Truth[a] = int32(order[a])
	}
	for range keys {
		x, z := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = 10 + rng.NormFloat64()
			z[order[i]] = x[i] + noise*rng.NormFloat64()
		}
		p.Targets, p.Released = append(p.Targets, x[:m]), append(p.Released, z)
	}
	return p, Options{Keys: []Key{{Sigma: noise}}, Jointly: true}
}

func jointRun(t *testing.T, p Problem, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJointMatchFindsMore: of 300 respondents with four keys and noise of half an SD, 60 files have 67.0
// found one by one and 85.2 jointly; the difference of a file has an SD of 7.3, so that the mean of 8
// files is within 4.5·7.3·√(1/8 + 1/60) = 12.4 of 18.2. Of 30 of them, whom alone the intruder knows,
// both find 6.3 (SD of the difference 0.6: within 1.5).
func TestJointMatchFindsMore(t *testing.T) {
	const files = 8
	gain := func(m int) (alone, jointly float64) {
		for seed := range uint64(files) {
			p, o := jointProblem(rand.New(rand.NewPCG(5, seed)), m, 300, 4, 0.5)
			r := jointRun(t, p, o)
			alone += r.Correct / files
			jointly += r.Jointly.Correct / files
		}
		return alone, jointly
	}
	alone, jointly := gain(300)
	if !(math.Abs(jointly-alone-18.2) <= 12.4) {
		t.Errorf("all targets: %v one by one, %v jointly", alone, jointly)
	}
	few, fewJointly := gain(30)
	if !(math.Abs(fewJointly-few) <= 1.5) {
		t.Errorf("a tenth of the targets: %v one by one, %v jointly", few, fewJointly)
	}
}

// TestJointMatchIsTheLikeliest: of files small enough for all permutations, the match is the one with the
// greatest product of densities, whatever is masked how much, and with other targets than the records'.
func TestJointMatchIsTheLikeliest(t *testing.T) {
	for seed := range uint64(40) {
		const noise = 0.4
		rng := rand.New(rand.NewPCG(6, seed))
		n := 2 + rng.IntN(5)
		m := 1 + rng.IntN(n)
		p, o := jointProblem(rng, m, n, 2, noise)
		best, likeliest := math.Inf(1), []int(nil)
		of := make([]int, 0, m)
		var permute func(cost float64)
		permute = func(cost float64) {
			if len(of) == m {
				if cost < best {
					best, likeliest = cost, slices.Clone(of)
				}
				return
			}
			for i := range n {
				if slices.Contains(of, i) {
					continue
				}
				a, q := len(of), 0.0
				for j := range p.Released {
					d := (p.Released[j][i] - p.Targets[j][a]) / noise
					q += d * d / 2
				}
				of = append(of, i)
				permute(cost + q)
				of = of[:a]
			}
		}
		permute(0)
		for a, i := range likeliest {
			p.Truth[a] = int32(i)
		}
		if r := jointRun(t, p, o); r.Jointly.Correct != float64(m) {
			t.Errorf("file %d: %v of %d targets are matched as in the likeliest match", seed, r.Jointly.Correct, m)
		}
	}
}

// TestJointEnds: equal records share their credit, missing and impossible values exclude nobody, and the
// ends of the sizes and the context are kept.
func TestJointEnds(t *testing.T) {
	nan := math.NaN()
	same := Problem{Targets: [][]float64{{1, 1, 5}}, Released: [][]float64{{1, 1, 5}}, Truth: []int32{0, 1, 2}}
	o := Options{Keys: []Key{{Sigma: 0.5}}, Jointly: true}
	if r := jointRun(t, same, o); math.Abs(r.Jointly.Correct-2) > 1e-9 {
		t.Errorf("of two equal records: %+v", r.Jointly)
	}
	// Two targets near one record: the one that is farther gets what is left.
	pushed := Problem{Targets: [][]float64{{1, 1.6}}, Released: [][]float64{{1.1, 9}}, Truth: []int32{0, 1}}
	if r := jointRun(t, pushed, o); r.Correct != 1 || r.Jointly.Correct != 2 {
		t.Errorf("pushed aside: %v one by one, %+v", r.Correct, r.Jointly)
	}
	far := Problem{Targets: [][]float64{{1, 1e9, nan}}, Released: [][]float64{{2, nan, -1e9}}, Truth: []int32{0, 2, 1}}
	if r := jointRun(t, far, o); !(r.Jointly.Correct >= 0 && r.Jointly.Correct <= 3) {
		t.Errorf("far and missing: %+v", r.Jointly)
	}
	one := Problem{Targets: [][]float64{{3}}, Released: [][]float64{{9}}, Truth: []int32{0}}
	if r := jointRun(t, one, o); r.Jointly.Correct != 1 {
		t.Errorf("one record: %+v", r.Jointly)
	}
	more := Problem{Targets: [][]float64{{1, 2}}, Released: [][]float64{{1}}, Truth: []int32{0, -1}}
	if _, err := Run(t.Context(), more, o); err == nil {
		t.Error("more targets than records are matched")
	}
	o.Population = 4
	if _, err := Run(t.Context(), same, o); err == nil {
		t.Error("targets outside the release are matched")
	}
	o.Population = 0
	many := Problem{Targets: [][]float64{{1}}, Released: [][]float64{make([]float64, asked.Jointly+1)}, Truth: []int32{0}}
	if _, err := Run(t.Context(), many, o); err == nil {
		t.Error("too many records are matched")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ended, same, o); err == nil {
		t.Error("an ended match is no error")
	}
}
