package entered_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// tables makes tables of the records of a configuration with a ledger, which is written to dir/p.yaml. Cells with fewer
// than threshold records are unsafe.
func tables(t *testing.T, dir, name, more string, threshold int) *tabling.Result {
	t.Helper()
	records := "version: 1\nname: people\nkey: {file: DIR/k1}\nidentity: [pid]\nledger: DIR/ledger\nsource: {csv: {path: DIR/in.csv}}\nsink: {csv: {path: DIR/unused.csv}}\nunlisted: drop\n" +
		"columns: {pid: {role: identifier}, region: {role: key}, wage: {role: sensitive, decimals: 2, unmasked: true}}\n"
	text := "version: 1\nname: NAME\npipeline: DIR/p.yaml\ntables:\n" +
		"  - {name: wages, rows: [region], value: wage, unsafe: [{p_percent: 10}], protect: {suppress: {}}}\n" +
		"  - {name: heads, rows: [region], unsafe: [{threshold: MIN}], protect: {suppress: {}}}\n" +
		"sink: {csv: {path: DIR/NAME.csv}}\nreport: {json: DIR/NAME.json}\n" + more
	in := strings.NewReplacer("DIR", dir, "NAME", name, "MIN", fmt.Sprint(threshold))
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(in.Replace(records)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := tabulation.Parse(name+".yaml", []byte(in.Replace(text)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	result, err := tabling.Run(t.Context(), c, pipeline.Options{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Tables of the records are entered in the ledger of their pipeline: it lists them and finds them changed, and a run on the
// records says that it does not judge what both tell. Tables that are withheld are not entered.
func TestTablesAreEntered(t *testing.T) {
	dir := records(t, 300)
	release{name: "a", masks: noise}.run(t, dir)
	result := tables(t, dir, "t", "", 3)
	if !result.Report.Gate.Passed || !slices.ContainsFunc(result.Report.Warnings, func(w string) bool { return strings.Contains(w, "are entered in the ledger") }) {
		t.Fatalf("withheld, or not said to be entered: %+v %q", result.Report.Gate, result.Report.Warnings)
	}
	if result := tables(t, dir, "u", "gate: {rules: [{min_efficiency: 1}]}\n", 70); result.Report.Gate.Passed {
		t.Fatalf("tables with hidden cells pass: %+v", result.Report.Gate)
	}
	held, err := ledger.Look(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	list := held.Tables()
	if len(list) != 1 || !list[0].Known || list[0].Number != 3 || len(held.Releases()) != 1 {
		t.Fatalf("the ledger has the tables %+v", list)
	}
	shown := entered.List(held, false, 200)
	for _, want := range []string{"3 ", " t: published", "tables of the records of people", "wages: sum of wage by region, 7 cells, protected by suppress", "heads: number of records by region, 7 cells"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the list lacks %q:\n%s", want, shown)
		}
	}
	rep := release{name: "b", masks: noise, rule: "{column: wage, target: typical, knowledge: index, min_rmse: 80}"}.run(t, dir)
	if !rep.Gate.Passed || len(rep.Ledger.Releases) != 1 || len(rep.Ledger.Tables) != 1 || rep.Ledger.Tables[0].Number != 3 {
		t.Errorf("the report has %+v", rep.Ledger)
	}
	if !slices.ContainsFunc(rep.Warnings, func(w string) bool {
		return strings.Contains(w, "together with the tables of entry 3 (t) is not judged: wages: sum of wage by region")
	}) {
		t.Errorf("the warnings are %q", rep.Warnings)
	}
	if wrong, err := entered.Compare(t.Context(), held); err != nil || len(wrong) > 0 {
		t.Errorf("compared: %q, error %v", wrong, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if wrong, err := entered.Compare(t.Context(), held); err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "is not release 3") {
		t.Errorf("changed tables: %q, error %v", wrong, err)
	}
}

// Tables of which a run was killed count as published unless their complete file lies under its temporary name.
func TestKilledTables(t *testing.T) {
	for _, c := range []struct {
		temp bool
		want int
	}{{true, 0}, {false, 1}} {
		dir := records(t, 300)
		tables(t, dir, "t", "", 3)
		path := filepath.Join(dir, "ledger")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text[:bytes.IndexByte(text, '\n')+1], 0o600); err != nil {
			t.Fatal(err)
		}
		if c.temp {
			if err := os.Rename(filepath.Join(dir, "t.csv"), filepath.Join(dir, ".t.csv.sdlfilter-tmp")); err != nil {
				t.Fatal(err)
			}
		}
		if rep := (release{name: "b", masks: noise}).run(t, dir); len(rep.Ledger.Tables) != c.want {
			t.Errorf("under a temporary name %v: %d tables count, want %d", c.temp, len(rep.Ledger.Tables), c.want)
		}
	}
}
