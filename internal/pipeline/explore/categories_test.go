package explore

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
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// coded returns a configuration of 400 records with three categorical keys; one of them has a
// hierarchy of three levels.
func coded(t *testing.T, dir, masks, gate, section string) (*config.Pipeline, error) {
	t.Helper()
	g := rand.New(rand.NewPCG(8, 15))
	var data, tree strings.Builder
	data.WriteString("id,place,job,sex\n")
	for i := range 400 {
		fmt.Fprintf(&data, "%d,p%d,j%d,%s\n", i, min(g.IntN(9), g.IntN(9)), min(g.IntN(5), g.IntN(5)),
			[]string{"f", "m"}[g.IntN(2)])
	}
	tree.WriteString("from,to\n")
	for i := range 9 {
		fmt.Fprintf(&tree, "p%d,q%d\n", i, i/3)
	}
	for i := range 3 {
		fmt.Fprintf(&tree, "q%d,all\n", i)
	}
	for name, text := range map[string]string{"in.csv": data.String(), "tree.csv": tree.String(),
		"k": "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := `version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
columns: {place: {role: key}, job: {role: key}, sex: {role: key}}
unlisted: drop
masks: ` + masks + `
sink: {csv: {path: DIR/out.csv}}
assess: {replicates: 30, intruder: {uniqueness: {}INVERSION}}
gate: {rules: [` + gate + `]}
map: ` + section + `
`
	inversion := ""
	if strings.Contains(gate, "max_posterior") {
		inversion = ", inversion: true"
	}
	text = strings.ReplaceAll(text, "INVERSION", inversion)
	path := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path, config.Options{Environ: func() []string { return nil }})
}

// Over the probability to keep, the level of a hierarchy, and k: utility changes with the parameter
// in the expected direction, a rule of either kind divides the points, a run with the recommended
// point passes, and a run with the best point outside the rule is refused.
func TestMapsOfCategories(t *testing.T) {
	for _, c := range []struct {
		name, masks, gate, vary, wants string
		rises                          bool // U as a function of the parameter
		drawn                          bool
	}{
		{"keep", "[{pram: {columns: [job], categories: [j0, j1, j2, j3, j4], keep: 0.8}}]",
			"{max_individual_risk: 1}, {max_changed: 0.25}",
			"categories: [job], vary: {masks.0.pram.keep: {from: 0.5, to: 0.95, steps: 4}}", "", true, true},
		{"posterior", "[{pram: {columns: [job], categories: [j0, j1, j2, j3, j4], keep: 0.8}}]",
			"{max_posterior: 0.85}, {max_individual_risk: 1}",
			"categories: [job], vary: {masks.0.pram.keep: {from: 0.5, to: 1, steps: 6}}", "", true, true},
		{"keep before suppress",
			"[{pram: {columns: [job], categories: [j0, j1, j2, j3, j4], keep: 0.8}}, {suppress: {keys: [place, job, sex], k: 3}}]", "{max_entropy_lost: 0.9}, {min_k: 3}",
			"categories: [job], vary: {masks.0.pram.keep: {from: 0.5, to: 0.95, steps: 4}}", "", true, true},
		{"level", "[{recode: {columns: [place], file: DIR/tree.csv, level: 1}}]", "{max_individual_risk: 0.4}",
			"categories: [place], vary: {masks.0.recode.level: {from: 1, to: 2}}", "re-identification", false, false},
		{"k", "[{suppress: {keys: [place, job, sex], k: 2}}]", "{min_k: 4}, {max_entropy_lost: 0.9}",
			"categories: [place, job, sex], vary: {masks.0.suppress.k: {from: 2, to: 8}}", "fit the keys", false, false},
		{"k with a rule on pMSE", "[{suppress: {keys: [place, job, sex], k: 2}}]",
			"{max_pmse: 0.25}, {max_individual_risk: 0.3}",
			"categories: [place, sex], vary: {masks.0.suppress.k: {from: 2, to: 8}}", "re-identification", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p, err := coded(t, dir, c.masks, c.gate, "{"+c.vary+"}")
			if err != nil {
				t.Fatal(err)
			}
			m := mapOf(t, p)
			for i, q := range m.Points {
				if i > 0 && (q.U > m.Points[i-1].U) != c.rises {
					t.Errorf("U of points %d and %d is %v and %v, want it to rise or fall as the case says", i-1, i, m.Points[i-1].U,
						q.U)
				}
				if !(q.Efficiency >= 0 && q.Efficiency <= 1) || float64(q.Efficiency) != float64(q.U/m.U0) ||
					math.IsNaN(float64(q.USE)) == (c.drawn && q.Efficiency < 1) {
					t.Errorf("point %d has a wrong efficiency or standard error: %+v", i, q)
				}
			}
			if m.Recommended == nil || len(m.Unjudged) > 0 || !m.Recommended.AsRun {
				t.Fatalf("recommended is %+v with the unjudged rules %v, want a point judged as by a run: %s", m.Recommended,
					m.Unjudged, m.Reason)
			}
			if rep := ranOn(t, dir, p, m.Points[m.Recommended.Point]); !rep.Gate.Passed {
				t.Errorf("a run of the recommended point is refused: %+v", rep.Gate)
			}
			if c.wants == "" {
				return
			}
			first := m.Points[0] // with the greatest utility
			if first.Admissible || !strings.Contains(m.Rules[first.Broken[0].Rule].String(), c.wants) {
				t.Fatalf("the first point must break the rule: %+v", first)
			}
			if rep := ranOn(t, dir, p, first); rep.Gate.Passed {
				t.Error("the gate passes a run of the first point, which breaks a rule on the map")
			}
		})
	}
}

// U against brute force, without random draws: I(X;Y) as the sum over pairs of categories in the
// file that a run writes.
func TestMapOfCategoriesIsTheReleases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := coded(t, dir, "[{recode: {columns: [place], file: DIR/tree.csv, level: 1}}]", "{max_individual_risk: 1}",
		"{categories: [place], vary: {masks.0.recode.level: {from: 1, to: 2}}}")
	if err != nil {
		t.Fatal(err)
	}
	m := mapOf(t, p)
	for i := range m.Points {
		ranOn(t, dir, p, m.Points[i])
		pair, x, y, n := map[[2]string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
		before, after := cellsOf(t, filepath.Join(dir, "in.csv"), 1), cellsOf(t, filepath.Join(dir, "out.csv"), 0)
		for i, v := range before {
			pair[[2]string{v, after[i]}]++
			x[v]++
			y[after[i]]++
			n++
		}
		information := 0.0
		for k, c := range pair {
			information += c / n * math.Log2(c*n/(x[k[0]]*y[k[1]]))
		}
		if math.Abs(information-float64(m.Points[i].U)) > 1e-9 {
			t.Errorf("U is %v on the map and %v by the release", m.Points[i].U, information)
		}
	}
}

func cellsOf(t *testing.T, path string, column int) (cells []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		cells = append(cells, strings.Split(line, ",")[column])
	}
	return cells
}

// Impossible maps of categories are refused, with their place.
func TestMapsOfNoCategories(t *testing.T) {
	const masks, vary = "[{suppress: {keys: [place, sex], k: 2}}]", "vary: {masks.0.suppress.k: {from: 2, to: 3}}"
	for section, want := range map[string]string{
		"{categories: [], " + vary + "}":                  "map.categories: must name at least one column",
		"{categories: [job], " + vary + "}":               "map.categories[0]: must be a column that is masked",
		"{categories: [sex, sex], " + vary + "}":          "map.categories[1]: must not repeat",
		"{categories: [sex], column: sex, " + vary + "}":  "map.column: must be left out with categories",
		"{categories: [sex], by: [job], " + vary + "}":    "map.by: must be left out with categories",
		"{categories: [nowhere], " + vary + "}":           "map.categories[0]: ",
		"{categories: [sex], " + vary + ", search: true}": "",
	} {
		p, err := coded(t, t.TempDir(), masks, "{min_k: 2}", section)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", section, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s (configuration parsed: %v)", section, err, want, p != nil)
		}
	}
	// A rule about information loss, but no key is masked.
	p, err := coded(t, t.TempDir(), "[{suppress: {keys: [place, sex], k: 2}}]", "{max_changed: 0.5}",
		"{categories: [sex], "+vary+"}")
	if err != nil {
		t.Fatal(err)
	}
	p.Masks = nil
	p.Map.Categories, p.Map.Vary = nil, nil
	var problems config.Errors
	if _, err := Map(context.Background(), p, pipeline.Options{}); !errors.As(err, &problems) {
		t.Errorf("without a masked key: error %v, want config.Errors", err)
	}
}

// A search returns the greatest integer k within the allowed loss.
func TestSearchOverCategories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := coded(t, dir, "[{suppress: {keys: [place, job, sex], k: 2}}]", "{max_individual_risk: 0.2}",
		"{categories: [place], search: true, vary: {masks.0.suppress.k: {from: 2, to: 40}}}")
	if err != nil {
		t.Fatal(err)
	}
	m := mapOf(t, p)
	const axis = "masks.0.suppress.k"
	if m.Recommended == nil {
		t.Fatal(m.Reason)
	}
	best := m.Points[m.Recommended.Point].Parameters[axis]
	if !slices.ContainsFunc(m.Points, func(q rumap.Point) bool { return q.Parameters[axis] == best-1 && !q.Admissible }) {
		t.Errorf("k = %v is recommended, but no point with k = %v is inadmissible", best, best-1)
	}
}

// A sample does not give the greatest risk of a record, because that record may not be in it.
// Quantities of all records are given.
func TestGreatestRiskOfASampleIsNotTold(t *testing.T) {
	for sampled, want := range map[bool]float64{false: 0.5, true: math.NaN()} {
		c := categoryPoint{bits: 3, squaredBits: 5, all: 2, replicates: 2}
		for _, r := range []float64{0.4, 0.6} {
			c.risk[0].add(r)
			c.risk[1].add(r / 2)
		}
		var p rumap.Point
		c.put(&p, sampled)
		most, any := p.Risk[0], p.Risk[1]
		if got := float64(most.R); got != want && !(got != got && want != want) || sampled != math.IsNaN(float64(most.RSE)) ||
			most.Target != rumap.TargetMax {
			t.Errorf("sampled %v: greatest risk is %+v, want %v", sampled, most, want)
		}
		if math.Abs(float64(any.R)-0.25) > 1e-12 || math.IsNaN(float64(any.R)) || any.Sampled != sampled ||
			p.Sampled != sampled {
			t.Errorf("sampled %v: mean risk is %+v, want 0.25", sampled, any)
		}
	}
}

// The efficiency is the share of what there is to tell, never more than all of it, and all of it where
// there is nothing to tell.
func TestEfficiencyOfCategories(t *testing.T) {
	for _, c := range []struct{ bits, all, want float64 }{{0, 0, 1}, {3, 2, 0.75}, {4, 2, 1}, {4 + 1e-9, 2, 1},
		{0, 2, 0}} {
		var p rumap.Point
		(&categoryPoint{bits: c.bits, all: c.all, replicates: 2}).put(&p, false)
		if float64(p.Efficiency) != c.want || p.EfficiencyGate != p.Efficiency || float64(p.U) != c.bits/2 {
			t.Errorf("%v of 2 × %v bits: point %+v, want the efficiency %v", c.bits, c.all, p, c.want)
		}
	}
}
