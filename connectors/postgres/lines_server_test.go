package postgres

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
)

// ledger is a ledger in a table of the server's schema, for a user of its own with a password if one is given.
func (s *server) ledger(table, user string) *lines {
	s.t.Helper()
	address, err := url.Parse(s.at.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	at := s.at
	if user != "" {
		address.User = url.User(user)
		at.Password = connectors.Secret{Env: "P", Lookup: func(string) (string, bool) { return "of-" + user, true }}
	}
	t, err := place.ParseTable(address.String() + "?table=" + s.schema + "." + table)
	if err != nil {
		s.t.Fatal(err)
	}
	at.URL = t.URL
	l := &lines{at: at, table: *t}
	s.t.Cleanup(func() { l.Close() })
	return l
}

// clean demands that an error names the ledger once, and holds no words of the server's or the driver's.
func clean(t *testing.T, l *lines, err error) {
	t.Helper()
	if err != nil && (strings.Count(err.Error(), l.String()) != 1 || strings.Contains(err.Error(), "ERROR") ||
		strings.Contains(err.Error(), "\n")) {
		t.Errorf("the error is %v", err)
	}
}

const ledgerTable = " (number bigint PRIMARY KEY, ledger_line bytea NOT NULL)"

// Tables that lose, hide or publish lines, or that take two of one number, are refused, by a probe as by a run.
func TestServerTablesThatAreNoLedgers(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct{ name, make, words string }{
		{"right", "CREATE TABLE x" + ledgerTable, ""},
		{"with more", "CREATE TABLE x (number bigint, ledger_line bytea, at timestamptz DEFAULT now()); CREATE UNIQUE INDEX ON x (number)", ""},
		{"with a reader", "CREATE TABLE x" + ledgerTable + "; GRANT SELECT ON x TO pg_monitor", ""},
		{"view", "CREATE TABLE y" + ledgerTable + "; CREATE VIEW x AS TABLE y", "no table of its own"},
		{"partitioned", "CREATE TABLE x" + ledgerTable + " PARTITION BY RANGE (number)", "no table of its own"},
		{"unlogged", "CREATE UNLOGGED TABLE x" + ledgerTable, "not logged"},
		{"public", "CREATE TABLE x" + ledgerTable + "; GRANT SELECT ON x TO PUBLIC", "by everybody"},
		{"a public column", "CREATE TABLE x" + ledgerTable + "; GRANT SELECT (ledger_line) ON x TO PUBLIC", "by everybody"},
		{"no index", "CREATE TABLE x (number bigint, ledger_line bytea)", "unique index on number"},
		{"an index of two", "CREATE TABLE x (number bigint, ledger_line bytea, z int, UNIQUE (number, z))", "unique index on number"},
		{"a late index", "CREATE TABLE x (number bigint UNIQUE DEFERRABLE, ledger_line bytea)", "unique index on number"},
		{"a part of an index", "CREATE TABLE x (number bigint, ledger_line bytea); CREATE UNIQUE INDEX ON x (number) WHERE number > 5",
			"unique index on number"},
		{"another index", "CREATE TABLE x (number bigint, ledger_line bytea UNIQUE)", "unique index on number"},
		{"text", "CREATE TABLE x (number bigint PRIMARY KEY, ledger_line text)", "ledger_line bytea"},
		{"few numbers", "CREATE TABLE x (number int PRIMARY KEY, ledger_line bytea)", "number bigint"},
		{"another table", "CREATE TABLE x (a int)", "ledger_line bytea"},
	} {
		s.do(c.make)
		if err := s.ledger("x", "").Probe(t.Context()); (err != nil) != (c.words != "") || err != nil &&
			!strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: the probe says %v", c.name, err)
		}
		l := s.ledger("x", "")
		err := l.Hold(t.Context(), nil)
		clean(t, l, err)
		clean(t, l, s.ledger("x", "").Probe(t.Context()))
		if (err != nil) != (c.words != "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err == nil {
			if err := errors.Join(add(l, "one"), add(l, "two")); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		l.Close()
		s.do("DROP VIEW IF EXISTS " + s.schema + ".v; DO $$ BEGIN EXECUTE (SELECT coalesce(string_agg(format('DROP ' || CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END || ' %I.%I', '" +
			s.schema + "', relname), ';' ORDER BY relkind DESC), 'SELECT 1') FROM pg_class WHERE relkind IN ('r', 'v', 'p') AND relnamespace = '" +
			s.schema + "'::regnamespace); END $$")
	}
	none := s.ledger("x", "")
	none.table.Schema = "nowhere"
	if err := none.Hold(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "there is no such schema") {
		t.Errorf("no schema: %v", err)
	}
	if _, err := none.Read(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no schema is read: %v", err)
	}
}

func add(l *lines, line string) error {
	if _, err := l.Read(context.Background()); err != nil {
		return err
	}
	return l.Add(context.Background(), []byte(line+"\n"))
}

// Rows that are not numbered from 1 on, or of two lines, are no lines of a ledger.
func TestServerLedgerRows(t *testing.T) {
	s := newServer(t)
	s.do("CREATE TABLE x" + ledgerTable)
	for rows, want := range map[string]string{
		"": "", "(1, 'a'), (2, 'b')": "a\nb\n", "(2, 'b')": "\nb\n", "(0, 'z'), (1, 'a')": "\nz\n\na\n",
		"(1, 'a'), (3, 'b')": "a\n\nb\n", `(1, '\x610a62')`: "\na\nb\n", "(-5, 'z')": "\nz\n",
	} {
		s.do("TRUNCATE x")
		if rows != "" {
			s.do("INSERT INTO x VALUES " + rows)
		}
		if text, err := s.ledger("x", "").Read(t.Context()); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", rows, text, err, want)
		}
	}
}

