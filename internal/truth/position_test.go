package truth

import (
	"path/filepath"
	"strings"
	"testing"
)

// Percentiles and extremes by position, where few records are near the target and
// the large-sample formula is too wide, against so many replicates that R is known
// to about 1 %: on files of a few thousand records, of which the program keeps a
// few hundred.
func TestPositionInTails(t *testing.T) {
	of := formOf(t)
	if of == small {
		t.Skip("in make test-truth-short")
	}
	names, kinds := []string{"lognormal"}, []string{"noise", "bias"}
	if of == full {
		names = []string{"lognormal", "pareto1.2", "halfzeros", "far", "negative"}
		kinds = []string{"noise", "noise, little", "laplace", "uniform", "tiers up", "bias", "bias, noise", "noise, clip", "bias, clip", "redraw normal"}
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
