package entered_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// tables makes tables of the records of a configuration with a ledger, which is written to dir/p.yaml. Cells with fewer
// than threshold records are unsafe.
func tables(t *testing.T, dir, name, more string, threshold int) *tabling.Result {
	t.Helper()
	return tablesOf(t, dir, name, more, threshold, "", "wage: {role: sensitive, decimals: 2, unmasked: true}")
}

// tablesOf is tables of records with masks, whose column wage is given.
func tablesOf(t *testing.T, dir, name, more string, threshold int, masks, wage string) *tabling.Result {
	t.Helper()
	records :=
		"version: 1\nname: people\nkey: {file: DIR/k1}\nidentity: [pid]\nledger: DIR/ledger\nsource: {csv: {path: DIR/in.csv}}\nsink: {csv: {path: DIR/unused.csv}}\nunlisted: drop\n" +
			"columns: {pid: {role: identifier}, " + wage + ", region: {role: key}}\n" + masks
	return tablesFrom(t, dir, name, more, threshold, "[region]", records)
}

// tablesBy is tables of a table of wages by some rows, whose columns are region and age.
func tablesBy(t *testing.T, dir, name, rows string) *tabling.Result {
	t.Helper()
	return tablesFrom(t, dir, name, "", 3, rows,
		"version: 1\nname: people\nkey: {file: DIR/k1}\nidentity: [pid]\nledger: DIR/ledger\nsource: {csv: {path: DIR/in.csv}}\n"+
			"sink: {csv: {path: DIR/unused.csv}}\nunlisted: drop\ncolumns: {pid: {role: identifier}, "+
			"wage: {role: sensitive, decimals: 2, unmasked: true}, region: {role: key}, age: {role: other}}\n")
}

