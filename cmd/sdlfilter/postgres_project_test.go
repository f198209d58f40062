package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// project is projectOf with the same records in tables: persons, and events that refer to them. Sources and sinks are
// these tables, and r_persons and r_events, of which there are earlier releases.
func (b *base) project(persons int, change func(files map[string]string)) {
	b.t.Helper()
	b.dir = projectOf(b.t, persons, func(files map[string]string) {
		for name, table := range map[string]string{"persons": "wage", "events": "cost"} {
			text := strings.Replace(files[name+".yaml"],
				"source: {csv: {path: "+name+".csv, types: {"+table+": float64}}}",
				"source: {"+b.connector("table: S."+name)+"}", 1)
			files["csv."+name] = files[name+".yaml"]
			files[name+".yaml"] = strings.Replace(text, "sink: {csv: {path: out/release/"+name+".csv}}",
				"sink: {"+b.connector("table: S.r_"+name)+"}", 1)
		}
		if change != nil {
			change(files)
		}
	})
	b.do(`DROP TABLE IF EXISTS persons, events CASCADE;
CREATE TABLE persons (no int PRIMARY KEY, pid text UNIQUE NOT NULL, note text, wage float8, sex text);
CREATE TABLE events (no int PRIMARY KEY, pid text NOT NULL, note text, cost float8, kind text)`)
	for _, name := range []string{"persons", "events"} {
		var rows strings.Builder
		for i, line := range strings.Split(strings.TrimSpace(b.read(name+".csv")), "\n")[1:] {
			fmt.Fprintf(&rows, ",(%d,'%s')", i, strings.ReplaceAll(line, ",", "','"))
		}
		b.do("INSERT INTO " + name + " VALUES " + rows.String()[1:])
	}
	b.do("ALTER TABLE events ADD FOREIGN KEY (pid) REFERENCES persons (pid) DEFERRABLE INITIALLY DEFERRED")
	b.earlier()
}

// earlier puts earlier releases under both names, and removes what a run has written beside them.
func (b *base) earlier() {
	b.t.Helper()
	b.do(
		"DROP TABLE IF EXISTS r_persons, r_events; CREATE TABLE r_persons (earlier int); INSERT INTO r_persons VALUES (7); CREATE TABLE r_events (earlier int); INSERT INTO r_events VALUES (7)")
	os.RemoveAll(filepath.Join(b.dir, "out"))
}

// there says which of the two releases there is: "earlier", "new", or neither of them.
func (b *base) there() string {
	b.t.Helper()
	persons, events := b.csv("SELECT * FROM r_persons LIMIT 1"), b.csv("SELECT * FROM r_events LIMIT 1")
	switch {
	case b.tables() != "events persons r_events r_persons":
		return "the tables " + b.tables()
	case persons == "earlier\n7\n" && events == "earlier\n7\n":
		return "earlier"
	case strings.HasPrefix(persons, "pid,wage,sex\n") && strings.HasPrefix(events, "pid,cost,kind\n"):
		return "new"
	}
	return fmt.Sprintf("a part: %.20q, %.20q", persons, events)
}

// quiet waits until the server has ended all transactions of the program.
func (b *base) quiet() {
	b.t.Helper()
	eventually.True(b.t, "the program's transactions to end", func() bool {
		return b.csv("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sdlfilter%'") == "count\n0\n"
	})
}

// session executes statements in a session of its own.
func (b *base) session() func(sql string) {
	b.t.Helper()
	config, err := pgconn.ParseConfig(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		b.t.Fatal(err)
	}
	config.Password = os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD")
	other := *b
	if other.db, err = pgconn.ConnectConfig(b.t.Context(), config); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { other.db.Close(context.Background()) })
	other.do("SET search_path = " + b.schema)
	return other.do
}

