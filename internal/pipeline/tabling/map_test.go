package tabling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// mappedFirms writes records of firms with regions and sizes, some with few firms, and the key.
func mappedFirms(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(16, 70))
	var b strings.Builder
	b.WriteString("id,region,size,turnover,w,asked\n")
	for i := range 160 {
		region := []string{"n", "e", "s", "w"}[min(int(rng.ExpFloat64()*1.4), 3)]
		size := []string{"small", "medium", "big"}[min(int(rng.ExpFloat64()*1.1), 2)]
		request := ""
		if i%9 == 0 {
			request = "true"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%d,%d,%s\n", i, region, size, 1+int(math.Exp(2+1.5*rng.NormFloat64())), 1+rng.IntN(3),
			request)
	}
	write(t, dir, "in.csv", b.String())
	write(t, dir, "key", testKey+"\n")
}

const firmTables = `version: 1
source: {csv: {path: %s/in.csv}}
SETTINGS
tables:
  - {name: a, rows: [region, size], VALUE unsafe: [RULE], protect: {suppress: {}}}
  - {name: b, rows: [size], VALUE unsafe: [RULE], protect: {suppress: {}}}
  - {name: other, rows: [region], value: w, unsafe: [{threshold: 2}], protect: {suppress: {}}}
gate: {rules: [GATE]}
sink: {csv: {path: %s/out.csv}}
`

func mapOf(t *testing.T, dir, text string) (*tablemap.Map, *tabulation.Config, error) {
	t.Helper()
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Map(context.Background(), c, pipeline.Options{Version: "test", Log: zerolog.Nop()})
	return m, c, err
}

// For any rule and gate, a point is admissible if and only if a run of the configuration with its
// protection is published. Its risk is the greatest risk of the run's tables. So the recommended
// point is published.
func TestPointsAreJudgedAsRunsAre(t *testing.T) {
	racetest.Further(t)
	const keyed = "key: {file: %s/key}\nidentity: [id]\n"
	const all = "map: {table: a, methods: [{suppress: {cost: [unit, log], zeros: [never, may]}}, {round: {base: [2, 3, 6], mode: [controlled, small, random, nearest]}}, {cell_key: {max: [2, 4], variance: [0.6, 2.5], least: [0, 2]}}]}"
	const values = "map: {table: b, methods: [{suppress: {cost: [unit, value, log], interval: [{percent: 30}, {percent: 60}, {percent: 300}]}}]}"
	recommended, refused, admitted := 0, 0, 0
	for _, c := range []struct{ rule, value, settings, gate string }{
		{"{threshold: 4}", "", keyed + all, "{max_risk: 0.8}"},
		{"{threshold: 4}", "", keyed + all, "{min_range: rule}"},
		{"{threshold: 3}", "", keyed + all, "{table: a, max_risk: 0.95}, {table: b, max_risk: 0.9}, {min_utility: 0.3}"},
		{"{threshold: 9}", "", keyed + all, "{max_risk: 1.1}, {min_efficiency: 0.2}, {max_disclosed: 0}"},
		{"{threshold: 3}", "value: turnover,", values, "{max_risk: 0.25}"},
		{"{p_percent: 20}", "value: turnover,", values, "{max_risk: 0.4}, {min_efficiency: 0.3}"},
		{"{p_percent: 20}", "value: turnover, weight: w,", values, "{max_risk: 0.3}"},
		{"{pq: [20, 60]}", "value: turnover,", values, "{min_range: rule}, {min_utility: 1e-9}"},
		{"{dominance: [1, 50]}", "value: turnover,", values, "{max_risk: 0.3}"},
		{"{request: 15}", "value: turnover,", "request: asked\n" + values, "{max_risk: 0.5}"},
		{"{threshold: 3}, {dominance: [2, 80]}, {p_percent: 5}", "value: turnover,", values,
			"{table: a, min_range: rule}, {table: b, min_range: rule}"},
	} {
		dir := t.TempDir()
		mappedFirms(t, dir)
		text := strings.NewReplacer("RULE", c.rule, "VALUE", c.value, "SETTINGS", c.settings, "GATE",
			c.gate).Replace(firmTables)
		m, tabulation, err := mapOf(t, dir, text)
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		candidates, _, err := tabulation.Candidates()
		if err != nil || len(candidates) != len(m.Points) || !m.Points[0].Configured || len(m.Rules) == 0 {
			t.Fatalf("%s: the map has %d points of %d candidates (error %v)", c.rule, len(m.Points), len(candidates), err)
		}
		best := -1.0
		for i := range m.Points {
			p := &m.Points[i]
			applied, err := tabulation.Protected(&candidates[i])
			if err != nil {
				t.Fatal(err)
			}
			res, err := run(t, dir, string(applied))
			var wrong config.Errors
			if errors.As(err, &wrong) != (p.Impossible != "") || err != nil && wrong == nil {
				t.Fatalf("%s, %s: a run returns %v; the map has the point impossible because of %q", c.rule, p.Setting, err,
					p.Impossible)
			}
			if p.Impossible != "" {
				continue
			}
			passed := res.Report.Gate.Passed
			if passed != p.Admissible {
				t.Errorf("%s, %s: a run is withheld because %q; the map has admissible %v, failed rules %q", c.rule, p.Setting,
					res.Report.Withheld, p.Admissible, p.Broken)
			}
			if passed {
				admitted++
				best = max(best, float64(p.U))
			} else {
				refused++
			}
			if a, b := res.Report.Tables[0], res.Report.Tables[1]; p.R != max(a.Risk, b.Risk) ||
				p.Error != min(a.Error, b.Error) || p.Unsafe < a.Primary || p.HeldBack != res.Report.Families[0].Hidden {
				t.Errorf("%s, %s: the point is %+v, the tables of a run %+v and %+v", c.rule, p.Setting, p, a, b)
			}
		}
		switch {
		case m.Recommended != nil:
			recommended++
			if p := m.Points[*m.Recommended]; !p.Admissible || float64(p.U) != best {
				t.Errorf("%s: recommended is %+v, the greatest utility is %v", c.rule, p, best)
			}
		case best >= 0 || m.Reason == "":
			t.Errorf("%s: no point is recommended (reason: %s)", c.rule, m.Reason)
		}
	}
	if recommended < 8 || refused < 40 || admitted < 40 {
		t.Errorf("%d maps with a recommendation, %d points refused, %d admitted", recommended, refused, admitted)
	}
}

