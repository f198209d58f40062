package truth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// people are records of a population: x and v are skewed and masked, w is not, k is a group. All are correlated.
type people struct{ x, v, w, k []float64 }

var peopleColumns = []string{"x", "v", "w", "k"}

func (p *people) of(name string) []float64 {
	return map[string][]float64{"x": p.x, "v": p.v, "w": p.w, "k": p.k}[name]
}

// peopleShapes are shapes of x: skewed, heaped at its least value, and with a spike at 0.
var peopleShapes = []string{"skewed", "edge", "spike"}

func drawPeople(g *rand.Rand, shape string, n int) *people {
	p := &people{}
	cents := func(v float64) float64 { return math.RoundToEven(100*v) / 100 }
	for range n {
		z, e, h := g.NormFloat64(), g.NormFloat64(), g.NormFloat64()
		x := 20 + 30*math.Exp(0.35*z+0.25*e)
		switch {
		case shape == "edge":
			x = 30 + 25*math.Abs(0.4*z+e) + 3*z*z
		case shape == "spike" && g.Float64() < 0.3:
			x = 0
		}
		p.x = append(p.x, cents(x))
		p.v = append(p.v, cents(100+15*z+12*h))
		p.w = append(p.w, cents(5*z*math.Abs(z)+4*g.NormFloat64()))
		p.k = append(p.k, float64(max(0, min(4, int(math.Round(2+z+0.5*g.NormFloat64()))))))
	}
	return p
}

// noted returns those of whom the program makes the note. Amounts that are a percentage are of their standard
// deviations.
func noted(shape string) *people { return drawPeople(generator("note"), shape, 2000) }

// corrected is a chain whose note is held to what it says.
type corrected struct {
	name, masks string
	shared      []string // columns that move along wherever values of x are exchanged, or that models go by
	with        string   // a column that is masked together with x
	least       int      // the fewest formulas that are expected of the note with everything published
}