// projectReport is what a project's report says.
func (b *base) projectReport() (r struct {
	Warnings []string
	Folder   string
	Persons  struct {
		Found float64 `json:"found"`
	}
	Tables []struct {
		Name, File string
		Left       []any
		Records    struct{ Released int }
	}
}) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.read("out/report.json")), &r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// A project of tables of a database, of files, or of both, releases the same records, into tables or into files; where
// not all sources have one state the words say so. validate --connect leaves nothing behind.
func TestPostgresProjectEqualsFiles(t *testing.T) {
	b := newBase(t)
	b.project(200, nil)
	database := map[string]string{"persons": b.read("persons.yaml"), "events": b.read("events.yaml")}
	files := map[string]string{"persons": b.read("csv.persons"), "events": b.read("csv.events")}
	part := func(text, of string) string { // the line of a field
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, of+":") {
				return line
			}
		}
		return ""
	}
	var want string
	for _, c := range []struct{ persons, events, sinks string }{
		{"files", "files", "files"}, {"database", "database", "database"}, {"database", "database", "files"},
		{"files", "database", "files"}, {"database", "files", "database"}, {"files", "files", "database"},
	} {
		b.earlier()
		what := fmt.Sprint(c)
		for name, from := range map[string]string{"persons": c.persons, "events": c.events} {
			text := files[name]
			if from == "database" {
				text = strings.Replace(text, part(text, "source"), part(database[name], "source"), 1)
			}
			if c.sinks == "database" {
				text = strings.Replace(text, part(text, "sink"), part(database[name], "sink"), 1)
			}
			b.write(name+".yaml", text)
		}
		if status, words := b.run("validate", "--connect", "project.yaml"); status != 0 || b.there() != "earlier" {
			t.Fatalf("%s: validate: status %d, there is %s\n%s", what, status, b.there(), words)
		}
		status, words := b.run("run", "project.yaml")
		if status != 0 {
			t.Fatalf("%s: status %d\n%s", what, status, words)
		}
		rep := b.projectReport()
		mixed := c.persons != c.events
		if strings.Contains(words, "are not read in one state") != mixed || (len(rep.Warnings) == 1) != mixed ||
			mixed && !strings.Contains(rep.Warnings[0],
				fmt.Sprintf(`"persons" (%s), "events" (%s)`, map[bool]string{true: "csv", false: "postgres"}[c.persons == "files"],
					map[bool]string{true: "csv", false: "postgres"}[c.events == "files"])) {
			t.Errorf("%s: warns of %q\n%s", what, rep.Warnings, words)
		}
		var got string
		if c.sinks == "database" {
			got = numbered(t, b.csv("SELECT * FROM r_persons")) + numbered(t, b.csv("SELECT * FROM r_events"))
			if rep.Folder != "" || rep.Tables[0].File != "table "+b.schema+".r_persons" ||
				!strings.Contains(words, "Written: table "+b.schema+".r_persons, table "+b.schema+".r_events, ") {
				t.Errorf("%s: the report says %+v\n%s", what, rep, words)
			}
		} else {
			got = numbered(t, b.read("out/release/persons.csv")) + numbered(t, b.read("out/release/events.csv"))
			if b.there() != "earlier" || rep.Folder != "release" || rep.Tables[0].File != "persons.csv" {
				t.Errorf("%s: there is %s, the report says %+v", what, b.there(), rep)
			}
		}
		got += fmt.Sprint(rep.Persons, rep.Tables[0].Records, rep.Tables[1].Records, rep.Tables[0].Left, rep.Tables[1].Left)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: %s", what, firstDifference(got, want))
		}
	}
	b.quiet()
}

