package postgres

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// server is a separate schema on the server of make test-postgres.
type server struct {
	t      *testing.T
	at     Connection
	db     *conn
	schema string
}

func newServer(t *testing.T) *server {
	t.Helper()
	url := os.Getenv("SDLFILTER_TEST_POSTGRES")
	if url == "" {
		t.Skip("needs a server: make test-postgres")
	}
	s := &server{t: t, schema: "t_" + strings.ToLower(t.Name()), at: Connection{URL: url,
		Password: connectors.Secret{Env: "PASSWORD", Lookup: func(string) (string, bool) {
			return os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD"), true
		}}}}
	s.db = s.connect()
	s.do("DROP SCHEMA IF EXISTS " + s.schema + " CASCADE; CREATE SCHEMA " + s.schema + "; SET search_path = " + s.schema)
	t.Cleanup(func() { s.do("DROP SCHEMA " + s.schema + " CASCADE") })
	return s
}

func (s *server) connect() *conn {
	s.t.Helper()
	db, err := s.at.connect(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(db.close)
	return db
}

func (s *server) do(sql string) {
	s.t.Helper()
	if err := s.db.do(context.Background(), sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *server) open(c SourceConfig) (*Source, error) {
	c.Connection = s.at
	if c.Table != "" {
		c.Table = s.schema + "." + c.Table
	}
	src, err := c.Open(s.t.Context())
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { src.Close() })
	return src.(*Source), nil
}

func (s *server) opened(c SourceConfig) *Source {
	s.t.Helper()
	src, err := s.open(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return src
}

// whole returns a layout of all columns, as arrays.
func whole(src connectors.Source) *microdata.Layout {
	l := &microdata.Layout{Schema: src.Schema()}
	for i, f := range l.Schema.Fields {
		l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Array})
		l.Release = append(l.Release, microdata.Output{Field: f, Source: i, Column: i, Decimals: -1})
	}
	return l
}

// readAll reads all records into blocks.
func readAll(src connectors.Source, layout *microdata.Layout, cut connectors.Cut) (blocks []*microdata.Block,
	err error) {
	r, err := src.Read(context.Background(), layout, cut)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		raw, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return blocks, nil
		}
		if err != nil {
			return nil, err
		}
		b := new(microdata.Block)
		if err := raw.Decode(b); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
}