// Each registered mask must be here, and then chains. 11 formulas are all of a note: mean, variance, and covariance,
// correlation and both slopes, with w; a bound counts.
var correctedChains = []corrected{
	{name: "sample", masks: "{sample: {rate: 0.5}}, {noise: {columns: [x], sd: 8}}", least: 5},
	{name: "bias", masks: "{bias: {columns: [x], phi: 0.15}}", least: 5},
	{name: "noise", masks: "{noise: {columns: [x], sd: 10}}", least: 5},
	{name: "truncate", masks: "{truncate: {columns: [x], lower: 35, upper: 80}}", least: 1},
	{name: "round", masks: "{round: {columns: [x], base: 10}}", least: 4},
	{name: "recode", masks: `{recode: {columns: [x], breaks: [30, 40, 50, 60, 80], midpoints: true, other: "100"}}`},
	{name: "topcode", masks: "{topcode: {columns: [x], upper: 80}}", least: 1},
	{
		name:  "pram",
		masks: `{pram: {columns: [k], categories: ["0", "1", "2", "3", "4"], keep: 0.8}}, {noise: {columns: [x], sd: 10}}`,
		least: 5},
	{name: "suppress", masks: "{suppress: {keys: [k], k: 3}}, {noise: {columns: [x], sd: 10}}", least: 5},
	{name: "date", masks: `{date: {columns: [k], round: week, unit: days}}, {noise: {columns: [x], sd: 10}}`, least: 5},
	{name: "donut", masks: "{donut: {columns: [x, v], unit: metres, least: 5, most: 10}}", with: "v"},
	{name: "pseudonym", masks: `{pseudonym: {columns: [k], scope: k}}, {noise: {columns: [x], sd: 10}}`, least: 5},
	{name: "swap", masks: "{swap: {keys: [k], attribute: v, columns: [x], rate: 0.6, policy: random, scope: dataset}}",
		shared: []string{"k"}, least: 2},
	{name: "recordswap", masks: "{recordswap: {hierarchy: [x], risk: [w], k: 1, rate: 0.6, similar: [[k]]}}",
		shared: []string{"k"}, least: 2},
	{name: "microaggregate", masks: "{microaggregate: {columns: [x], k: 5, share: 1}}", least: 2},
	{name: "rankswap", masks: "{rankswap: {columns: [x], p: 0.1}}", least: 2},
	{name: "shuffle", masks: "{shuffle: {columns: [x], on: [w]}}", least: 2},
	{name: "synthesise", masks: "{synthesise: {columns: [x], on: [w, k]}}", shared: []string{"w", "k"}},

	{name: "laplace", masks: "{noise: {columns: [x], sd: 10, distribution: laplace}}", least: 5},
	{name: "uniform", masks: "{noise: {columns: [x], sd: 10, distribution: uniform}}", least: 5},
	{name: "much noise", masks: "{noise: {columns: [x], sd: 25}}", least: 5},
	{name: "tiers", masks: "{noise: {columns: [x], sd: 8, tiers: [{above: 50, variance_factor: 4}]}}", least: 3},
	{name: "correlated noise", masks: "{noise: {columns: [x, v], sd: 60%, correlated: true}}", with: "v", least: 5},
	{name: "correlated noise, noise",
		masks: "{noise: {columns: [x, v], sd: 60%, correlated: true}}, {noise: {columns: [x], sd: 5}}", with: "v", least: 5},
	{name: "noise, where", masks: `{noise: {columns: [x], sd: 10, where: "x > 50"}}`},
	{name: "bias, where", masks: `{bias: {columns: [x], phi: 0.2, where: "x > 50"}}`},
	{name: "bias, noise", masks: "{bias: {columns: [x], range: 0.5}}, {noise: {columns: [x], sd: 8}}", least: 5},
	{name: "noise, bias", masks: "{noise: {columns: [x], sd: 8}}, {bias: {columns: [x], phi: 0.15}}", least: 5},
	{name: "noise, bias, laplace",
		masks: "{noise: {columns: [x], sd: 8}}, {bias: {columns: [x], phi: 0.15}}, {noise: {columns: [x], sd: 6, distribution: laplace}}", least: 5},
	{name: "noise, round", masks: "{noise: {columns: [x], sd: 10}}, {round: {columns: [x], base: 20}}", least: 5},
	{name: "noise, round, noise",
		masks: "{noise: {columns: [x], sd: 10}}, {round: {columns: [x], base: 10}}, {noise: {columns: [x], sd: 6}}",
		least: 5},
	{name: "laplace, coarse round",
		masks: "{noise: {columns: [x], sd: 6, distribution: laplace}}, {round: {columns: [x], base: 20}}", least: 3},
	{name: "round, noise", masks: "{round: {columns: [x], base: 10}}, {noise: {columns: [x], sd: 8}}", least: 3},
	{name: "noise, clip", masks: "{noise: {columns: [x], sd: 10}}, {truncate: {columns: [x], lower: 30}}", least: 2},
	{name: "noise, redraw", masks: "{noise: {columns: [x], sd: 10}}, {truncate: {columns: [x], lower: 30, mode: redraw}}",
		least: 2},
	{name: "bias, clip", masks: "{bias: {columns: [x], phi: 0.2}}, {truncate: {columns: [x], upper: 80}}", least: 1},
	{name: "topcode, mean", masks: "{topcode: {columns: [x], upper_percentile: 90, replace: mean}}"},
	{name: "topcode, percentile", masks: "{topcode: {columns: [x], upper_percentile: 90}}"},
	{
		name:  "swap, noise",
		masks: "{swap: {keys: [k], attribute: v, columns: [x], rate: 0.6, policy: random, scope: dataset}}, {noise: {columns: [x], sd: 10}}", shared: []string{"k"}, least: 2},
	{
		name:  "noise, swap",
		masks: "{noise: {columns: [x], sd: 10}}, {swap: {keys: [k], attribute: v, columns: [x], rate: 0.6, policy: random, scope: dataset}}", shared: []string{"k"}, least: 2},
	{name: "bias, swap with v",
		masks: "{bias: {columns: [x], phi: 0.15}}, {swap: {keys: [k], attribute: w, columns: [x, v], rate: 0.6, policy: random, scope: dataset}}", shared: []string{"k"}, least: 2},
	{name: "microaggregate, medians", masks: "{microaggregate: {columns: [x], k: 5, aggregate: median}}"},
	{name: "noise, microaggregate",
		masks: "{noise: {columns: [x], sd: 10}}, {microaggregate: {columns: [x], k: 5, share: 1}}", least: 2},
	{name: "microaggregate, noise",
		masks: "{microaggregate: {columns: [x, v], k: 5, share: 1}}, {noise: {columns: [x], sd: 10}}", least: 2},
	{name: "rankswap, ends", masks: "{rankswap: {columns: [x], p: 0.1, top: 0.05, bottom: 0.05}}", least: 2},
	{name: "noise, rankswap", masks: "{noise: {columns: [x], sd: 10}}, {rankswap: {columns: [x], p: 0.1}}", least: 2},
	{name: "rankswap, bias", masks: "{rankswap: {columns: [x], p: 0.1}}, {bias: {columns: [x], phi: 0.15}}", least: 2},
	{name: "shuffle, noise", masks: "{shuffle: {columns: [x]}}, {noise: {columns: [x], sd: 10}}", least: 2},
	{name: "synthesise, normal", masks: "{synthesise: {columns: [x], on: [w, k], method: normal}}",
		shared: []string{"w", "k"}},
	{name: "synthesise, no bounds", masks: "{synthesise: {columns: [x], on: [w, k], bounds: none}}",
		shared: []string{"w", "k"}, least: 5},
	{name: "synthesise, normal, no bounds",
		masks: "{synthesise: {columns: [x], on: [w, k], method: normal, bounds: none}}", shared: []string{"w", "k"},
		least: 5},
	{name: "synthesise, trees", masks: "{synthesise: {columns: [x], on: [w, k], method: cart}}",
		shared: []string{"w", "k"}, least: 1},
	{name: "synthesise, held out", masks: "{synthesise: {columns: [x], on: [w, k], held_out: 0.4, bounds: none}}",
		shared: []string{"w", "k"}, least: 5},
	{name: "synthesise, rule", masks: `{synthesise: {columns: [x], on: [w, k], bounds: none, rules: ["x = 0 if k < 1"]}}`,
		shared: []string{"w", "k"}},
	{name: "synthesise, noise", masks: "{synthesise: {columns: [x], on: [w, k]}}, {noise: {columns: [x], sd: 10}}"},
	{name: "noise, synthesise", masks: "{noise: {columns: [x], sd: 10}}, {synthesise: {columns: [x], on: [w, k]}}"},
	{name: "recode, noise",
		masks: `{recode: {columns: [x], breaks: [30, 40, 50, 60, 80], midpoints: true, other: "100"}}, {noise: {columns: [x], sd: 10}}`},
}