// What others change while the sources are opened, and between the reads of two tables, is in both tables or in none:
// no record leaves as an orphan. Nor is a table empty that was emptied and filled again meanwhile.
func TestPostgresProjectReadsOneState(t *testing.T) {
	const both = "INSERT INTO persons SELECT 1000 + i, 'new' || i, '', 1, 'f' FROM generate_series(1, 50) i; INSERT INTO events SELECT 5000 + i, 'new' || i, '', 1, 'a' FROM generate_series(1, 50) i; DELETE FROM events WHERE no < 20; DELETE FROM persons p WHERE NOT EXISTS (SELECT FROM events e WHERE e.pid = p.pid); COMMIT"
	b := newBase(t)
	for _, c := range []struct {
		name, begin, meanwhile string
		persons, events        int
	}{
		{"opened", "BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE", both, 0, 0},
		{"emptied", "BEGIN; CREATE TEMP TABLE kept AS SELECT * FROM events; TRUNCATE events",
			"INSERT INTO events SELECT * FROM kept; COMMIT", 300, 300},
		{"read", "BEGIN; SELECT pg_advisory_xact_lock(73186)", both, 300, 300},
	} {
		b.project(300, func(files map[string]string) {
			if c.name == "read" {
				files["persons.yaml"] = strings.Replace(files["persons.yaml"], "table: "+b.schema+".persons",
					"query: 'SELECT p.*, "+b.schema+".held(no) AS held FROM "+b.schema+".persons p ORDER BY no', order: [no]", 1)
			}
		})
		b.do(
			"CREATE OR REPLACE FUNCTION held(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i = 150 THEN PERFORM pg_advisory_xact_lock_shared(73186); END IF; RETURN i; END $$; ANALYZE")
		other := b.session()
		other(c.begin)
		ended := make(chan struct{})
		var status int
		var words string
		go func() { defer close(ended); status, words = b.run("run", "--verbose", "project.yaml") }()
		eventually.True(t, "the program to wait", func() bool {
			return b.csv(
				"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sdlfilter%' AND wait_event_type = 'Lock'") ==
				"count\n1\n"
		})
		other(c.meanwhile)
		<-ended
		if status != 0 {
			t.Fatalf("%s: status %d\n%s", c.name, status, words)
		}
		if c.persons == 0 {
			fmt.Sscanf(b.csv("SELECT (SELECT count(*) FROM persons), (SELECT count(*) FROM events)"), "count,count\n%d,%d",
				&c.persons, &c.events)
		}
		persons, events := b.projectReport().Tables[0], b.projectReport().Tables[1]
		if persons.Records.Released != c.persons || events.Records.Released != c.events ||
			len(persons.Left)+len(events.Left) > 0 {
			t.Errorf("%s: released %+v and %+v, want %d and %d", c.name, persons, events, c.persons, c.events)
		}
		if got := b.csv("SELECT count(*) FROM r_events WHERE pid NOT IN (SELECT pid FROM r_persons)"); got != "count\n0\n" {
			t.Errorf("%s: of the events %s refer to nobody", c.name, got)
		}
	}
}

// released makes a project whose connections go through a wire, and releases it once.
func (b *base) released() *wire {
	b.t.Helper()
	b.project(8, nil)
	address, err := url.Parse(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		b.t.Fatal(err)
	}
	w := newWire(b.t, address.Host)
	for _, name := range []string{"persons", "events"} {
		b.write(name+".yaml", strings.ReplaceAll(b.read(name+".yaml"), address.Host, w.listen.Addr().String()))
	}
	w.fail(0, "")
	if status, words := b.run("run", "--quiet", "project.yaml"); status != 0 || b.there() != "new" {
		b.t.Fatalf("status %d, there is %s\n%s", status, b.there(), words)
	}
	return w
}