// values returns the values of the records as text.
func values(blocks []*microdata.Block) (rows [][]string) {
	for _, b := range blocks {
		for i := range b.N {
			row := make([]string, len(b.Columns))
			for c := range b.Columns {
				if a := b.Columns[c].Array; a.IsNull(i) {
					row[c] = "NULL"
				} else {
					row[c] = a.ValueStr(i)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// release writes blocks into a table.
func (s *server) release(table string, src connectors.Source, blocks []*microdata.Block) (connectors.Sink, error) {
	sink, err := (&SinkConfig{Connection: s.at, Table: s.schema + "." + table}).Create(s.t.Context(),
		connectors.Plan{Source: src, Layout: whole(src)})
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { sink.Abort() })
	for _, b := range blocks {
		e, err := sink.Encode(b)
		if err == nil {
			err = sink.Write(s.t.Context(), e)
		}
		if err != nil {
			return nil, errors.Join(err, sink.Abort())
		}
	}
	if err := sink.Finish(s.t.Context()); err != nil {
		return nil, errors.Join(err, sink.Abort())
	}
	return sink, nil
}

// text returns the server's result of a query, as CSV.
func (s *server) text(query string) string {
	s.t.Helper()
	var out bytes.Buffer
	if _, err := s.db.CopyTo(context.Background(), &out, "COPY ("+query+") TO STDOUT (FORMAT csv, NULL 'NULL')"); err !=
		nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// tables returns the tables of the schema that other connections see.
func (s *server) tables() string {
	return strings.Join(
		strings.Fields(
			s.text("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '"+s.schema+
				"'::regnamespace ORDER BY 1")), " ")
}

const types = `CREATE TABLE types (id bigint PRIMARY KEY, b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision,
  n numeric(20,4), bare numeric, t text, v varchar(20), c char(5), d date, ts timestamp, tz timestamptz, u uuid, j jsonb, e interval);
INSERT INTO types VALUES (3, true, -32768, -2147483648, -9223372036854775808, 1.5, 1e300, -12345678901234.5678, 12345.678, E'a"b\\c\nd', '', 'ab', '1969-12-31', '1969-12-31 23:59:59.999999', '2026-03-29 01:30:00+02', '00000000-0000-0000-0000-000000000001', '{"a": [1, null]}', '1 day 02:03:04'),
  (1, false, 32767, 2147483647, 9223372036854775807, 'NaN', '-Infinity', 0, 0, 'å☃𝄞', 'x', 'x', '2000-01-01', '2000-01-01', '2000-01-01Z', NULL, '"x"', '0'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, true, 0, 0, 0, '-0', '-0', 0.0001, 1e-10, 'NULL', ' ', '', '4713-01-01 BC', '4713-01-01 BC', '294200-01-01Z', NULL, 'null', '-1 year')`

// Every type is read as the server prints it, and is written back unchanged.
func TestServerTypes(t *testing.T) {
	s := newServer(t)
	s.do(types)
	src := s.opened(SourceConfig{Table: "types"})
	var names []string
	for _, f := range src.Schema().Fields {
		names = append(names, f.Type.String())
	}
	if got, want := strings.Join(names,
		" "),
		"int64 bool int16 int32 int64 float32 float64 decimal(20, 4) float64 utf8 utf8 utf8 date32 timestamp[us] timestamp[us, tz=UTC] utf8 utf8 utf8"; got != want {
		t.Errorf("types are %s", got)
	}
	for i, f := range src.Schema().Fields {
		if f.Nullable != (i > 0) {
			t.Errorf("%s may be null: %v", f.Name, f.Nullable)
		}
	}
	blocks, err := readAll(src, whole(src), connectors.Cut{Records: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if !b.Whole() {
			t.Errorf("rejected: %+v", b.Rejects)
		}
	}
	sink, err := s.release("released", src, blocks)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Commit(); err != nil {
		t.Fatal(err)
	}
	const columns = "id, b, i2, i4, i8, f4, f8, n, bare::float8, t, v, c::text, d, ts, tz, u::text, j::text, e::text"
	plain := func(text string) string {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			row[11] = strings.TrimRight(row[11], " ") // the text of char(5)
		}
		return fmt.Sprint(rows)
	}
	want, got := plain(s.text("SELECT "+columns+" FROM types ORDER BY id")),
		plain(s.text("SELECT "+columns+" FROM released"))
	if got != want || strings.Count(got, "[") < 4 {
		t.Errorf("released:\n%s\nread:\n%s", got, want)
	}
	if got := fmt.Sprint(values(blocks)[2][1:10]); !strings.Contains(got, "-9223372036854775808") ||
		!strings.Contains(got, "-12345678901234.5678") {
		t.Errorf("record 3 is %s", got)
	}
}

// A value that a type cannot hold is rejected, and the reason does not contain the value.
func TestServerRejects(t *testing.T) {
	s := newServer(t)
	s.do(`CREATE TABLE odd (id int PRIMARY KEY, d date, ts timestamp, n numeric(10,2), bare numeric);
INSERT INTO odd VALUES (1, 'infinity', NULL, NULL, NULL), (2, NULL, '-infinity', NULL, NULL), (3, NULL, NULL, 'NaN', NULL), (4, NULL, NULL, NULL, 1234567890.12345678901), (5, '2020-01-01', '294276-12-31', NULL, NULL), (6, NULL, NULL, 1, 1.5)`)
	src := s.opened(SourceConfig{Table: "odd"})
	blocks, err := readAll(src, whole(src), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range blocks[0].Rejects {
		got = append(got, r.Column+" "+r.Reason)
		if strings.Contains(r.Reason, "1234567890") {
			t.Error(r)
		}
	}
	want := []string{"d " + infiniteDate, "ts " + infiniteTime, "ts " + beyondTime, "n " + notFinite, "bare " + manyDigits}
	if !slices.Equal(got, want) {
		t.Errorf("rejected: %q", got)
	}
}

// All passes read the state at the beginning, in one order, whatever other connections do. A pass
// that ends early does not affect the next one. A table that is being read cannot be truncated or
// altered.
func TestServerSnapshot(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int, name text, wage float8, PRIMARY KEY (name, id)); INSERT INTO people SELECT i, 'n' || i % 7, i * 1.5 FROM generate_series(1, 20000) i")
	before := s.text(`SELECT * FROM people ORDER BY name COLLATE "C", id`)
	for _, c := range []SourceConfig{
		{Table: "people"}, {Query: "SELECT * FROM " + s.schema + ".people -- all;", Order: []string{"name", "id"}}} {
		src := s.opened(c)
		other := s.connect()
		for i, change := range []string{"INSERT INTO people VALUES (0, 'n0', 1)",
			"UPDATE people SET wage = -1 WHERE id % 3 = 0", "DELETE FROM people WHERE id % 2 = 0", "VACUUM people"} {
			if err := other.do(t.Context(), "SET search_path = "+s.schema); err != nil {
				t.Fatal(err)
			}
			if err := other.do(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			r, err := src.Read(t.Context(), whole(src), connectors.Cut{Records: 100})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			blocks, err := readAll(src, whole(src), connectors.Cut{Records: 1000 + i, Exact: i%2 > 0})
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			w := csv.NewWriter(&got)
			w.WriteAll(values(blocks))
			if got.String() != before {
				t.Fatalf("after %s the pass reads another state", change)
			}
			if err := src.unchanged(); err != nil {
				t.Error(err)
			}
		}
		for _, change := range []string{"TRUNCATE people", "ALTER TABLE people DROP COLUMN wage", "DROP TABLE people"} {
			if err := other.do(t.Context(), "SET lock_timeout = '50ms'; "+change); err == nil {
				t.Errorf("%s was done", change)
			}
		}
		src.Close()
		s.do("TRUNCATE people; INSERT INTO people SELECT i, 'n' || i % 7, i * 1.5 FROM generate_series(1, 20000) i")
	}
}

// A source without a unique order or without one consistent state is refused. The error says what
// to do and contains no value of a row.
func TestServerRefuses(t *testing.T) {
	s := newServer(t)
	s.do(
		`CREATE TABLE bare (id int, name text, f float8); INSERT INTO bare VALUES (1, 'Canary', 1), (2, 'Canary', 2), (2, 'x', 3);
CREATE VIEW broken AS SELECT id, f, (name || f)::int AS n FROM bare;
CREATE TABLE big (id int PRIMARY KEY); INSERT INTO big SELECT generate_series(1, 30000);
CREATE FUNCTION late(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i > 25000 THEN RAISE EXCEPTION 'Canary %', i USING DETAIL = 'Canary', HINT = 'Canary'; END IF; RETURN i; END $$;
CREATE ROLE ` + s.schema + ` LOGIN PASSWORD 'of-the-tests'`)
	t.Cleanup(func() { s.do("DROP ROLE " + s.schema) })
	in := func(query string) string { return strings.ReplaceAll(query, "S.", s.schema+".") }
	for _, c := range []struct {
		config SourceConfig
		want   string
	}{
		{SourceConfig{Table: "bare"}, "has no primary key"},
		{SourceConfig{Table: "bare", Order: []string{"name"}}, "has the same values in the columns of its order"},
		{SourceConfig{Table: "bare", Order: []string{"id"}}, "record 3 has the same values"},
		{SourceConfig{Table: "bare", Order: []string{"f"}}, "is of a type by which records have no order"},
		{SourceConfig{Table: "bare", Order: []string{"other"}}, `order names the column "other", which is not there`},
		{SourceConfig{Table: "broken", Order: []string{"f"}}, "is of a type by which"},
		{SourceConfig{Table: "broken", Order: []string{"n"}},
			"a value is not one that the server takes here (its log has the place) (SQLSTATE 22P02)"},
		{SourceConfig{Query: in("SELECT id, S.late(id) FROM S.big"), Order: []string{"id"}},
			"the server refused (SQLSTATE P0001)"},
		{SourceConfig{Table: "none"}, "there is no such table (SQLSTATE 42P01)"},
		{SourceConfig{Query: "SELECT 1 AS id; DROP TABLE big", Order: []string{"id"}}, "no valid statement"},
		{SourceConfig{Query: in("DELETE FROM S.bare RETURNING id"), Order: []string{"id"}}, "no valid statement"},
		{SourceConfig{Query: "SELECT 1 AS id) AS q; DROP TABLE big; SELECT * FROM (SELECT 1 AS id", Order: []string{"id"}},
			"no valid statement"},
		{SourceConfig{Query: "SELECT 1 AS id, 2 AS id", Order: []string{"id"}}, `has one name for columns 1 and 2`},
		{SourceConfig{Query: in("SELECT id, random() AS r FROM S.big"), Order: []string{"id"}},
			"gives different records each time that it is read"},
		{SourceConfig{Query: in("SELECT nextval('S.seq')"), Order: []string{"nextval"}}, "takes no writing"},
	} {
		s.do("CREATE SEQUENCE IF NOT EXISTS seq")
		src, err := s.open(c.config)
		for range 2 {
			if err == nil {
				_, err = readAll(src, whole(src), connectors.Cut{})
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Canary") {
			t.Errorf("%+v: got %v, want %s", c.config.Query+c.config.Table, err, c.want)
		}
	}
	if got := s.tables(); got != "bare big" {
		t.Errorf("there is %s", got)
	}
	wrong := *s
	wrong.at.Password.Lookup = func(string) (string, bool) { return "Canary", true }
	if _, err := wrong.open(SourceConfig{Table: "big"}); err == nil ||
		err.Error() != "connecting to PostgreSQL: the password is wrong, or there is none (SQLSTATE 28P01)" {
		t.Errorf("a wrong password: %v", err)
	}
	stranger := *s
	stranger.at.URL = strings.Replace(s.at.URL, "admin", s.schema, 1)
	if _, err := stranger.open(SourceConfig{Table: "big"}); err == nil ||
		!strings.Contains(err.Error(), "the user has no right to do this (SQLSTATE 42501)") {
		t.Errorf("without rights: %v", err)
	}
	if _, err := stranger.release("out", s.opened(SourceConfig{Table: "big"}), nil); err == nil ||
		!strings.Contains(err.Error(), "the user has no right") {
		t.Errorf("without rights: %v", err)
	}
	stranger.at.URL = "postgres://u@127.0.0.1:1/d"
	if _, err := stranger.open(SourceConfig{Table: "big"}); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without a server: %v", err)
	}
}

// A release appears as a whole in place of the earlier one, and readers keep their permissions.
// Before that, and after an abort, nobody sees any of it.
func TestServerRelease(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int PRIMARY KEY, wage float8); INSERT INTO people SELECT i, i FROM generate_series(1, 10000) i")
	src := s.opened(SourceConfig{Table: "people"})
	blocks, err := readAll(src, whole(src), connectors.Cut{Records: 777})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		sink, err := s.release("out", src, blocks)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.tables(); round == 0 && got != "people" || round > 0 && s.text("SELECT count(*) FROM out") != "1\n" {
			t.Errorf("before the commit there is %s", got)
		}
		if round == 0 {
			if err := sink.Abort(); err != nil {
				t.Fatal(err)
			}
			if err := sink.Commit(); err != nil || s.tables() != "people" {
				t.Errorf("given up, there is %s, %v", s.tables(), err)
			}
			s.do(
				"CREATE TABLE out (last int); INSERT INTO out VALUES (1); GRANT SELECT ON out TO PUBLIC; GRANT INSERT ON out TO pg_monitor WITH GRANT OPTION")
			continue
		}
		if err := sink.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := s.text(
			"SELECT count(*), sum(wage), has_table_privilege('pg_read_server_files', 'out', 'SELECT'), has_table_privilege('pg_monitor', 'out', 'INSERT WITH GRANT OPTION') FROM out"); got != "10000,50005000,t,t\n" || s.tables() != "out people" {
			t.Errorf("released is %s, %s", got, s.tables())
		}
		if err := sink.Abort(); err != nil || s.tables() != "out people" {
			t.Errorf("after the commit: %v, %s", err, s.tables())
		}
		s.do(
			"DROP TABLE out; CREATE TABLE out (last int); INSERT INTO out VALUES (1); GRANT SELECT ON out TO PUBLIC; GRANT INSERT ON out TO pg_monitor WITH GRANT OPTION")
	}
}

// If a table cannot be replaced, that is an error before anything is read, and the table does not
// change.
func TestServerReleaseRefused(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		`CREATE TABLE people (id int PRIMARY KEY, wage float8); INSERT INTO people SELECT i, i FROM generate_series(1, 100) i;
CREATE VIEW seen AS SELECT * FROM people; CREATE TABLE viewed (id int); CREATE VIEW over AS SELECT * FROM viewed;
CREATE TABLE alone (id int PRIMARY KEY); CREATE TABLE parts (id int) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)`)
	all := s.tables()
	for _, c := range []struct{ source, table, want string }{
		{"alone", "alone", "would take the place of its own source"},
		{"seen", "people", "depend on it"},
		{"people", "seen", "is no table of its own"},
		{"people", "parts", "is no table of its own"},
		{"people", "part", "is no table of its own"},
		{"people", "viewed", "other objects (views, foreign keys, sequences) depend on it"},
	} {
		src := s.opened(SourceConfig{Table: c.source, Order: []string{"id"}})
		_, err := s.release(c.table, src, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %s: %v", c.source, c.table, err)
		}
		src.Close()
	}
	query := s.opened(
		SourceConfig{Query: "SELECT p.id FROM " + s.schema + ".people p LEFT JOIN " + s.schema + ".alone a ON p.id = a.id",
			Order: []string{"id"}})
	if _, err := s.release("alone", query, nil); err == nil || !strings.Contains(err.Error(), "its own source") {
		t.Errorf("a table that the query reads: %v", err)
	}
	if _, err := (&SinkConfig{Connection: s.at, Table: "nowhere.out"}).Create(t.Context(),
		connectors.Plan{Layout: &microdata.Layout{}}); err == nil || !strings.Contains(err.Error(), "there is no such schema") {
		t.Errorf("no schema: %v", err)
	}
	if s.tables() != all {
		t.Errorf("there is %s", s.tables())
	}
}