// everyParameter is what report.publish takes, but for measures.
const everyParameter = "rate, by, rates, phi, range, where, sd, distribution, tiers, correlated, lower, upper, mode, decimals, base, other, breaks, midpoints, upper_percentile, lower_percentile, replace, matrix, keep, categories, keys, k, attribute, policy, scope, method, aggregate, p, top, bottom, on, bounds, held_out"

// released runs the program once, and returns the note on x and the masks.
func (c *corrected) released(t *testing.T, shape, publish string) (noteOf, []transform.Spec) {
	t.Helper()
	dir := tempDir(t)
	p := noted(shape)
	text := []byte("x,v,w,k\n")
	for i := range p.x {
		text = append(text, fmt.Sprintf("%.2f,%.2f,%.2f,%.0f\n", p.x[i], p.v[i], p.w[i], p.k[i])...)
	}
	files := map[string]string{"x.csv": string(text), "release.key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
		"pipeline.yaml": fmt.Sprintf(`version: 1
key: {file: %[1]s/release.key}
source: {csv: {path: %[1]s/x.csv, types: {x: float64, v: float64, w: float64, k: float64}}}
columns: {x: {role: other, decimals: 2}, v: {role: other, decimals: 2}, w: {role: other, decimals: 2}, k: {role: key, decimals: 0}}
masks: [%[2]s]
sink: {csv: {path: %[1]s/out.csv}}
assess: {replicates: 2, targets: [p50], intruder: {inversion: false}}
report: {json: %[1]s/report.json, publish: [%[3]s]}
`, dir, c.masks, publish)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded,
		err := config.Load(filepath.Join(dir, "pipeline.yaml"), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Pipeline(context.Background(), loaded, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(filepath.Join(dir, "report.public.json"))
	if err != nil {
		t.Fatal(err)
	}
	return notesOf(t, public)["x"], loaded.Masks
}

// masked returns the released records of p, masked by the program under a key of its own; what a sample leaves out is
// NaN.
func (p *people) masked(t *testing.T, masks []transform.Spec, like *people, number int) *people {
	t.Helper()
	secret := make([]byte, 32)
	copy(secret, "population "+strconv.Itoa(number))
	key, err := keystream.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	n := len(p.x)
	setup := transform.Setup{Key: key, Window: n, Correlations: transform.Correlations{}, Sorted: map[string][]float64{}}
	for i, name := range peopleColumns {
		v := p.of(name)
		mean, variance := moments(like.of(name)) // so that a percentage is the amount that the note states
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: 2, SD: math.Sqrt(variance), Mean: mean})
		setup.Sorted[name] = slices.Sorted(slices.Values(v))
		for _, other := range peopleColumns[:i] {
			r := statisticsOf(v, p.of(other))["r(y, w)"]
			setup.Correlations[[2]string{other, name}], setup.Correlations[[2]string{name, other}] = r, r
		}
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	block := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, n, len(peopleColumns))
		for i, name := range peopleColumns {
			copy(b.Columns[i].Alloc(n, false).Values, p.of(name))
		}
		return b
	}
	if chain.NeedsSurvey() {
		if err := chain.Survey(block()); err != nil {
			t.Fatal(err)
		}
		if err := chain.EndSurvey(); err != nil {
			t.Fatal(err)
		}
	}
	out := block()
	if err := chain.Apply(out); err != nil {
		t.Fatal(err)
	}
	values := func(i int) []float64 {
		v := slices.Clone(out.Columns[i].Out().Values)
		for k := range v {
			if out.Rejected(k) || !out.Columns[i].Out().Valid.Has(k) {
				v[k] = math.NaN()
			}
		}
		return v
	}
	return &people{x: values(0), v: values(1), w: values(2), k: values(3)}
}