// Whatever message to the server fails, or is done while its answer is lost, there are all tables of one run, or those
// of the other, and the status and the words agree with it.
func TestPostgresProjectStatusIsWhatReadersSee(t *testing.T) {
	b := newBase(t)
	w := b.released()
	all, seen, trials := w.asked, map[string]int{}, 0
	published := w.publishing()
	for h, how := range wireFaults {
		for at := 1; at <= all+2; at++ {
			if at < published && at%len(wireFaults) != h && *kills < 150 { // all in the long form: KILLS=150
				continue
			}
			b.earlier()
			w.fail(at, how)
			status, words := b.run("run", "--quiet", "project.yaml")
			trials++
			b.quiet()
			there := b.there()
			_, err := os.Stat(b.dir + "/out/report.json")
			perhaps := strings.Contains(words,
				"the release may be published (table "+b.schema+".r_persons, table "+b.schema+".r_events)")
			what := fmt.Sprintf("%s, message %d of %d (%s): status %d, there is %s, report %v\n%s", how, at, all, w.said(), status,
				there, err == nil, words)
			switch {
			case status == 0 && there == "new" && err == nil:
			case status == exitFailed && there == "earlier" && err != nil && !perhaps:
			case status == exitUnreported && (there == "new" || there == "earlier") && perhaps && err != nil:
			default:
				t.Error(what)
			}
			seen[fmt.Sprint(status, " ", there)]++
		}
	}
	t.Logf("%d runs with %d messages: status and release %v", trials, all, seen)
	if seen["5 new"] == 0 || seen["5 earlier"] == 0 || seen["0 new"] == 0 || seen["1 earlier"] == 0 {
		t.Errorf("%v", seen)
	}
}

// publishing is the number of the message with which a run that has ended began to publish.
func (w *wire) publishing() int {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, said := range w.log {
		if strings.HasPrefix(said, "Q DROP TABLE") {
			return i + 1
		}
	}
	w.t.Fatalf("the run publishes nothing: %q", w.log)
	return 0
}

// The program is killed at each message with which it publishes, and at some before: there are all tables of one run or
// those of the other, nothing else is left, and the next run releases.
func TestPostgresProjectKilled(t *testing.T) {
	b := newBase(t)
	w := b.released()
	all, first, seen := w.asked, w.publishing(), map[string]int{}
	for at := 10; at <= all; at++ {
		if at < first && at%60 > 0 {
			continue
		}
		for _, pause := range []time.Duration{0, 30 * time.Millisecond} { // the server has the message, or has it not
			b.earlier()
			cmd := program(t, b.dir, "run", "--quiet", "project.yaml")
			w.kill(at, pause, func(func() int) { _ = cmd.Process.Kill() })
			if out, err := cmd.CombinedOutput(); err == nil && at < all-2 {
				t.Errorf("message %d of %d: the run was not killed\n%s", at, all, out)
			}
			b.quiet()
			there := b.there()
			if there != "earlier" && there != "new" {
				t.Errorf("message %d of %d (%s): there is %s", at, all, w.said(), there)
			}
			seen[there]++
			w.fail(0, "")
			if pause > 0 {
				continue
			}
			if status, words := b.run("run", "--quiet", "project.yaml"); status != 0 || b.there() != "new" {
				t.Fatalf("the next run: status %d, there is %s\n%s", status, b.there(), words)
			}
		}
	}
	t.Logf("%v, by %d messages", seen, all)
	if seen["new"] == 0 || seen["earlier"] == 0 {
		t.Error(seen)
	}
}