// Of a table of somebody else's who lets the program read and add, and do nothing more, a ledger can be made; without
// one of the two rights, or where rows are hidden, a run says so as it begins. Defaults of the role are none of a
// ledger's: a line is on the disk when it is added.
func TestServerLedgerRights(t *testing.T) {
	s := newServer(t)
	s.do("DROP ROLE IF EXISTS adds")
	s.do("CREATE ROLE adds LOGIN PASSWORD 'of-adds'; GRANT USAGE ON SCHEMA " + s.schema + " TO adds; ALTER ROLE adds SET synchronous_commit = off; ALTER ROLE adds SET default_transaction_read_only = on; ALTER ROLE adds SET default_transaction_isolation = serializable; CREATE TABLE x" +
		ledgerTable)
	t.Cleanup(func() { s.do("DROP OWNED BY adds; DROP ROLE adds") })
	for _, c := range []struct{ change, words string }{
		{"GRANT SELECT ON x TO adds", "no right"}, {"REVOKE ALL ON x FROM adds; GRANT INSERT ON x TO adds", "no right"},
		{"GRANT SELECT, INSERT ON x TO adds", ""},
		{"ALTER TABLE x ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON x USING (true)", "row security"},
		{"ALTER TABLE x DISABLE ROW LEVEL SECURITY", ""},
	} {
		s.do(c.change)
		l := s.ledger("x", "adds")
		err, probed := l.Hold(t.Context(), nil), s.ledger("x", "adds").Probe(t.Context())
		for _, err := range []error{err, probed} {
			clean(t, l, err)
			if (err != nil) != (c.words != "") || err != nil && (!strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "of-adds")) {
				t.Errorf("%s: error %v", c.change, err)
			}
		}
		if err == nil {
			if err := add(l, c.change); err != nil {
				t.Errorf("%s: %v", c.change, err)
			}
			db, err := l.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if row, err := db.row(t.Context(), "SELECT current_setting('synchronous_commit')"); err != nil || row[0] != "on" {
				t.Errorf("synchronous_commit is %v, %v", row, err)
			}
			db.close()
		}
		l.Close()
	}
	if err := s.ledger("new", "adds").Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "no right") {
		t.Errorf("a table that the user may not make: %v", err)
	}
	clean(t, s.ledger("new", "adds"), s.ledger("new", "adds").Probe(t.Context()))
	wrong := s.ledger("x", "adds")
	wrong.at.Password.Lookup = func(string) (string, bool) { return "another-secret", true }
	if _, err := wrong.Read(t.Context()); err != nil {
		clean(t, wrong, err)
	}
	clean(t, wrong, wrong.Add(t.Context(), []byte("x\n")))
	if err := wrong.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "password is wrong") ||
		strings.Contains(err.Error(), "another-secret") || strings.Contains(err.Error(), "adds") {
		t.Errorf("a wrong password: %v", err)
	}
}

// No release takes a ledger's place.
func TestServerReleaseOverALedger(t *testing.T) {
	s := newServer(t)
	s.do("CREATE TABLE survey (id int PRIMARY KEY)")
	src := s.opened(SourceConfig{Table: "survey"})
	l := s.ledger("ledger", "")
	if err := errors.Join(l.Hold(t.Context(), nil), add(l, "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.release("ledger", src, nil); err == nil || !strings.Contains(err.Error(), "is a ledger of releases") {
		t.Errorf("error %v", err)
	}
	if text, err := l.Read(t.Context()); err != nil || string(text) != "one\n" {
		t.Errorf("the ledger is %q, %v", text, err)
	}
}