// What a note says of a statistic is so: over populations, each masked with a key of its own, the mean of the corrected
// statistic is that of the respondents within three standard errors, and a bound is one; where the note says of a
// statistic that no correction is known, it offers none. Allowed beyond is the bias of a ratio of estimates, of second
// order: at most twice the square of the SD of one estimate relative to it. Of 600 figures 1.6 are beyond three
// standard errors by chance, so that one that is must be so for as many new populations too (one in 130,000, times
// 600).
func TestCorrectionsOfPopulations(t *testing.T) {
	of := formOf(t)
	if of == small && testing.Short() {
		t.Skip("seconds")
	}
	populations := map[form]int{small: 60, short: 200, full: 2000}[of]
	const n = 500
	for at, c := range correctedChains {
		if !strings.Contains(c.name, *onlyFlag) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for i, shape := range peopleShapes {
				if of == full || i == at%len(peopleShapes) {
					note, masks := c.released(t, shape, everyParameter)
					claims := c.said(t, &note, c.least)
					silent, _ := c.released(t, shape, "") // what it still says where no parameter is published
					for other, list := range c.said(t, &silent, 0) {
						for _, claim := range list {
							if !slices.Contains(claims[other], claim) {
								claims[other] = append(claims[other], claim)
							}
						}
					}
					c.hold(t, masks, claims, shape, populations, n)
				}
			}
		})
	}
	for _, k := range transform.Kinds() {
		if k.Name == "calibrate" {
			continue // it changes weights, of which a note says nothing
		}
		if !slices.ContainsFunc(correctedChains, func(c corrected) bool {
			return c.name == k.Name && strings.Contains(c.masks, "{"+k.Name+":")
		}) {
			t.Errorf("%s: not in this test", k.Name)
		}
	}
}

