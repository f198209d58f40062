package truth

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/explore"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// mapped returns the R-U map of a job.
func (j job) mapped(t testing.TB) *rumap.Map {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(j.path), "map")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := explore.Map(context.Background(), j.configuration(t, dir), pipeline.Options{})
	if err != nil {
		t.Fatalf("%s: %v", j.masks, err)
	}
	return m
}

// search is a map over one parameter of a chain.
type search struct {
	name, shape string
	axis        string // of the configuration; each %s is replaced by an end
	ends        func(f *file) (from, to float64)
	at          func(f *file, v float64) chain // the chain at a value of the parameter
	// position of the rules' value on the axis, 0 to 1: values beyond it are admissible
	middle float64
	short  bool // part of the short form
}

var searches = []search{
	{
		name: "noise", shape: "lognormal", axis: "masks.0.noise.sd: {from: %s, to: %s, steps: 12}", short: true,
		ends:   func(f *file) (float64, float64) { return f.grid(0.05 * f.iqr()), f.grid(f.iqr()) },
		at:     func(f *file, v float64) chain { return chain{noise{sd: v, kind: "normal"}} },
		middle: 0.5,
	},
	{
		name: "uniform, clip", shape: "pareto1.5", axis: "masks.0.noise.sd: {from: %s, to: %s, steps: 12}",
		ends: func(f *file) (float64, float64) { return f.grid(0.05 * f.iqr()), f.grid(f.iqr()) },
		at: func(f *file, v float64) chain {
			return chain{noise{sd: v, kind: "uniform"}, clip{inside(f, 0.02, 0.999)}}
		},
		middle: 0.5,
	},
	{
		name: "laplace redraw", shape: "lognormal", axis: "masks.0.noise.sd: {from: %s, to: %s, steps: 12}",
		ends: func(f *file) (float64, float64) { return f.grid(0.05 * f.iqr()), f.grid(f.iqr()) },
		at: func(f *file, v float64) chain {
			b := inside(f, 0.02, 1)
			return chain{noise{sd: v, kind: "laplace", bounds: &b}}
		},
		middle: 0.5,
	},
	{
		name: "bias", shape: "pareto1.5", axis: "masks.0.bias.phi: {from: %s, to: %s, steps: 12}", short: true,
		ends:   func(*file) (float64, float64) { return 0.02, 0.4 },
		at:     func(f *file, v float64) chain { return chain{bias{v}} },
		middle: 0.5,
	},
	{
		name: "truncate", shape: "pareto1.5", axis: "masks.0.truncate.upper: {from: %s, to: %s, steps: 20, scale: log}",
		short:  true,
		ends:   func(f *file) (float64, float64) { return f.grid(f.quantile(0.99)), f.sorted[len(f.sorted)-1] },
		at:     func(f *file, v float64) chain { return chain{clip{bounds{inf(-1), v}}} },
		middle: 0.5,
	},
	{
		name: "swap", shape: "lognormal", axis: "masks.0.swap.rate: {from: %s, to: %s, steps: 8}",
		ends:   func(*file) (float64, float64) { return 0.05, 0.6 },
		at:     func(f *file, v float64) chain { return chain{swap{key: "many", rate: v, random: true}} },
		middle: 0.5,
	},
}

// The recommended point of a map is admissible according to 2,000 replicates of the whole file,
// within three of both standard errors (of 20 keys and 6 maps one deviates further in one run of
// six, if every recommended point were at its limit, which one in ten is), and a run with it
// passes.
func TestRecommendedIsAdmissible(t *testing.T) {
	of := formOf(t)
	if of == small {
		t.Skip("in make test-truth-short")
	}
	n, sample, keys, replicates := 60_000, 10_000, 3, 200
	if of == full {
		n, sample, keys, replicates = 300_000, 100_000, 20, 2000
	}
	for _, s := range searches {
		if of == short && !s.short || !strings.Contains(s.name, *onlyFlag) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			f := shapeNamed(s.shape).make(n)
			path := filepath.Join(tempDir(t), "x.csv")
			f.write(t, path)
			from, to := s.ends(f)
			// The rules require what a value in the middle of the axis just provides.
			middle := f.grid(from + s.middle*(to-from))
			if strings.Contains(s.axis, "log") {
				middle = f.grid(math.Sqrt(from * to))
			}
			at := (&bruteForce{f: f, c: s.at(f, middle), seed: "middle", m: 100, draws: 5000}).replicates()
			rules := []string{typicalIndex, "p90 index"}
			if s.name == "truncate" {
				rules = rules[:1]
			}
			var gate []string
			for _, name := range rules {
				target, knowledge, _ := strings.Cut(name, " ")
				gate = append(gate, fmt.Sprintf("{column: x, target: %s, knowledge: %s, record: alone, min_rmse: %s}", target,
					knowledge, number(math.Sqrt(at[name].value))))
			}
			j := job{f: f, path: path, masks: s.at(f, middle).yaml(), sample: sample, replicates: 200,
				gate: strings.Join(gate, ", "),
				vary: fmt.Sprintf(s.axis, number(from), number(to))}
			known := map[float64]map[string]figure{}
			for key := range keys {
				j.key = 200 + key
				m := j.mapped(t)
				if m.Recommended == nil {
					t.Errorf("key %d: nothing is recommended: %s", key, m.Reason)
					continue
				}
				point := m.Points[m.Recommended.Point]
				var v float64
				for _, v = range point.Parameters {
				}
				c := s.at(f, v)
				if known[v] == nil {
					known[v] = (&bruteForce{f: f, c: c, seed: "recommended", m: replicates, draws: 20_000}).replicates()
				}
				for _, name := range rules {
					for _, k := range point.Risk {
						if k.Target+" "+k.Knowledge != name {
							continue
						}
						claim := reciprocal(value(k.R), value(k.RSE), false, false, "")
						truth := known[v][name]
						if short := at[name].value - truth.value; short > 3*math.Hypot(claim.se, truth.se)+exact*truth.value {
							t.Errorf(
								"key %d: recommends %g, where the mean square error of %s is %g ± %g (reported: %g ± %g) and must be %g",
								key, v, name, truth.value, truth.se, claim.value, claim.se, at[name].value)
						}
					}
				}
				run := j
				run.masks, run.vary = c.yaml(), ""
				if !run.run(t).Gate.Passed {
					t.Errorf("key %d: recommends %g, and a run with it is refused", key, v)
				}
			}
		})
	}
}
