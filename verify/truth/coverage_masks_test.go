package truth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/transform"
)

// black is masks of the program itself, as a mask of the brute force: whole files, under a key of their own each time.
type black struct {
	text     string // of the configuration, without brackets
	releases *releases
	lock     *sync.Mutex
	t        testing.TB
}

func (m black) yaml() string { return m.text }

func (m black) apply(y []float64, f *file, g *rand.Rand) {
	m.lock.Lock()
	defer m.lock.Unlock()
	copy(y, m.releases.draw(m.t, int(g.Uint64()>>1)))
}

// a kind of masks for the coverage; of returns one with amounts of a file.
type kind struct {
	name string // of the registered mask first
	of   func(f *file, g *rand.Rand) string
}

func pick[T any](g *rand.Rand, list ...T) T { return list[g.IntN(len(list))] }

func yamlOf(of func(f *file) chain) func(*file, *rand.Rand) string {
	return func(f *file, _ *rand.Rand) string { return strings.Trim(of(f).yaml(), "[]") }
}

func text(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// coveredKinds has each registered mask that changes a number.
var coveredKinds = []kind{
	{"noise", func(f *file, g *rand.Rand) string {
		return yamlOf(noised(pick(g, "normal", "laplace", "uniform"), pick(g, 0.05, 0.3, 1)))(f, g)
	}},
	{"noise, tiers", func(f *file, g *rand.Rand) string { return yamlOf(tiered("normal", 0.2, 2, 9))(f, g) }},
	{"noise, where", func(f *file, g *rand.Rand) string {
		return text(`{noise: {columns: [x], sd: %s, where: "x > %s"}}`, number(amount(f, 0.3)),
			number(f.grid(f.quantile(0.6))))
	}},
	{"noise, redraw", func(f *file, g *rand.Rand) string { return yamlOf(redrawn("normal", 0.4, 0.05, 0.97))(f, g) }},
	{"bias", func(f *file, g *rand.Rand) string { return yamlOf(biased(pick(g, 0.05, 0.2)))(f, g) }},
	{"truncate", func(f *file, g *rand.Rand) string { return yamlOf(clipped(pick(g, 0, 0.1), 0.95))(f, g) }},
	{"round", func(f *file, g *rand.Rand) string { return yamlOf(rounded(0.25))(f, g) }},
	{"recode", func(f *file, g *rand.Rand) string {
		var breaks []string
		for _, p := range []float64{0, 0.2, 0.5, 0.8} {
			if b := number(even(f.quantile(p))); len(breaks) == 0 || breaks[len(breaks)-1] != b {
				breaks = append(breaks, b)
			}
		}
		return text(`{recode: {columns: [x], breaks: [%s, %s], midpoints: true, other: "%s"}}`, strings.Join(breaks, ", "),
			number(even(f.quantile(0.95))+2), number(even(2*math.Abs(f.quantile(0.99)))+4))
	}},
	{"topcode", func(f *file, g *rand.Rand) string {
		return text("{topcode: {columns: [x], upper_percentile: %v%s}}", pick(g, 90, 97),
			pick(g, "", ", replace: mean, share: 1"))
	}},
	{"swap", func(f *file, g *rand.Rand) string {
		return yamlOf(swapped(pick(g, "many", "few"), pick(g, 0.3, 0.6), g.IntN(2) == 0, 0))(f, g)
	}},
	{"recordswap", func(f *file, g *rand.Rand) string {
		return text("{recordswap: {hierarchy: [x], risk: [a], k: %d, rate: %v, similar: [[few], []], max_left: 1}}",
			pick(g, 1, 3), pick(g, 0.3, 0.6))
	}},
	{"microaggregate", func(f *file, g *rand.Rand) string {
		return text("{microaggregate: {columns: [x], k: %d, share: 1}}", pick(g, 3, 10))
	}},
	{"microaggregate, medians", func(f *file, g *rand.Rand) string {
		return "{microaggregate: {columns: [x], k: 5, aggregate: median}}"
	}},
	{"rankswap", func(f *file, g *rand.Rand) string {
		return text("{rankswap: {columns: [x], p: %v%s}}", pick(g, 0.05, 0.3),
			pick(g, "", ", top: 0.03, bottom: 0.03, share: 1"))
	}},
	{"shuffle", func(f *file, g *rand.Rand) string { return "{shuffle: {columns: [x]}}" }},
	{"synthesise", func(f *file, g *rand.Rand) string {
		return text("{synthesise: {columns: [x], on: [a], categories: [a], method: %s}}",
			pick(g, "parametric", "normal", "cart"))
	}},
}

// even is the greatest even number below v: the middle of two of them is a whole number.
func even(v float64) float64 { return 2 * math.Floor(v/2) }

// notNumbers are the registered masks that change no number of a column, or only dates or weights, or points of two
// columns (whose distances package transform holds against loops): sample leaves records out.
var notNumbers = []string{"sample", "pram", "suppress", "pseudonym", "date", "donut", "calibrate"}

// coveredShapes are the eight files of the coverage.
var coveredShapes = []string{"normal", "lognormal", "pareto1.2", "halfzeros", "few", "integers", "nulls", "negative"}

// coveredSizes are around a sample of 400: all records in it, one more, and three times as many.
var coveredSizes = []size{{390, 400}, {401, 400}, {1200, 400}}

// tried is run, but returns the error of a configuration, or of masks that refuse the data.
func (j job) tried(t testing.TB) (*report, error) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(j.path), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := j.loaded(t, dir)
	if err != nil {
		return nil, err
	}
	if _, err := run.Pipeline(context.Background(), p, pipeline.Options{}); err != nil {
		return nil, err
	}
	return readReport(t, dir), nil
}