// said returns what a note claims, by the other column of associations: w and k, which are not masked, and the one that
// is masked together with x. At least so many formulas are expected.
func (c *corrected) said(t *testing.T, note *noteOf, least int) map[string][]claim {
	t.Helper()
	claims := map[string][]claim{}
	others, offered := []string{"w", "k"}, 0
	if c.with != "" {
		others = append(others, c.with)
	}
	for _, other := range others {
		with := ""
		if other == c.with {
			with = other
		}
		list, unknown, err := note.claims(with, slices.Contains(c.shared, other))
		if err != nil {
			t.Fatal(err)
		}
		claims[other], offered = list, max(offered, len(list))
		for _, about := range []string{"mean(y)", "Var(y)", "r(y, w)", "b(w on y)", "b(y on w)"} {
			of := func(c claim) bool { return c.about == about || c.about == "SD(y)" && about == "Var(y)" }
			if with == "" && !slices.ContainsFunc(list, of) && !slices.Contains(unknown, about) {
				t.Errorf("of %s nothing is said", about)
			}
		}
	}
	if offered < least || c.least == 0 && offered > 1 {
		t.Errorf("%d formulas (%s), want %d", offered, note.Correction, least)
	}
	return claims
}

// hold reports the claims that are not so, in two sets of populations.
func (c *corrected) hold(t *testing.T, masks []transform.Spec, claims map[string][]claim, shape string, populations,
	n int) {
	t.Helper()
	first := c.compare(t, masks, claims, shape, 1, populations, n)
	if len(first) == 0 {
		return
	}
	for id, words := range c.compare(t, masks, claims, shape, 2, populations, n) {
		if first[id] != "" {
			t.Errorf("%s: %s: %s, and %s", shape, id, first[id], words)
		}
	}
}

// compare returns the claims that are not so in one set of populations.
func (c *corrected) compare(t *testing.T, masks []transform.Spec, claims map[string][]claim, shape string, round,
	populations, n int) (wrong map[string]string) {
	type sums struct {
		off   tally
		truth float64
	}
	found := map[string]*sums{}
	like := noted(shape)
	g := generator("populations of " + c.name + shape + strconv.Itoa(round))
	for i := range populations {
		p := drawPeople(g, shape, n)
		r := p.masked(t, masks, like, 100_000*round+i)
		for other, list := range claims {
			released := p.of(other)
			if other == c.with {
				released = r.of(other)
			}
			is, was := statisticsOf(r.x, released), statisticsOf(p.x, p.of(other))
			for _, claim := range list {
				v, err := valueOf(claim.formula, is)
				if err != nil {
					t.Fatal(err)
				}
				id := fmt.Sprintf("%s %s %s, w = %s", claim.about, claim.relation, claim.formula, other)
				if found[id] == nil {
					found[id] = &sums{}
				}
				found[id].off.add(v - was[claim.about])
				found[id].truth += was[claim.about] / float64(populations)
			}
		}
	}
	wrong = map[string]string{}
	for id, s := range found {
		off := s.off.figure()
		allowed := 3*off.se + 2*s.off.variance()/math.Abs(s.truth) + 1e-9*math.Abs(s.truth)
		words := fmt.Sprintf("off by %.4g ± %.2g of %.4g", off.value, off.se, s.truth)
		if *listFlag {
			t.Logf("%s: %s: %s", shape, id, words)
		}
		low, high := strings.Contains(id, " ≥ "), strings.Contains(id, " ≤ ")
		if !high && off.value > allowed || !low && off.value < -allowed {
			wrong[id] = words
		}
	}
	return wrong
}
