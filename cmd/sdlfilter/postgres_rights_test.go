package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// A right that is missing from the beginning, or taken away during a run, ends it with status 1: the words say on
// what, the earlier release stays, and nothing else is left.
func TestPostgresRights(t *testing.T) {
	b := newBase(t)
	user := "u_" + b.schema
	b.do("DROP ROLE IF EXISTS " + user + "; CREATE ROLE " + user + " LOGIN PASSWORD '" +
		os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD") + "'")
	b.do("GRANT pg_read_all_stats TO " + user)
	t.Cleanup(func() { b.do("DROP OWNED BY " + user + " CASCADE; DROP ROLE " + user) })
	// The record in the middle waits for a lock, so that a right can be taken away before the rest is read.
	const lock = 73185
	b.do(
		fmt.Sprintf(
			`CREATE TABLE survey AS SELECT i AS id, i * 1.25::float8 AS wage, repeat('x', 300) AS name FROM generate_series(1, 20000) i; ALTER TABLE survey ADD PRIMARY KEY (id); ANALYZE survey;
CREATE FUNCTION held(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i = 15000 THEN PERFORM pg_advisory_xact_lock_shared(%d); END IF; RETURN i; END $$`, lock))
	admin := os.Getenv("SDLFILTER_TEST_POSTGRES")
	as := func(text string) string { return strings.Replace(text, "admin@", user+"@", 1) }
	if as(admin) == admin {
		t.Fatalf("%s is no address of the tests' server", admin)
	}
	pipeline := func(source, sd string) {
		b.write("pipeline.yaml",
			as("version: 1\nkey: {file: k}\nsource: {"+b.connector(source)+"}\nsink: {"+
				strings.Replace(b.connector("table: S.released"), "admin@", user+"@", 1)+
				"}\ncolumns: {id: {role: other}, wage: {role: sensitive, decimals: 2}, name: {role: identifier}}\nunlisted: drop\nmasks: [{noise: {columns: [wage], sd: "+sd+"}}]\nassess: {replicates: 0}\nreport: {json: r.json}\n"))
	}
	const table, query = "table: S.survey",
		"query: 'SELECT id, wage, name, S.held(id) AS waited FROM S.survey s ORDER BY id', order: [id]"
	whole := "GRANT ALL ON SCHEMA S TO U; GRANT SELECT ON survey TO U; ALTER TABLE released OWNER TO U"
	in := func(sql string) string {
		return strings.ReplaceAll(strings.ReplaceAll(sql, "SCHEMA S", "SCHEMA "+b.schema), " U", " "+user)
	}
	for _, c := range []struct {
		name, source, sd string
		before, during   string // what is done to the rights
		want             string // of the words; "": the run succeeds
	}{
		{"all rights", table, "5", "", "", ""},
		{"no SELECT", table, "5", "REVOKE SELECT ON survey FROM U", "",
			"table S.survey: the user has no right to do this (SQLSTATE 42501)"},
		{"SELECT of some columns", table, "5", "REVOKE SELECT ON survey FROM U; GRANT SELECT (id, wage) ON survey TO U", "",
			"table S.survey: the user has no right to do this (SQLSTATE 42501)"},
		{"no USAGE of the schema", table, "5", "REVOKE ALL ON SCHEMA S FROM U", "", "SQLSTATE 42501"},
		{"no CREATE in the schema", table, "5", "REVOKE CREATE ON SCHEMA S FROM U", "",
			"table S.released: the user has no right to do this (SQLSTATE 42501)"},
		{"the earlier release is another's", table, "5", "ALTER TABLE released OWNER TO admin; GRANT ALL ON released TO U",
			"", "belongs to another user"},
		{"no right to log in", table, "5", "ALTER ROLE U NOLOGIN", "", "SQLSTATE 28000"},
		{"no connection", table, "5", "ALTER ROLE U CONNECTION LIMIT 0", "", "SQLSTATE 53300"},
		{"one connection", table, "5", "ALTER ROLE U CONNECTION LIMIT 1", "", "SQLSTATE 53300"},
		{"CREATE is taken away", query, "5", "", "REVOKE CREATE ON SCHEMA S FROM U",
			"table S.released: nothing is released: the user has no right to do this (SQLSTATE 42501)"},
		{"USAGE is taken away", query, "5", "", "REVOKE ALL ON SCHEMA S FROM U", "SQLSTATE 42501"},
		{"the earlier release is given away", query, "5", "", "ALTER TABLE released OWNER TO admin", "SQLSTATE 42501"},
		{"SELECT is taken away between passes", query, "5%", "", "REVOKE SELECT ON survey FROM U", "SQLSTATE 42501"},
	} {
		b.do(
			"DROP TABLE IF EXISTS released; CREATE TABLE released (earlier int); INSERT INTO released VALUES (7); ALTER ROLE " +
				user + " LOGIN CONNECTION LIMIT -1; REVOKE SELECT (id, wage) ON survey FROM " + user + ";" + in(whole))
		os.Remove(b.dir + "/r.json")
		b.do(in(c.before))
		pipeline(c.source, c.sd)
		ended := make(chan struct{})
		var status int
		var words string
		if c.during != "" {
			b.do(fmt.Sprintf("SELECT pg_advisory_lock(%d)", lock))
		}
		go func() {
			defer close(ended)
			status, words = b.run("run", "--quiet", "pipeline.yaml")
		}()
		if c.during != "" {
			eventually.True(t, "the run to wait", func() bool {
				return b.csv("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "count\n1\n"
			})
			b.do(in(c.during))
			b.do(fmt.Sprintf("SELECT pg_advisory_unlock(%d)", lock))
		}
		<-ended
		_, err := os.Stat(b.dir + "/r.json")
		want := 1
		if c.want == "" {
			want = 0
		}
		if status != want || !strings.Contains(words, strings.ReplaceAll(c.want, "S.", b.schema+".")) ||
			(err == nil) != (want == 0) {
			t.Errorf("%s: status %d, a report %v\n%s", c.name, status, err == nil, words)
		}
		if got := b.csv("SELECT * FROM released"); (got == "earlier\n7\n") != (want == 1) || b.tables() != "released survey" {
			t.Errorf("%s: there is %s, of it %.40q", c.name, b.tables(), got)
		}
	}
}