// However a project ends, what it prints and writes contains nothing about a respondent, and unless all of it is
// released the earlier releases stay and nothing else is there.
func TestPostgresProjectCanary(t *testing.T) {
	b := newBase(t)
	replaced := func(file, old, text string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				t.Fatalf("%s does not contain %s", file, old)
			}
			files[file] = strings.Replace(files[file], old, text, 1)
		}
	}
	in := func(name string) string { return "table: " + b.schema + "." + name }
	const broken = `CREATE VIEW broken AS SELECT no, pid, note, CASE WHEN no = (SELECT max(no) FROM TABLE) THEN note::float8 ELSE VALUE END AS VALUE, KEY FROM TABLE`
	of := func(table, value, key string) string {
		return strings.NewReplacer("TABLE", table, "VALUE", value, "KEY", key).Replace(broken)
	}
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		sql    string
		status int
		want   string
	}{
		{"released", nil, "", exitDone, "Written: table"},
		{"orphans", nil,
			"ALTER TABLE events DROP CONSTRAINT events_pid_fkey; INSERT INTO events VALUES (9000, '" + canaryName +
				"9999', '', 1, 'a')", exitDone, "1 refer to no record"},
		{"withheld", replaced("project.yaml", "max_linked: 100%", "min_k: 300"), "", exitRefused, "no table is published"},
		{"the last table is withheld", replaced("events.yaml", "report:", "gate: {rules: [{min_k: 5000}]}\nreport:"), "",
			exitRefused, "no table is published"},
		{"quarantine", nil, "ALTER TABLE events ALTER cost TYPE numeric(14,2); UPDATE events SET cost = 'NaN' WHERE no = 5",
			exitQuarantined, "1 in quarantine"},
		{"a value of the first that is none", replaced("persons.yaml", in("persons"), in("broken")+", order: [no]"),
			of("persons", "wage", "sex"), exitFailed, `table "persons": table ` + b.schema + `.broken: a value is not one`},
		{"a value of the last that is none", replaced("events.yaml", in("events"), in("broken")+", order: [no]"),
			of("events", "cost", "kind"), exitFailed, `table "events": table ` + b.schema + `.broken: a value is not one`},
		{"a table that is not there", replaced("events.yaml", in("events"), in("none")), "", exitFailed,
			`table "events": source: table ` + b.schema + `.none: there is no such table`},
		{"a source of its own", replaced("events.yaml", in("r_events"), in("events")), "", exitFailed,
			"would take the place of its own source"},
		{"a source of the other", replaced("persons.yaml", in("r_persons"), in("events")), "", exitFailed,
			"would take the place of its own source"},
		{"a source of the first", replaced("events.yaml", in("r_events"), in("persons")),
			"ALTER TABLE events DROP CONSTRAINT events_pid_fkey", exitFailed, "would take the place of its own source"},
		{"views of the last", nil, "CREATE VIEW over AS SELECT * FROM r_events", exitFailed, "depend on it"},
		{"one table by two names", func(files map[string]string) {
			replaced("persons.yaml", in("r_persons"), "table: public.zz")(files)
			replaced("events.yaml", in("r_events"), "table: zz")(files)
		}, "", exitFailed, "table public.zz: two releases would have this name"},
		{"types that differ", nil,
			"ALTER TABLE events DROP CONSTRAINT events_pid_fkey; ALTER TABLE events ALTER pid DROP NOT NULL, ALTER pid TYPE date USING NULL",
			exitUsage, "give both one type"},
	} {
		b.do("DROP VIEW IF EXISTS broken, over")
		b.project(200, c.change)
		b.do(c.sql)
		status, words := b.run("run", "--verbose", "--progress", "json", "project.yaml")
		if status != c.status || !strings.Contains(words, c.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", c.name, status, c.status, c.want, words)
		}
		if refused := strings.Contains(c.want, "place of") || strings.Contains(c.want, "depend") ||
			strings.Contains(c.want, "two releases"); refused &&
			strings.Contains(strings.ReplaceAll(words, `"phase":""`, ""), `"phase"`) {
			t.Errorf("%s: records are read before it is refused:\n%s", c.name, words)
		}
		b.quiet()
		released := c.status == exitDone || c.status == exitQuarantined
		if there := b.there(); released != (there == "new") || !released && there != "earlier" ||
			b.csv("SELECT count(*) FROM pg_class WHERE relname = 'zz' OR relname LIKE 'sdlfilter%'") != "count\n0\n" {
			t.Errorf("%s: there is %s", c.name, there)
		}
		n := checkProjectFiles(t, b.dir, released)
		// What fails leaves its events and no more.
		if begun := c.status != exitUsage && c.status != exitFailed; begun && n < 9 || !begun && n > 1 {
			t.Errorf("%s: %d files", c.name, n)
		}
		if !released {
			continue
		}
		for _, name := range []string{"r_persons", "r_events"} {
			checkCanaries(t, "release "+name, []byte(b.csv("SELECT * FROM "+name)), true)
		}
		if got := b.csv("SELECT count(*) FROM r_events WHERE pid NOT IN (SELECT pid FROM r_persons)"); got != "count\n0\n" {
			t.Errorf("%s: of the events %s refer to nobody", c.name, got)
		}
	}
}