// tablesFrom is tables by some rows, from the records of a pipeline.
func tablesFrom(t *testing.T, dir, name, more string, threshold int, rows, records string) *tabling.Result {
	t.Helper()
	text := "version: 1\nname: NAME\npipeline: DIR/p.yaml\ntables:\n" +
		"  - {name: wages, rows: ROWS, value: wage, unsafe: [{p_percent: 10}], protect: {suppress: {}}}\n" +
		"  - {name: heads, rows: ROWS, unsafe: [{threshold: MIN}], protect: {suppress: {}}}\n" +
		"sink: {csv: {path: DIR/NAME.csv}}\nreport: {json: DIR/NAME.json, cells: DIR/NAME.cells.csv}\n" + more
	in := strings.NewReplacer("DIR", dir, "NAME", name, "MIN", fmt.Sprint(threshold), "ROWS", rows)
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(in.Replace(records)), 0o600); err != nil {
		t.Fatal(err)
	}
	c,
		err := tabulation.Parse(name+".yaml", []byte(in.Replace(text)), config.Options{Environ: func() []string {
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := tabling.Run(t.Context(), c, pipeline.Options{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Tables of the records are entered in the ledger of their pipeline: it lists them and finds them changed, and a run on
// the records says that it does not judge what both tell. Tables that are withheld are not entered.
func TestTablesAreEntered(t *testing.T) {
	dir := records(t, 300)
	release{name: "a", masks: noise}.run(t, dir)
	const allowed = "gate: {allow_records: [a]}\n"
	result := tables(t, dir, "t", allowed, 3)
	if !result.Report.Gate.Passed || !slices.ContainsFunc(result.Report.Warnings, func(w string) bool {
		return strings.Contains(w, "are entered in the ledger")
	}) {
		t.Fatalf("withheld, or not said to be entered: %+v %q", result.Report.Gate, result.Report.Warnings)
	}
	if result := tables(t, dir, "u", "gate: {allow_records: [a], rules: [{min_efficiency: 1}]}\n",
		70); result.Report.Gate.Passed {
		t.Fatalf("tables with hidden cells pass: %+v", result.Report.Gate)
	}
	held, err := ledger.Look(t.Context(), filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	list := held.Tables()
	if len(list) != 1 || !list[0].Known || list[0].Number != 3 || len(held.Releases()) != 1 {
		t.Fatalf("the ledger has the tables %+v", list)
	}
	shown := entered.List(held, false, 200)
	for _, want := range []string{"3 ", " t: published", "tables of the records of people",
		"wages: sum of wage by region, 7 cells, protected by suppress", "heads: number of records by region, 7 cells"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the list lacks %q:\n%s", want, shown)
		}
	}
	rep := release{name: "b", masks: noise,
		rest: "gate: {allow_tables: [t], rules: [{column: wage, target: typical, knowledge: index, min_rmse: 80}]}\n"}.run(t,
		dir)
	if !rep.Gate.Passed || len(rep.Ledger.Releases) != 1 || len(rep.Ledger.Tables) != 1 ||
		rep.Ledger.Tables[0].Number != 3 {
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
	if wrong, err := entered.Compare(t.Context(), held); err != nil || len(wrong) != 1 ||
		!strings.Contains(wrong[0], "is not release 3") {
		t.Errorf("changed tables: %q, error %v", wrong, err)
	}
}

// Tables of which a run was killed count as published unless their complete file lies under its temporary name.
func TestKilledTables(t *testing.T) {
	racetest.Alone(t)
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

// threes rewrites the source: each region has three records.
func threes(t *testing.T, dir string) {
	t.Helper()
	of := table(t, filepath.Join(dir, "in.csv"))
	var text strings.Builder
	text.WriteString("pid,region,age,tax,wage\n")
	for i := range of["pid"] {
		fmt.Fprintf(&text, "%s,g%d,%s,%s,%s\n", of["pid"][i], i/3, of["age"][i], of["tax"][i], of["wage"][i])
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// byTotals is the root mean squared error of somebody who has the records of a release and a table of totals: the
// released wage, and a third of what the total of its region is more than those of the released wages.
func byTotals(t *testing.T, dir, name, totals string) float64 {
	t.Helper()
	original, released, of := table(t, filepath.Join(dir, "in.csv")), table(t, filepath.Join(dir, name+".csv")),
		table(t, filepath.Join(dir, totals+".csv"))
	total := map[string]float64{}
	value := numbersOf(of["value"])
	for i, code := range of["region"] {
		if of["table"][i] == "wages" {
			total[code] = value[i]
		}
	}
	x, y := numbersOf(original["wage"]), numbersOf(released["wage"])
	sum, square, n := map[string]float64{}, 0.0, 0
	for i, code := range released["region"] {
		sum[code] += y[i]
	}
	for i, code := range released["region"] {
		if total[code] > 0 {
			d := y[i] + (total[code]-sum[code])/3 - x[i]
			square, n = square+d*d, n+1
		}
	}
	if n < len(x)/2 {
		t.Fatalf("only %d of %d records are in cells with a total", n, len(x))
	}
	return math.Sqrt(square / float64(n))
}

// Totals of three wages tell of each of them beside noisy records: of noise of SD 100, 100·√(2/3) = 81.6 remains,
// whichever was released first. What remains is not judged: so neither records after such tables hold, nor tables after
// such records, unless the gate names them. Of 600 errors the standard error of a root mean square is 2.9 %; three are
// allowed.
func TestTotalsBesideRecords(t *testing.T) {
	const rule = "{column: wage, target: typical, knowledge: index, min_rmse: 90}, {column: wage, max_exact: {share: 0.9, within: 5}}, {max_linked: 0.99}, {column: wage, max_unchanged: 1}"
	const rest = "assess: {replicates: 5, targets: [p50], sample: all, keys: [wage], intruder: {inversion: true, linkage: {distance: standardised}}}\n"
	attacked := func(dir, name string) {
		t.Helper()
		if got := byTotals(t, dir, name, "t"); !(math.Abs(got/81.6-1) < 0.09) {
			t.Errorf("with the totals ± %.1f remains, want 81.6", got)
		}
	}
	for _, allowed := range []bool{false, true} {
		dir := records(t, 600)
		threes(t, dir)
		tables(t, dir, "t", "", 3)
		r := release{name: "b", masks: noise, rule: rule, rest: rest}
		if allowed {
			r.rest, r.rule = rest+"gate: {allow_tables: [u, t], rules: ["+rule+"]}\n", ""
		}
		rep := r.run(t, dir)
		if rep.Gate.Passed != allowed || allowed != (rep.Ledger.Not == "") || !allowed &&
			!strings.Contains(rep.Ledger.Not, "gate.allow_tables: [t]") {
			t.Errorf("records after tables, allowed %v: %q, %+v", allowed, rep.Ledger.Not, rep.Gate.Rules)
		}
		for i, v := range rep.Gate.Rules[:3] {
			if v.Passed != allowed || !allowed && !strings.Contains(v.Advice, "tables of entry 1") {
				t.Errorf("records after tables, allowed %v: rule %d: %+v", allowed, i, v)
			}
		}
		if allowed {
			if risk := rmse(t, rep, "all_releases"); !(risk.RMSE > 90) {
				t.Errorf("the records alone are known to ± %v", risk.RMSE)
			}
			attacked(dir, "b")
		}
		dir = records(t, 600)
		threes(t, dir)
		release{name: "b", masks: noise, rule: rule, rest: rest}.run(t, dir)
		more := ""
		if allowed {
			more = "gate: {allow_records: [b]}\n"
		}
		result := tables(t, dir, "t", more, 3)
		if result.Report.Gate.Passed != allowed {
			t.Errorf("tables after records, allowed %v: %+v", allowed, result.Report.Gate)
		}
		if allowed {
			attacked(dir, "b")
		} else if last := result.Report.Gate.Rules[len(result.Report.Gate.Rules)-1]; last.Measure != "records" || !strings.Contains(last.Advice, "gate.allow_records: [b]") {
			t.Errorf("tables after records: %+v", last)
		}
	}
}

// Tables that are sums of what a release has of the records tell nothing more: of columns that it, or an earlier one,
// released as they are, and of records that it releases with the same masks and key, draw by draw. Tables of one more
// column do, and so do those that do not say of which columns they are.
func TestTablesThatFollowFromRecords(t *testing.T) {
	rule := "{column: wage, target: typical, knowledge: all_releases, min_rmse: 50}, {column: wage, max_unchanged: 1}"
	plain := release{name: "b", masks: "{noise: {columns: [tax], sd: 5}}",
		columns: "region: {role: key}, tax: {role: sensitive, decimals: 2}",
		rule:    "{column: tax, target: typical, knowledge: all_releases, min_rmse: 1}, {column: tax, max_unchanged: 1}"}
	unmasked := func(r release, dir string) (*report.Report, error) {
		p := r.parse(t, dir)
		p.Columns.Named("wage").Unmasked = true
		result, err := filejob.Run(t.Context(), p, pipeline.Options{Log: zerolog.Nop()})
		if err != nil {
			return nil, err
		}
		return result.Report, nil
	}
	dir := records(t, 300)
	tables(t, dir, "t", "", 3)
	if rep, err := unmasked(plain, dir); err != nil || !rep.Gate.Passed || len(rep.Ledger.Tables) != 1 {
		t.Errorf("tables of what is released as it is: %v, %+v", err, rep)
	}
	if result := tables(t, dir, "u", "", 3); !result.Report.Gate.Passed {
		t.Errorf("tables of what was released as it is: %+v", result.Report.Gate)
	}
	// R is infinite: wages are out
	if rep := (release{name: "c", masks: noise, key: "k2", rule: rule}).run(t, dir); rep.Ledger.Not != "" {
		t.Errorf("tables of what was released as it is, before noisy records: %q", rep.Ledger.Not)
	}
	// One column that it does not have, and tables that do not name theirs.
	for name, replaced := range map[string][2]string{
		"": {}, "another column": {`"columns":["region","wage"]`, `"columns":["region","wage","age"]`},
		"no columns": {`"columns":["region","wage"],`, ""}} {
		dir := records(t, 300)
		tables(t, dir, "t", "", 3)
		rewritten(t, filepath.Join(dir, "ledger"), replaced[0], replaced[1])
		if rep, err := unmasked(plain, dir); err != nil || rep.Gate.Passed != (name == "") {
			t.Errorf("%q: %v, %+v", name, err, rep.Ledger)
		}
	}
	// Tables of the masked records.
	of := func(dir string) release {
		return release{name: "people", masks: noise, columns: "region: {role: key}", rule: rule}
	}
	for _, first := range []bool{false, true} {
		for _, key := range []string{"k1", "k2"} {
			dir := records(t, 300)
			made := func() *tabling.Result {
				return tablesOf(t, dir, "t", "", 3, "masks: ["+noise+"]\n", "wage: {role: sensitive, decimals: 2}")
			}
			r := of(dir)
			r.key = key
			var passed bool
			if first {
				made()
				passed = r.run(t, dir).Ledger.Not == ""
			} else {
				r.run(t, dir)
				passed = made().Report.Gate.Passed
			}
			if passed != (key == "k1") {
				t.Errorf("tables of masked records, first %v, records under %s: passes %v", first, key, passed)
			}
		}
	}
}

// Tables of a ledger that were not audited with those before them say so, unless they are the same or name their
// report.
func TestTablesBesideTables(t *testing.T) {
	dir := records(t, 300)
	made := func(name, more string, threshold int) []string {
		t.Helper()
		result := tables(t, dir, name, more, threshold)
		if !result.Report.Gate.Passed {
			t.Fatalf("%s is withheld: %+v", name, result.Report.Gate)
		}
		return result.Report.Unaudited
	}
	if got := made("a", "", 3); got != nil {
		t.Errorf("beside none: %q", got)
	}
	if got := made("b", "", 3); got != nil {
		t.Errorf("the same: %q", got)
	}
	const with = "releases: [{report: DIR/a.json}]\n"
	// One table of both, which is another file.
	text := "version: 1\nname: c\npipeline: DIR/p.yaml\nsink: {csv: {path: DIR/c.csv}}\nreport: {json: DIR/c.json}\n" +
		with +
		"tables: [{name: heads, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\n"
	c, err := tabulation.Parse("c.yaml", []byte(strings.ReplaceAll(text, "DIR", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	result, err := tabling.Run(t.Context(), c, pipeline.Options{Log: zerolog.Nop()})
	if err != nil || !result.Report.Gate.Passed || result.Report.Unaudited != nil {
		t.Errorf("audited with: %+v, error %v", result, err)
	}
	if got := tables(t, dir, "d", with, 60); got.Report.Gate.Passed {
		t.Errorf("hidden cells that were published pass: %q", got.Report.Unaudited)
	}
	var want []string
	for i, name := range []string{"a", "b", "c"} {
		want = append(want, fmt.Sprintf("the tables of entry %d of the ledger (%s)", 1+2*i, name))
	}
	if got := made("d", "", 60); !slices.Equal(got, want) {
		t.Errorf("beside others: %q, want %q", got, want)
	}
}

// rewritten replaces text in a ledger, and seals its lines anew.
func rewritten(t *testing.T, path, old, by string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("the ledger has no %s:\n%s", old, text)
	}
	previous, out := strings.Repeat("0", 64), ""
	for line := range strings.Lines(strings.Replace(string(text), old, by, 1)) {
		line = line[:strings.LastIndex(line, `,"sha256":"`)]
		line = regexp.MustCompile(`"previous":"[0-9a-f]*"`).ReplaceAllString(line, `"previous":"`+previous+`"`)
		previous = fmt.Sprintf("%x", sha256.Sum256([]byte(line)))
		out += line + `,"sha256":"` + previous + "\"}\n"
	}
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}