// held counts figures: those whose interval of two standard errors holds the truth, and those whose upper end it is
// above.
type held struct{ figures, within, above, bounds, refused int }

func (h *held) add(o held) {
	h.figures += o.figures
	h.within += o.within
	h.above += o.above
	h.bounds += o.bounds
	h.refused += o.refused
}

// cover compares the reports of a file under several keys with brute force.
func cover(t *testing.T, f *file, path, masks, cell string, sample, keys, draws int) (h held) {
	t.Helper()
	j := job{f: f, masks: "[" + masks + "]", path: path, sample: sample, replicates: 200}
	var reports []*report
	for key := range keys {
		j.key = 7000 + key
		r, err := j.tried(t)
		if err != nil {
			if !errors.As(err, new(config.Errors)) && !errors.As(err, new(*pipeline.DataError)) {
				t.Errorf("%s: %v", cell, err)
			}
			return held{refused: 1}
		}
		reports = append(reports, r)
	}
	c := chain{black{text: masks, releases: j.releases(t), lock: new(sync.Mutex), t: t}}
	truth := (&bruteForce{f: f, c: c, seed: "coverage " + cell, m: draws}).replicates()
	modelled := strings.Contains(masks, "synthesise") || strings.Contains(masks, "microaggregate") ||
		strings.Contains(masks, "topcode") || strings.Contains(masks, "top: ")
	for _, r := range reports {
		for name, s := range r.figures() {
			expected, known := truth[name]
			if !known || name == meanBias {
				continue
			}
			expected.se *= 1.5 // it counts three times, not twice: it is no error of the report
			o := compare(name, s, expected, f.size(), f.unit())
			// What no replicate of brute force shows to vary may vary seldom; a percentile is known up to its bin.
			near := expected.se == 0 && math.Abs(s.value-expected.value) <= 0.1*expected.value
			if target, knowledge, _ := strings.Cut(name, " "); s.sampled && knowledge == "position" && target[0] == 'p' {
				bin := math.Abs(f.sorted[rank(target, len(f.sorted))-1]) / 4096
				near = near || math.Abs(math.Sqrt(s.value)-math.Sqrt(expected.value)) < bin
			}
			// Of draws from a model U counts more than eq. 14 does, and for the gate at least what the data have.
			safe := expected.most || s.approximate && s.errs == "safe" || name == gateUtility || isUtility(name) && modelled
			h.figures++
			if s.bound {
				h.bounds++
			}
			above := !(o.z <= 2) && !near
			if above {
				h.above++
			}
			within := !above && (safe || near || o.z >= -2)
			if within {
				h.within++
			}
			if !within && *listFlag {
				t.Logf("%s: %v, masks %s", cell, o, masks)
			}
		}
	}
	return h
}

// randomMasks returns up to four masks of the kinds that the program takes together; the same for every file of a
// number.
func randomMasks(t *testing.T, f *file, path string, number int) string {
	dir := tempDir(t)
	for try := range 200 {
		g := generator(fmt.Sprint("chain ", number, " ", try))
		var parts []string
		for range 1 + number%4 {
			parts = append(parts, pick(g, coveredKinds...).of(f, g))
		}
		masks := strings.Join(parts, ", ")
		j := job{f: f, masks: "[" + masks + "]", path: path, sample: 400, replicates: 2}
		if _, err := j.loaded(t, dir); err == nil {
			return masks
		}
	}
	t.Fatalf("no chain %d", number)
	return ""
}

// Over all masks, and 60 chains of up to four, eight shapes and three sizes around the sample, the truth lies within
// two standard errors of the reported figure in at least 90 % of the figures of each mask, and above their upper end in
// at most 5 %. The error of brute force is added in squares, three times. A bound, and a figure of an exchange, has an
// upper end only. For figures that are as normal as 95.4 % the shares of a mask, of 1,000 figures of 48 reports, vary
// by about 2 %. The short form takes a tenth of the files, and judges masks together: 1,500 figures of 70 reports,
// which vary by as much.
func TestCoverageOfEveryMask(t *testing.T) {
	of := formOf(t)
	if of == small {
		t.Skip("in make test-truth-short")
	}
	for _, k := range transform.Kinds() {
		if !slices.Contains(notNumbers, k.Name) && !slices.ContainsFunc(coveredKinds, func(c kind) bool {
			return c.name == k.Name
		}) {
			t.Errorf("%s: is in none of coveredKinds and notNumbers", k.Name)
		}
	}
	data := &files{dir: tempDir(t)}
	results := &coverage{rows: map[string]*held{}, alone: map[string]map[string]*held{}}
	const keys, draws = 1, 200
	one := func(t *testing.T, row, name string, masks func(t *testing.T, f *file, path string) string) {
		results.row(row)
		for _, shape := range coveredShapes {
			for _, s := range coveredSizes {
				cell := fmt.Sprintf("%s/%s/%d of %d", name, shape, s.sample, s.n)
				if !strings.Contains(cell, *onlyFlag) || of == short && generator(cell).IntN(10) > 0 {
					continue
				}
				f, path := data.of(t, shape, s.n)
				t.Run(cell, func(t *testing.T) {
					t.Parallel()
					results.add(row, name, cover(t, f, path, masks(t, f, path), cell, s.sample, keys, draws))
				})
			}
		}
	}
	t.Run("cells", func(t *testing.T) { // it ends when all of its tests have
		for _, k := range coveredKinds {
			one(t, k.name, k.name, func(_ *testing.T, f *file, _ string) string {
				return k.of(f, generator(k.name+f.name+fmt.Sprint(len(f.x))))
			})
		}
		for number := range 60 {
			one(t, text("chains of %d", 1+number%4), text("chain %d", number), func(t *testing.T, f *file, path string) string {
				return randomMasks(t, f, path, number)
			})
		}
	})
	results.judge(t, of)
}
