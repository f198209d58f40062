package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

// base is a schema on the server of make test-postgres, and a folder with a key.
type base struct {
	t      *testing.T
	dir    string
	schema string
	db     *pgconn.PgConn
}

func newBase(t *testing.T) *base {
	t.Helper()
	url := os.Getenv("SDLFILTER_TEST_POSTGRES")
	if url == "" {
		t.Skip("needs a server: make test-postgres")
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.Password = os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD")
	b := &base{t: t, dir: t.TempDir(), schema: "c_" + strings.ToLower(t.Name())}
	if b.db, err = pgconn.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	b.do("DROP SCHEMA IF EXISTS " + b.schema + " CASCADE; CREATE SCHEMA " + b.schema + "; SET search_path = " + b.schema)
	t.Cleanup(func() {
		b.do("DROP SCHEMA " + b.schema + " CASCADE")
		b.db.Close(context.Background())
	})
	b.write("k", keytest.Key(1).Text())
	return b
}

func (b *base) do(sql string) {
	b.t.Helper()
	if err := b.db.Exec(context.Background(), sql).Close(); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *base) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *base) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// csv returns the server's result of a query as CSV.
func (b *base) csv(query string) string {
	b.t.Helper()
	var out bytes.Buffer
	if _, err := b.db.CopyTo(context.Background(), &out, "COPY ("+query+") TO STDOUT (FORMAT csv, HEADER)"); err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

// tables returns the tables in the schema.
func (b *base) tables() string {
	b.t.Helper()
	return strings.Join(
		strings.Fields(
			b.csv("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '" + b.schema +
				"'::regnamespace ORDER BY 1"))[1:], " ")
}

// connector returns a source or sink of the server with further fields.
func (b *base) connector(fields string) string {
	return fmt.Sprintf("postgres: {url: '%s', password: {env: SDLFILTER_TEST_POSTGRES_PASSWORD}, %s}",
		os.Getenv("SDLFILTER_TEST_POSTGRES"), strings.ReplaceAll(fields, "S.", b.schema+"."))
}

// run runs the program and checks that its output contains neither the password nor anything about a
// respondent.
func (b *base) run(args ...string) (status int, words string) {
	b.t.Helper()
	out, err := program(b.t, b.dir, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	b.clean("what the program says", out)
	if err == nil {
		return 0, string(out)
	}
	return exit.ExitCode(), string(out)
}

func (b *base) clean(what string, text []byte) {
	b.t.Helper()
	checkCanaries(b.t, what, text, true)
	if secret := os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD"); secret != "" && bytes.Contains(text, []byte(secret)) {
		b.t.Errorf("%s holds the password", what)
	}
}

// survey makes a table of records of every type, and the same rows as CSV.
func (b *base) survey(records int) {
	r := rand.New(rand.NewPCG(5, 6))
	var rows strings.Builder
	for i := range records {
		debt := "NULL"
		if r.IntN(5) > 0 {
			debt = fmt.Sprint(r.IntN(10_000))
		}
		fmt.Fprintf(&rows, ",(%d,'p%d',%.2f,%s,%d,'%s',%v,date '1950-01-01' + %d,%g)", (i*7919)%records, i/3,
			500+2000*r.ExpFloat64(), debt, 18+r.IntN(70),
			[]string{"north", "south", "east, far", `we"st`}[r.IntN(4)], r.IntN(2) > 0, r.IntN(20_000), r.NormFloat64())
	}
	b.do(
		`CREATE TABLE survey (id integer PRIMARY KEY, person text, income numeric(12,2), debt bigint, age smallint, region varchar(20), owner boolean, born date, score double precision);
INSERT INTO survey VALUES ` + rows.String()[1:])
	b.write("survey.csv",
		b.csv(
			"SELECT id, person, income, debt, age, region, CASE WHEN owner THEN 'true' ELSE 'false' END AS owner, born, score FROM survey ORDER BY id"))
}

// The release of a table or a query equals that of a file with the same rows, bit by bit, also with
// masks that need extra passes; R and U are equal as well.
func TestPostgresEqualsCSV(t *testing.T) {
	b := newBase(t)
	b.survey(2000)
	for name, masks := range map[string]string{
		"percentages":    "- noise: {columns: [income, score], sd: 30%}\n  - noise: {columns: [debt, age], sd: 10%}",
		"identity":       "- noise: {columns: [income], sd: 100}\nidentity: [person]",
		"swap":           "- swap: {keys: [owner], attribute: region, columns: [income, debt], rate: 0.6, policy: random, scope: dataset}",
		"microaggregate": "- microaggregate: {columns: [income, score], k: 3, by: [region]}",
		"windows":        "- swap: {keys: [owner], attribute: region, columns: [income], rate: 0.6, policy: random}\nwindow: {records: 300}",
		"pram":           "- pram: {columns: [region], keep: 0.7, categories: [north, south, 'east, far', 'we\"st']}",
	} {
		role := func(column string) string {
			if strings.Contains(masks, column) {
				return column + ": {role: sensitive}, "
			}
			return column + ": {role: other}, "
		}
		text := func(source, sink, report string) string {
			return "version: 1\nkey: {file: k}\nsource: {" + source + "}\nsink: {" + sink + "}\ncolumns: {" + role("income") +
				role("debt") + role("score") +
				"id: {role: other}, person: {role: identifier}, age: {role: key}, region: {role: key}, owner: {role: other}, born: {role: other}}\nmasks:\n  " +
				masks + "\nassess: {replicates: 5}\nreport: {json: " + report + "}\n"
		}
		b.write("a.yaml", text("csv: {path: survey.csv}", "csv: {path: a.csv}", "a.json"))
		b.write("b.yaml", text(b.connector("table: S.survey"), "csv: {path: b.csv}", "b.json"))
		b.write("c.yaml",
			text(b.connector("query: 'SELECT * FROM S.survey WHERE id >= 0;', order: [id]"), b.connector("table: S.out"),
				"c.json"))
		for _, c := range []string{"a", "b", "c"} {
			if status, words := b.run("run", "--quiet", c+".yaml"); status != 0 {
				t.Fatalf("%s, %s: status %d\n%s", name, c, status, words)
			}
		}
		// A numeric(12,2) is printed with two decimals, so the texts are not compared directly.
		if want, got := numbered(t, b.read("a.csv")), numbered(t, b.read("b.csv")); want != got {
			t.Errorf("%s: the releases from the table and from the file differ: %s", name, firstDifference(got, want))
		}
		if want, got := numbered(t, b.read("a.csv")), numbered(t,
			b.csv("SELECT id, income, debt, age, region, owner, born, score FROM out")); want != got {
			t.Errorf("%s: the released table differs: %s", name, firstDifference(got, want))
		}
		for _, other := range []string{"b.json", "c.json"} {
			if want, got := measures(t, b.read("a.json")), measures(t, b.read(other)); want != got {
				t.Errorf("%s: %s measures %s", name, other, firstDifference(got, want))
			}
		}
	}
}

// numbered returns CSV with numbers in their shortest form and the server's words for true and
// false.
func numbered(t *testing.T, text string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if x, err := strconv.ParseFloat(cell, 64); err == nil {
				row[i] = strconv.FormatFloat(x, 'g', -1, 64)
			} else if cell == "true" || cell == "false" {
				row[i] = cell[:1]
			}
		}
		fmt.Fprintf(&out, "%q\n", row)
	}
	return out.String()
}