// Nothing is recommended without a limit on the risk, if other tables would be withheld, if a time
// limit may end the search differently, or if no method is admissible.
func TestNothingIsRecommended(t *testing.T) {
	for _, c := range []struct {
		name, gate, settings, want string
		replace                    []string
	}{
		{name: "no limit", gate: "{min_utility: 0.1}", want: "the gate has no limit of risk"},
		{name: "a limit of one table", gate: "{table: a, max_risk: 1}", want: "the gate has no limit of risk"},
		{name: "other tables", gate: "{max_risk: 1.2}",
			replace: []string{"{threshold: 2}], protect: {suppress: {}}", "{threshold: 90}], protect: {none: {}}"},
			want:    "other tables of the configuration would be withheld: other: "},
		{name: "patience", gate: "{min_range: rule}", settings: "map: {table: a, methods: [{suppress: {}}]}",
			replace: []string{"unsafe: [{threshold: 4}], protect: {suppress: {}}",
				"unsafe: [{threshold: 4}], protect: {suppress: {patience: 1ns}}"}, want: "each was cut short by patience"},
		{name: "too strict", gate: "{max_risk: 0.01}", want: "at no point holds: a: risk at most 0.01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			mappedFirms(t, dir)
			settings := c.settings
			if settings == "" {
				settings = "map: {table: b, methods: [{suppress: {}}, {round: {base: [3], mode: [small]}}]}"
			}
			text := strings.NewReplacer("RULE", "{threshold: 4}", "VALUE", "", "SETTINGS", settings, "GATE",
				c.gate).Replace(firmTables)
			m, _, err := mapOf(t, dir, strings.NewReplacer(c.replace...).Replace(text))
			if err != nil {
				t.Fatal(err)
			}
			if m.Recommended != nil || !strings.Contains(m.Reason, c.want) {
				t.Errorf("recommended %v, reason %q, want none and %q", m.Recommended, m.Reason, c.want)
			}
		})
	}
}

// Errors in the records or in a list end the map, for every method, and so does the end of the
// context.
func TestFaultsEndAMap(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	mappedFirms(t, dir)
	text := strings.NewReplacer("RULE", "{threshold: 4}", "VALUE", "apriori: %s/none.csv,", "SETTINGS", "map: {table: a}",
		"GATE", "{max_risk: 1}").Replace(firmTables)
	var wrong config.Errors
	if _, _, err := mapOf(t, dir, text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "tables[0].apriori") {
		t.Errorf("the error is %v", err)
	}
	c,
		err := tabulation.Parse("t.yaml",
		[]byte(strings.ReplaceAll(strings.ReplaceAll(text, "apriori: %s/none.csv,", ""), "%s", dir)), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := Map(ctx, c, pipeline.Options{Log: zerolog.Nop()}); !errors.Is(err, stop) &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// Records without an identity would be in the tables of some methods and not of others.
func TestMapDemandsAnIdentityOfEachRecord(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	people(t, dir, append(drawPeople(rand.New(rand.NewPCG(16, 71)), 100), ",n1,f,10", ",s1,m,20"))
	text := "unknown: drop\nmap: {METHODS}\ngate: {rules: [{max_risk: 2}]}\n" +
		strings.ReplaceAll(cellKeyTables, "cell_key: {max: 3, variance: 1.5, respondents: ignore}", "suppress: {}")
	if _, _, err := mapOf(t, dir, strings.Replace(text, "METHODS", "", 1)); err == nil ||
		!strings.Contains(err.Error(), "identity: 2 records of no identity: methods that need none") {
		t.Errorf("the error is %v", err)
	}
	m, _,
		err := mapOf(t, dir,
		strings.Replace(text, "METHODS", "methods: [{suppress: {}}, {round: {base: [3], mode: [small]}}]", 1))
	if err != nil || m.Records != 102 {
		t.Errorf("methods without keys: error %v, map %+v, want 102 records", err, m)
	}
}
