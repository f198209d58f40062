package truth

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// Percentiles and extremes by position, where few records are near the target and the large-sample
// formula is too wide, compared with enough replicates to know R to about 1 %: on files of a few
// thousand records, with a sample of a few hundred.
func TestPositionInTails(t *testing.T) {
	of := formOf(t)
	if of == small {
		t.Skip("in make test-truth-short")
	}
	names, kinds := []string{"lognormal"}, []string{"noise", "bias"}
	if of == full {
		names = []string{"lognormal", "pareto1.2", "halfzeros", "far", "negative"}
		kinds = []string{"noise", "noise, little", "laplace", "uniform", "tiers up", "bias", "bias, noise", "noise, clip",
			"bias, clip", "redraw normal"}
	}
	for _, e := range entries {
		for _, kind := range kinds {
			if e.name != kind {
				continue
			}
			for _, name := range names {
				t.Run(e.name+"/"+name, func(t *testing.T) {
					if !strings.Contains(e.name+"/"+name, *onlyFlag) {
						t.Skip("not asked for")
					}
					f := shapeNamed(name).make(6000)
					path := filepath.Join(tempDir(t), "x.csv")
					f.write(t, path)
					c := e.of(f)
					truth := (&bruteForce{f: f, c: c, seed: "tails " + e.name + name, m: 20_000, draws: 100_000}).replicates()
					for key := range 2 {
						judge(t, f, job{f: f, masks: c.yaml(), path: path, sample: 500, replicates: 200, key: 300 + key}.run(t), truth)
					}
				})
			}
		}
	}
}

// Half of the values are 0 and stay 0 under a bias, so the smallest released value is below 0 only
// if a factor θ is, once in a thousand releases, and then by a large amount. That determines
// E(x_(1) − y_(1))², which is to first order Σ x² E[θ²; θ < 0], and brute force cannot see it.
func TestRareFarExtreme(t *testing.T) {
	const phi = 0.2
	f := shapeNamed("halfzeros").make(6000)
	path := filepath.Join(tempDir(t), "x.csv")
	f.write(t, path)
	squares := 0.0
	for _, x := range f.sorted {
		squares += x * x
	}
	// E[(1 + φz)²; z < −1/φ] = (1 + φ²)Φ(−1/φ) − φ·φ(1/φ), where the last φ is the normal density.
	density := math.Exp(-0.5/(phi*phi)) / math.Sqrt(2*math.Pi)
	want := squares * ((1+phi*phi)*0.5*math.Erfc(1/(phi*math.Sqrt2)) - phi*density)
	c := chain{bias{phi}}
	got := job{f: f, masks: c.yaml(), path: path, sample: 500, replicates: 20}.run(t).figures()["min position"]
	if !(math.Abs(got.value-want) <= 0.02*want) {
		t.Errorf("mean square error of the minimum by position %g, is %g", got.value, want)
	}
}
