package entered_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// banded rewrites the source: 600 wages in ascending order, size of them in each region one after the other or, mixed,
// anywhere, and the sixth of all wages that each is in.
func banded(t *testing.T, dir string, size int, mixed bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	wages := make([]float64, 600)
	for i := range wages {
		wages[i] = 2500 + 500*rng.NormFloat64()
	}
	slices.Sort(wages)
	of := rng.Perm(600)
	text := "pid,region,age,band,wage\n"
	for i, wage := range wages {
		at := i
		if mixed {
			at = of[i]
		}
		text += fmt.Sprintf("p%d,g%d,%d,b%d,%.2f\n", i, at/size, rng.IntN(2), i/100, wage)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// counted makes tables of counts of these records, each by its rows, with cells of less than three unsafe.
func counted(t *testing.T, dir string, rows ...string) *tabling.Result {
	t.Helper()
	records := "version: 1\nname: people\nkey: {file: DIR/k1}\nidentity: [pid]\nledger: DIR/ledger\nsource: {csv: {path: DIR/in.csv}}\n" +
		"sink: {csv: {path: DIR/unused.csv}}\nunlisted: drop\ncolumns: {pid: {role: identifier}, " +
		"wage: {role: sensitive, decimals: 2, unmasked: true}, region: {role: key}, age: {role: other}, band: {role: other}}\n"
	text := "version: 1\nname: t\npipeline: DIR/p.yaml\nsink: {csv: {path: DIR/t.csv}}\nreport: {json: DIR/t.json}\ntables:\n"
	for i, row := range rows {
		text += fmt.Sprintf("  - {name: t%d, rows: %s, unsafe: [{threshold: 3}], protect: {suppress: {}}}\n", i, row)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(strings.ReplaceAll(records, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text, "DIR", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	result, err := tabling.Run(t.Context(), c, pipeline.Options{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Counts by what no release has tell of values: where all who look alike are in one sixth of the wages, whoever states
// its mean errs by far less than the noise of SD 2,000 beside wages of SD 500 leaves.
func TestCountsTellOfValues(t *testing.T) {
	racetest.Further(t)
	dir := records(t, 10)
	banded(t, dir, 4, false)
	if made := counted(t, dir, "[region, band]").Report; !made.Gate.Passed {
		t.Fatalf("withheld: %+v", made.Gate)
	}
	rep := release{name: "b", masks: "{noise: {columns: [wage], sd: 2000}}",
		rule: "{column: wage, target: typical, min_rmse: 300}, {column: wage, max_unchanged: 1}"}.run(t, dir)
	cells, original := table(t, filepath.Join(dir, "t.csv")), table(t, filepath.Join(dir, "in.csv"))
	of := map[string]string{} // of a region, the band of all of it
	for i, code := range cells["band"] {
		if code != "total" && cells["region"][i] != "total" && cells["value"][i] == "4" {
			of[cells["region"][i]] = code
		}
	}
	x, sum, n := numbersOf(original["wage"]), map[string]float64{}, map[string]float64{}
	for i, v := range x {
		sum[original["band"][i]], n[original["band"][i]] = sum[original["band"][i]]+v, n[original["band"][i]]+1
	}
	square := 0.0
	for i, v := range x {
		band := of[original["region"][i]] // a release has the regions as they are
		d := v - sum[band]/n[band]
		square += d * d / 600
	}
	reached, stated := math.Sqrt(square), float64(rmse(t, rep, assess.KnowledgeAllReleases).RMSE)
	t.Logf("± %.1f is reached, ± %.1f stated", reached, stated)
	if !(reached < 200) || !(stated < 1.05*reached) || rep.Gate.Passed || rep.Ledger.Not != "" {
		t.Errorf("± %v is stated, and ± %v reached; passes %v, %q", stated, reached, rep.Gate.Passed, rep.Ledger.Not)
	}
	alone := float64(rmse(t, rep, assess.KnowledgeRecord).RMSE)
	t.Logf("by this release ± %.1f", alone)
	if !(alone > 300) {
		t.Errorf("by this release ± %v is stated", alone)
	}
}

// Whoever has the records counts in them what tables hold back of those who look alike: that is not audited, whichever
// came first, and of tables that are such counts alone it is said.
func TestRecordsTellOfHiddenCounts(t *testing.T) {
	racetest.Further(t)
	const rule = "{column: wage, target: typical, min_rmse: 1}, {column: wage, max_unchanged: 1}"
	for name, c := range map[string]struct {
		size    int
		mixed   bool
		rows    []string
		columns string
		old, by string // in the ledger
		want    string
		warns   bool
	}{
		"hidden beside published totals": {size: 20, mixed: true, rows: []string{"[region, band]"}},
		"hidden totals":                  {size: 2, rows: []string{"[region, band]"}, want: "counts back which whoever has the records counts"},
		"by what nobody has":             {size: 2, rows: []string{"[region, band]"}, columns: "age: {role: key}"},
		"joined by the records": {size: 20, mixed: true, rows: []string{"[region, band]", "[age, band]"},
			want: "hold back are beside those of the records"},
		"of one table in the other": {size: 20, mixed: true, rows: []string{"[region, band]", "[region]"}},
		"changed":                   {size: 20, mixed: true, rows: []string{"[region, band]"}, old: `"protect":"suppress"`, by: `"protect":"cell_key"`, want: "were changed (cell_key)"},
		"with a column above": {size: 20, mixed: true, rows: []string{"[region, band]"}, old: `"columns":["region","band"]`,
			by: `"columns":["region","band","age"]`, want: "counts back which whoever has the records counts"},
		"all of it": {size: 2, rows: []string{"[region]"}, warns: true},
	} {
		dir := records(t, 10)
		banded(t, dir, c.size, c.mixed)
		if made := counted(t, dir, c.rows...).Report; !made.Gate.Passed {
			t.Fatalf("%s: withheld: %+v", name, made.Gate)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "ledger")); err != nil || !strings.Contains(string(text), `"hidden":[`) {
			t.Fatalf("%s: nothing is held back, %v", name, err)
		}
		if c.old != "" {
			rewritten(t, filepath.Join(dir, "ledger"), c.old, c.by)
		}
		rep := release{name: "b", masks: noise, rule: rule, columns: c.columns}.run(t, dir)
		if !strings.Contains(rep.Ledger.Not, c.want) || (rep.Ledger.Not == "") != (c.want == "") ||
			rep.Gate.Passed != (c.want == "") {
			t.Errorf("records after tables, %s: %q, %+v", name, rep.Ledger.Not, rep.Gate)
		}
		if got := warnsOfOpened(rep.Warnings); got != c.warns {
			t.Errorf("records after tables, %s: warns %v: %q", name, got, rep.Warnings)
		}
		if c.old != "" {
			continue
		}
		dir = records(t, 10)
		banded(t, dir, c.size, c.mixed)
		release{name: "b", masks: noise, rule: rule, columns: c.columns}.run(t, dir)
		made := counted(t, dir, c.rows...).Report
		last := made.Gate.Rules[len(made.Gate.Rules)-1]
		if made.Gate.Passed != (c.want == "") || !strings.Contains(last.Advice, c.want) {
			t.Errorf("tables after records, %s: %+v", name, made.Gate)
		}
		if got := warnsOfOpened(made.Warnings); got != c.warns {
			t.Errorf("tables after records, %s: warns %v: %q", name, got, made.Warnings)
		}
	}
}

func warnsOfOpened(warnings []string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool {
		return strings.Contains(w, "are counted, or summed up, in released records")
	})
}

// A respondent knows her own wage: of three with noise of 30 percent, the two others tell anybody of the largest to a
// fifth, and the second, beside a small third, to its 8 %. Where that is within the 10 % that the table's rule allows
// nobody, the records are not published after the table.
func TestRespondentsKnowTheirOwnBesideTotals(t *testing.T) {
	racetest.Further(t)
	for name, c := range map[string]struct {
		least   float64
		percent string // that the ledger is made to have
		passes  bool
	}{"beside a small one": {0.25, "10", false}, "of another rule": {0.25, "2", true}, "beside a large one": {0.9, "4", true}} {
		dir := records(t, 10)
		rng := rand.New(rand.NewPCG(7, 7))
		text, size := "pid,region,age,wage\n", 0.0
		for i := range 600 {
			if i%3 == 0 {
				size = math.Exp(6 + 3*rng.Float64())
			}
			wage := size * []float64{1, 0.95, c.least}[i%3]
			text += fmt.Sprintf("p%d,g%d,%d,%.2f\n", i, i/3, rng.IntN(2), wage)
		}
		if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if made := tables(t, dir, "t", "", 3).Report; !made.Gate.Passed {
			t.Fatalf("%s: withheld: %+v", name, made.Gate)
		}
		rewritten(t, filepath.Join(dir, "ledger"), `"percent":10,`, `"percent":`+c.percent+`,`)
		rep := release{name: "b", masks: "{bias: {columns: [wage], phi: 0.3}}",
			rule: "{column: wage, target: typical, min_rmse: 1}, {column: wage, max_unchanged: 1}"}.run(t, dir)
		at := slices.IndexFunc(rep.Gate.Rules, func(v assess.RuleVerdict) bool { return v.Measure == "totals" })
		if rep.Ledger.Not != "" || rep.Gate.Passed != c.passes || (at < 0) != c.passes {
			t.Errorf("%s: %q, %+v", name, rep.Ledger.Not, rep.Gate)
		}
	}
}

// Contributors that are holdings have several records each: how closely these are known together is not computed.
func TestTotalsOfHoldings(t *testing.T) {
	racetest.Further(t)
	dir := records(t, 600)
	threes(t, dir)
	made := tablesFrom(t, dir, "t", "holding: age\n", 2, "[region]",
		"version: 1\nname: people\nkey: {file: DIR/k1}\nidentity: [pid]\nledger: DIR/ledger\nsource: {csv: {path: DIR/in.csv}}\n"+
			"sink: {csv: {path: DIR/unused.csv}}\nunlisted: drop\ncolumns: {pid: {role: identifier}, "+
			"wage: {role: sensitive, decimals: 2, unmasked: true}, region: {role: key}, age: {role: other}}\n")
	if !made.Report.Gate.Passed {
		t.Fatalf("withheld: %+v", made.Report.Gate)
	}
	rep := release{name: "b", masks: noise,
		rule: "{column: wage, target: typical, min_rmse: 1}, {column: wage, max_unchanged: 1}"}.run(t, dir)
	if rep.Gate.Passed || !strings.Contains(rep.Ledger.Not, "are holdings (age)") {
		t.Errorf("%q, %+v", rep.Ledger.Not, rep.Gate)
	}
}