// measures returns the measures and verdicts of a report.
func measures(t *testing.T, text string) string {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	kept := map[string]any{"columns": r["columns"], "gate": r["gate"], "records": r["records"], "masks": r["masks"]}
	if r["columns"] == nil || r["gate"] == nil {
		t.Fatalf("the report has no columns or no gate:\n%s", text)
	}
	out, err := json.MarshalIndent(kept, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %s, not %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// canaryTable creates a table with the canaries' input.
func (b *base) canaryTable() {
	var rows strings.Builder
	for _, r := range canaryRecords() {
		fmt.Fprintf(&rows, ",('%s','%s',%v,'%s')", r.Name, r.Note, r.Wage, r.Kind)
	}
	b.do("CREATE TABLE survey (name text PRIMARY KEY, note text, wage float8, kind text); INSERT INTO survey VALUES " +
		rows.String()[1:])
}

// canaryPipeline masks that table, with every possible output.
func (b *base) canaryPipeline(source, sink, gate string) string {
	text := canaryConfig("csv", "survey.csv", gate)
	text = strings.Replace(text, "source: {csv: {path: survey.csv, types: {wage: float64}}}", "source: {"+source+"}", 1)
	return strings.Replace(text, "sink: {csv: {path: out/release.csv}}", "sink: {"+sink+"}", 1)
}

// However a run ends, its output and its files contain nothing about a respondent and no password. If
// a release is withheld or fails, the earlier release stays.
func TestPostgresCanary(t *testing.T) {
	b := newBase(t)
	b.canaryTable()
	b.do(`CREATE TABLE released (earlier int); INSERT INTO released VALUES (7);
CREATE TABLE odd AS SELECT * FROM survey; ALTER TABLE odd ADD PRIMARY KEY (name); UPDATE odd SET wage = 'NaN' WHERE name LIKE '%7';
CREATE VIEW broken AS SELECT name, note, (note || wage)::float8 AS wage, kind FROM survey;
CREATE VIEW late AS SELECT name, note, CASE WHEN name = (SELECT max(name COLLATE "C") FROM survey) THEN note::float8 ELSE wage END AS wage, kind FROM survey`)
	url := os.Getenv("SDLFILTER_TEST_POSTGRES")
	into := b.connector("table: S.released")
	const passes = "{column: wage, min_efficiency: 0.001}"
	for _, c := range []struct {
		name, source, sink, gate string
		status                   int
		want                     string
	}{
		{"refused", b.connector("table: S.survey"), into, "{column: wage, max_risk: 1e-30}", 4, ""},
		{"a value that is none", b.connector("table: S.broken, order: [name]"), into, passes, 1, "SQLSTATE 22P02"},
		{"the last value is none", b.connector("table: S.late, order: [name]"), into, passes, 1, "SQLSTATE 22P02"},
		{"records share a place", b.connector("table: S.survey, order: [kind]"), into, passes, 1,
			"record 2 has the same values"},
		{"no table", b.connector("table: S.none"), into, passes, 1, "there is no such table"},
		{"no column", b.connector("query: 'SELECT name, wage FROM S.survey', order: [name]"), into, passes, 2,
			"columns.kind"},
		{"a wrong password", strings.Replace(b.connector("table: S.survey"), "SDLFILTER_TEST_POSTGRES_PASSWORD", "HOME", 1),
			into, passes, 1, "the password is wrong"},
		{
			"no variable",
			strings.Replace(b.connector("table: S.survey"), "SDLFILTER_TEST_POSTGRES_PASSWORD", "SDLFILTER_NOT_SET", 1), into,
			passes, 1, "which must hold a password, is not set"},
		{"a password in the address", "postgres: {url: '" + strings.Replace(url, "@", ":"+canaryName+"@", 1) + "', table: x}",
			into, passes, 2, "must not hold a password"},
		{"its own source", b.connector("query: 'SELECT * FROM S.odd', order: [name]"), b.connector("table: S.odd"), passes, 1,
			"of its own source"},
		{"its own source in another order", b.connector("table: S.odd"), b.connector("table: S.odd") + ", order: shuffled",
			passes, 1, "of its own source"},
		{"its own source by places", b.connector("query: 'SELECT *, 1 AS part, row_number() OVER () AS at FROM S.odd', order: [name]") +
			"}\nplace: {stream: part, record: at", b.connector("table: S.odd"), passes, 1, "of its own source"},
		{"no schema", b.connector("table: S.survey"), b.connector("table: nowhere.released"), passes, 1,
			"there is no such schema"},
	} {
		b.write("pipeline.yaml", b.canaryPipeline(c.source, c.sink, c.gate))
		if err := os.MkdirAll(filepath.Join(b.dir, "out"), 0o700); err != nil {
			t.Fatal(err)
		}
		status, words := b.run("run", "pipeline.yaml")
		if status != c.status || !strings.Contains(words, c.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", c.name, status, c.status, c.want, words)
		}
		checkFiles(t, filepath.Join(b.dir, "out"))
		if got := b.csv("SELECT * FROM released"); got != "earlier\n7\n" || b.tables() != "odd released survey" {
			t.Errorf("%s: left is %s, of it %q", c.name, b.tables(), got)
		}
	}
	b.write("pipeline.yaml",
		strings.Replace(b.canaryPipeline(b.connector("table: S.odd"), into, passes), "gate: {",
			"gate: {max_quarantined: 0.2, ", 1))
	status, words := b.run("run", "pipeline.yaml")
	if status != exitQuarantined {
		t.Fatalf("status %d\n%s", status, words)
	}
	checkFiles(t, filepath.Join(b.dir, "out"))
	for _, name := range []string{"report.json", "report.html", "report.public.json", "report.public.html",
		"report.board.html", "snapshots.jsonl"} {
		text := b.read(filepath.Join("out", name))
		if strings.Contains(text, os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD")) || strings.Contains(text, "postgres://") ||
			strings.Contains(name, "public") && strings.Contains(text, b.schema) {
			t.Errorf("%s holds the password, the address or, for the public, the table", name)
		}
	}
	if !strings.Contains(words, "table "+b.schema+".released") {
		t.Errorf("the release's table is not named:\n%s", words)
	}
	released := b.csv("SELECT * FROM released")
	b.clean("release", []byte(released))
	if n := strings.Count(released, "\n"); n != 361 || b.tables() != "odd released survey" {
		t.Errorf("%d lines are released, not the header and 360, and there is %s", n, b.tables())
	}
}

// A run that is killed while it copies leaves the earlier release and nothing else, and the
// next one releases.
func TestPostgresKilled(t *testing.T) {
	b := newBase(t)
	// The record in the middle waits for a lock, so that the rest is not read before the kill.
	const lock = 73184
	b.do(
		fmt.Sprintf(
			`CREATE TABLE survey AS SELECT i AS id, i * 1.25::float8 AS wage, repeat('x', 300) AS name FROM generate_series(1, 40000) i; ALTER TABLE survey ADD PRIMARY KEY (id); ANALYZE survey;
CREATE TABLE released (earlier int); INSERT INTO released VALUES (7);
CREATE FUNCTION held(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i = 30000 THEN PERFORM pg_advisory_xact_lock_shared(%d); END IF; RETURN i; END $$;
SELECT pg_advisory_lock(%[1]d)`, lock))
	b.write("pipeline.yaml",
		"version: 1\nkey: {file: k}\nsource: {"+
			b.connector("query: 'SELECT id, wage, name, S.held(id) AS waited FROM S.survey s ORDER BY id', order: [id]")+
			"}\nsink: {"+b.connector("table: S.released")+
			"}\ncolumns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, waited: {role: other}, name: {role: other}}\nmasks: [{noise: {columns: [wage], sd: 5}}]\nassess: {replicates: 0}\nreport: {json: r.json}\n")
	others := "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sdlfilter%'"
	cmd := program(t, b.dir, "run", "--quiet", "pipeline.yaml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	eventually.True(t, "rows to be written", func() bool {
		select {
		case <-ended:
			t.Fatal("the run has ended before it was killed")
		default:
		}
		return b.csv(
			"SELECT count(*) > 0 AS c FROM pg_stat_progress_copy WHERE command = 'COPY FROM' AND tuples_processed > 0") ==
			"c\nt\n"
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	b.do(fmt.Sprintf("SELECT pg_advisory_unlock(%d)", lock))
	eventually.True(t, "the server to see it", func() bool { return b.csv(others) == "count\n0\n" })
	if got := b.csv("SELECT * FROM released"); got != "earlier\n7\n" || b.tables() != "released survey" {
		t.Errorf("left is %s, of it %q", b.tables(), got)
	}
	if status, words := b.run("run", "--quiet", "pipeline.yaml"); status != 0 {
		t.Fatalf("status %d\n%s", status, words)
	}
	if got := b.csv("SELECT count(*) FROM released"); got != "count\n40000\n" || b.tables() != "released survey" {
		t.Errorf("there is %s, of it %q", b.tables(), got)
	}
}

// Commands and fields that do not apply to databases are refused with a message that says so.
func TestPostgresElsewhere(t *testing.T) {
	b := newBase(t)
	b.survey(100)
	text := "version: 1\nkey: {file: k}\nsource: {" + b.connector("table: S.survey") +
		"}\nsink: {csv: {path: out.csv}}\nunlisted: drop\ncolumns: {income: {role: sensitive}}\nmasks: [{noise: {columns: [income], sd: 10%}}]\n"
	b.write("pipeline.yaml", text)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"validate", "--connect", "pipeline.yaml"}, 0, ""},
		{[]string{"profile", "pipeline.yaml"}, 0, "income"},
		{[]string{"preview", "pipeline.yaml"}, 0, ""},
		{[]string{"shard", "plan", "pipeline.yaml", "--shards", "2", "--out", "plan.json"}, 2, ""},
	} {
		if status, words := b.run(c.args...); status != c.status || !strings.Contains(words, c.want) {
			t.Errorf("%q: status %d, want %d and %q:\n%s", c.args, status, c.status, c.want, words)
		}
	}
	// With order: shuffled, nothing of the source's order remains.
	for _, order := range []string{"source", "shuffled"} {
		b.write("pipeline.yaml",
			strings.Replace(text, "sink: {csv: {path: out.csv}}", "sink: {order: "+order+", "+b.connector("table: S."+order)+"}",
				1))
		if status, words := b.run("run", "pipeline.yaml"); status != 0 {
			t.Errorf("%s: status %d\n%s", order, status, words)
		}
	}
	source, shuffled := strings.Fields(b.csv("SELECT * FROM source")), strings.Fields(b.csv("SELECT * FROM shuffled"))
	if slices.Equal(source, shuffled) {
		t.Error("shuffled is the source's order")
	}
	slices.Sort(source)
	if slices.Sort(shuffled); !slices.Equal(source, shuffled) || len(source) != 101 {
		t.Error("shuffled are other records")
	}
}
