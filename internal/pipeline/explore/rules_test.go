package explore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// judgedBy returns data with keys of every kind, and a gate: n skewed incomes in ascending order
// (so the order of the file reveals them), debts, ages and two categorical keys.
type judgedBy struct {
	n      int
	sample string
	masks  string
	assess string // further lines of the section
	gate   string
	vary   string
	bad    int // records that cannot be masked
}

const (
	plainMasks = "[{noise: {columns: [income, debt], sd: 20%}}, {noise: {name: ages, columns: [age], sd: 5}}]"
	plainVary  = "{masks.0.noise.sd: {from: 1%, to: 101%, steps: 11}}"
)

func (j judgedBy) load(t *testing.T, dir string) *config.Pipeline {
	t.Helper()
	g := rand.New(rand.NewPCG(3, uint64(j.n)))
	incomes := make([]float64, j.n)
	for i := range incomes {
		incomes[i] = 500 * math.Exp(0.8*g.NormFloat64())
	}
	slices.Sort(incomes)
	var data strings.Builder
	data.WriteString("income,debt,age,region,kind\n")
	for i, x := range incomes {
		shown := fmt.Sprintf("%.1f", x)
		if i < j.bad {
			shown = "NaN"
		}
		fmt.Fprintf(&data, "%s,%.1f,%d,r%d,k%d\n", shown, 300*math.Exp(0.5*g.NormFloat64()), 20+g.IntN(60), g.IntN(3),
			g.IntN(4))
	}
	for name, text := range map[string]string{"in.csv": data.String(),
		"k": "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := `version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv, types: {income: float64}}}
columns: {income: {role: sensitive, decimals: 1}, debt: {role: sensitive, decimals: 1}, age: {role: key, decimals: 0}, region: {role: key}, kind: {role: key}}
masks: ` + j.masks + `
sink: {csv: {path: DIR/out.csv}}
assess: {replicates: 40, targets: [p10, max], sample: ` + j.sample + j.assess + `}
gate: ` + j.gate + `
map: {column: income, vary: ` + j.vary + `}
`
	path := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := config.Load(path, config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ranOn runs a configuration with the parameters of a point of its map.
func ranOn(t *testing.T, dir string, p *config.Pipeline, point rumap.Point) *report.Report {
	t.Helper()
	text, err := p.Rewritten(point.Strategy, point.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "applied.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	applied, err := config.Load(path, config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := filejob.Run(context.Background(), applied, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Report
}

const keys = ", keys: [income, age, region, kind]"

// For every kind of rule, at any place among others, and for a sample of all records or of some: a
// run with the recommended point passes the gate, and a run with a point of greater utility does
// not.
func TestRecommendedPassesEveryKindOfRule(t *testing.T) {
	racetest.Further(t)
	other := "{column: income, min_efficiency: 0.05}"
	last := "{column: income, target: p10, knowledge: index, min_rmse: 1}"
	for i, c := range []struct {
		name, rule string
		assess     string
		whole      bool // it uses all records
		masks      string
		wants      string // the text for the rule that a point of greater utility breaks
	}{
		{name: "linkage", rule: "{max_linked: 0.1}", assess: keys, wants: "found by linkage"},
		{name: "Bayes", rule: "{max_correct_links: 10}", assess: ", keys: [income, age], intruder: {targets: 100, bayes: {}}",
			wants: "Bayesian"},
		{name: "k", rule: "{min_k: 2}", assess: ", keys: [region, kind]", whole: true},
		{name: "individual risk", rule: "{max_individual_risk: 0.6}", assess: ", keys: [region, kind]", whole: true},
		{name: "unchanged", rule: "{column: income, max_unchanged: 0.002}", assess: "", wants: "equal to the original"},
		{name: "another column", rule: "{column: debt, target: typical, knowledge: index, min_rmse: 60}", assess: "",
			wants: "debt: RMSE"},
		{name: "another column's efficiency", rule: "{column: debt, min_efficiency: 0.9}", assess: ""},
		{name: "order", rule: "{column: income, knowledge: order, min_rmse: 5}", assess: ""},
		{name: "inversion", rule: "{column: income, target: typical, knowledge: index, min_rmse: 5}",
			assess: ", keys: [income], intruder: {inversion: true}", whole: true},
	} {
		for _, n := range []int{120, 1500} {
			for place, rules := range []string{c.rule, c.rule + ", " + other, other + ", " + c.rule,
				other + ", " + last + ", " + c.rule} {
				switch {
				case n > 120 && place == 1:
					continue
				case !testing.Short():
				case (n > 120) != (!c.whole && i%2 == 0), place != 3*(i/2%2):
					continue // a size and a place, the first or the last, by turns
				}
				sample := "500"
				if c.whole {
					sample = "all"
				}
				t.Run(fmt.Sprintf("%s/%d/%d", c.name, n, place), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					masks := plainMasks
					if c.masks != "" {
						masks = c.masks
					}
					p := judgedBy{n: n, sample: sample, masks: masks, assess: c.assess, gate: "{rules: [" + rules + "]}",
						vary: plainVary}.load(t, dir)
					m := mapOf(t, p)
					if m.Recommended == nil {
						t.Fatalf("nothing is recommended: %s", m.Reason)
					}
					best := m.Points[m.Recommended.Point]
					if len(m.Unjudged)+len(best.Unjudged) > 0 || !m.Recommended.AsRun {
						t.Errorf("the recommended point has unjudged rules: %q and %q", m.Unjudged, best.Unjudged)
					}
					if rep := ranOn(t, dir, p, best); !rep.Gate.Passed {
						t.Errorf("a run with the recommended parameters %v is refused: %+v", best.Parameters, rep.Gate.Rules)
					}
					if c.wants == "" {
						return
					}
					better := slices.IndexFunc(m.Points, func(q rumap.Point) bool {
						return q.U > best.U && slices.ContainsFunc(q.Broken, func(b rumap.Broken) bool {
							return strings.Contains(m.Rules[b.Rule].String(), c.wants)
						})
					})
					if better < 0 {
						t.Fatalf("no point of greater utility breaks the rule; the first point is %+v", m.Points[0])
					}
					// A point far outside the limit is refused by a run too.
					if rep := ranOn(t, dir, p, m.Points[0]); rep.Gate.Passed {
						t.Errorf("the point %v is inadmissible on the map, but the gate passes a run with it", m.Points[0].Parameters)
					}
				})
			}
		}
	}
}

// If no point can satisfy the rules, the map says so and recommends nothing.
func TestNothingIsRecommendedThatARunRefuses(t *testing.T) {
	racetest.Further(t)
	fine := "{column: income, min_efficiency: 0.01}"
	for name, c := range map[string]struct {
		judgedBy
		reason string
	}{
		"linkage without an allowed link": {
			judgedBy{n: 120, sample: "all", assess: keys, gate: "{rules: [{max_linked: 0}, {min_k: 3}]}"}, "found by linkage"},
		"k": {
			judgedBy{n: 120, sample: "all", assess: keys, gate: "{rules: [" + fine + ", {min_k: 100}]}"},
			"fit the keys of every respondent"},
		"k of a sample": {
			judgedBy{n: 1500, sample: "500", assess: keys, gate: "{rules: [" + fine + ", {min_k: 3}]}"},
			"it could not be measured"},
		"individual risk": {
			judgedBy{n: 120, sample: "all", assess: keys, gate: "{rules: [{max_individual_risk: 0.001}, " + fine + "]}"},
			"re-identification"},
		"lost records": {
			judgedBy{n: 120, sample: "all", assess: "", gate: "{rules: [" + fine + "]}", bad: 12}, "quarantine"},
		"lost records with a limit": {
			judgedBy{n: 120, sample: "all", assess: "", gate: "{max_quarantined: 2%, rules: [" + fine + "]}", bad: 12},
			"at most 2 %"},
		"inversion": {
			judgedBy{n: 120, sample: "all", assess: ", keys: [income], intruder: {inversion: true}",
				gate:  "{rules: [" + fine + "]}",
				masks: "[{bias: {columns: [income], phi: 0.0001}}, {noise: {columns: [debt], sd: 5}}, {noise: {columns: [age], sd: 5}}]", vary: "{masks.0.bias.phi: {from: 0.000001, to: 0.0001, steps: 3}}"}, "computed back"},
		"unchanged values without a rule": {
			judgedBy{n: 120, sample: "all", assess: ", intruder: {inversion: false}", gate: "{rules: [" + fine + "]}",
				masks: "[{noise: {columns: [income], sd: 0.01}}, {round: {columns: [income], base: 0.1}}, {noise: {columns: [debt], sd: 5}}]", vary: "{masks.0.noise.sd: {from: 0.001, to: 0.01, steps: 3}}"}, "than the masks explain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.masks == "" {
				c.masks = plainMasks
			}
			if c.vary == "" {
				c.vary = plainVary
			}
			p := c.load(t, dir)
			m := mapOf(t, p)
			if m.Recommended != nil {
				rep := ranOn(t, dir, p, m.Points[m.Recommended.Point])
				t.Fatalf("want no recommendation, got %v (the gate passes a run with it: %v)",
					m.Points[m.Recommended.Point].Parameters, rep.Gate.Passed)
			}
			if !strings.Contains(m.Reason, c.reason) {
				t.Errorf("the reason is %q, want %q in it", m.Reason, c.reason)
			}
			if rep := ranOn(t, dir, p, m.Points[len(m.Points)-1]); rep.Gate.Passed {
				t.Error("the gate passes a run of the last point")
			}
		})
	}
}
