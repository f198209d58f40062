package truth

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
)

// covered reports whether the interval of ± 2 standard errors contains the truth. The truth has an
// error of its own: brute force is the same for all keys, so four of its standard errors are added;
// otherwise its error would decide for all keys. If the report declares a figure as approximate and
// safe, or the truth is an upper end, only the unsafe end must hold.
func covered(name string, s reported, truth figure, f *file) bool {
	s.se = 2*s.se + 4*truth.se
	o := compare(name, s, figure{value: truth.value}, f.size(), f.unit())
	if truth.most || s.approximate && s.errs == "safe" {
		return o.z <= 1
	}
	return math.Abs(o.z) <= 1
}

// Over many keys, ± 2 standard errors contain the truth in at least 90 %, on skewed data, for every
// mask and target. For 40 keys, an interval with a coverage of 90 % contains it in fewer than 29
// with a probability of 5e-4 (binomial), and one with the nominal 95.4 % with 2e-8. All keys and
// figures of a chain together must reach 90 %, which a coverage of 95 % misses once in thousands.
func TestCoverage(t *testing.T) {
	of := formOf(t)
	if of == small {
		t.Skip("in make test-truth-short")
	}
	const keys, least = 40, 29
	chosen := map[string][]string{
		"noise": {"lognormal"}, "bias": {"pareto1.5"}, "noise, clip": {"lognormal"}, "uniform, little": {"pareto1.2"},
		"swap random dataset": {"lognormal"}, "redraw laplace": {"pareto1.5"},
	}
	n, sample := 20_000, 2000
	if of == full {
		n, sample = 50_000, 5000
	}
	for _, e := range entries {
		skewed := chosen[e.name]
		if of == full {
			skewed = []string{"lognormal", "pareto1.5"}
		}
		for _, name := range skewed {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				f := shapeNamed(name).make(n)
				path := filepath.Join(tempDir(t), "x.csv")
				f.write(t, path)
				c := e.of(f)
				truth := (&bruteForce{f: f, c: c, seed: "coverage " + e.name + name, m: 1000, draws: 100_000}).replicates()
				held, intervals := map[string]int{}, 0
				worst := map[string]reported{}
				for key := range keys {
					all := job{f: f, masks: c.yaml(), path: path, sample: sample, replicates: 100, window: windowOf(c),
						key: 100 + key}.run(t).figures()
					intervals++
					for figureName, s := range all {
						expected, known := truth[figureName]
						if figureName == meanBias || !known {
							held[figureName]++
							continue
						}
						if covered(figureName, s, expected, f) {
							held[figureName]++
						} else {
							worst[figureName] = s
						}
					}
				}
				total, figures := 0, 0
				for _, figureName := range names() {
					if _, there := held[figureName]; !there && figureName == gateUtility {
						continue
					}
					total += held[figureName]
					figures++
					line := fmt.Sprintf("%s: ± 2 standard errors hold the truth with %d of %d keys; once %g ± %g for %g ± %g",
						figureName, held[figureName], intervals, worst[figureName].value, worst[figureName].se, truth[figureName].value,
						truth[figureName].se)
					if held[figureName] < least {
						t.Error(line)
					} else if *listFlag {
						t.Log(line)
					}
				}
				if share := float64(total) / float64(figures*intervals); share < 0.9 {
					t.Errorf("over all figures: %.1f %%", 100*share)
				}
			})
		}
	}
}
