package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// configs are sources of tables of the schema.
func (s *server) configs(tables ...string) (all []connectors.SourceConfig) {
	for _, name := range tables {
		all = append(all, &SourceConfig{Connection: s.at, Table: s.schema + "." + name})
	}
	return all
}

// records is how many records each of the sources has.
func records(t *testing.T, sources ...connectors.Source) (list []int) {
	t.Helper()
	for _, src := range sources {
		blocks, err := readAll(src, whole(src), connectors.Cut{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, len(values(blocks)))
	}
	return list
}

// Sources that are opened together read the state of the first, whatever is written between their snapshots, and each
// pass of them does. Those of another database have a state of their own.
func TestServerTogether(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		"CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 5); INSERT INTO b SELECT generate_series(1, 5); INSERT INTO c SELECT generate_series(1, 5)")
	var held []*Source
	var sources []connectors.Source
	for _, c := range s.configs("a", "b", "c") {
		src, err := c.(*SourceConfig).hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		held, sources = append(held, src), append(sources, src)
	}
	for i, src := range held {
		s.do(fmt.Sprintf("INSERT INTO a VALUES (%d); INSERT INTO b VALUES (%[1]d); INSERT INTO c VALUES (%[1]d)", 10+i))
		for _, step := range []error{src.take(t.Context(), held[:i]), src.describe(t.Context()), src.arrange(t.Context())} {
			if step != nil {
				t.Fatal(step)
			}
		}
	}
	s.do("DELETE FROM a; DELETE FROM b; DELETE FROM c")
	for range 2 {
		if got := records(t, sources...); fmt.Sprint(got) != "[6 6 6]" {
			t.Errorf("the sources have %v records", got)
		}
	}
	if held[0].State() == "" || held[1].State() != held[0].State() || held[2].State() != held[0].State() {
		t.Errorf("the states are %q, %q and %q", held[0].State(), held[1].State(), held[2].State())
	}
	for _, src := range held {
		src.Close()
	}

	elsewhere := s.schema + "_db"
	s.do("DROP DATABASE IF EXISTS " + elsewhere)
	s.do("CREATE DATABASE " + elsewhere)
	defer s.do("DROP DATABASE " + elsewhere)
	there := *s
	there.at.URL = strings.Replace(s.at.URL, "/postgres", "/"+elsewhere, 1)
	there.schema = "public"
	db, err := there.at.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.do(t.Context(), "CREATE TABLE a (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	db.close()
	for _, c := range []struct{ all, states string }{
		{"here a, here b", "0 0"}, {"here a", "0"}, {"here a, there a", "0 1"}, {"there a, here a", "0 1"},
		{"here a, there a, here b", "0 1 0"}, {"there a, here a, here b, there a", "0 1 1 0"},
	} {
		var all []connectors.SourceConfig
		for name := range strings.SplitSeq(c.all, ", ") {
			at := map[string]*server{"here": s, "there": &there}[name[:len(name)-2]]
			all = append(all, at.configs(name[len(name)-1:])...)
		}
		list, err := openTogether(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		number, states := map[string]int{}, ""
		for _, src := range list {
			state := src.Abilities().Snapshot.State()
			if _, known := number[state]; !known {
				number[state] = len(number)
			}
			states += fmt.Sprint(" ", number[state])
			src.Close()
		}
		if states[1:] != c.states {
			t.Errorf("%s: the states are%s", c.all, states)
		}
	}

	// Whichever cannot be opened, none is, and the list says which: at its lock, or afterwards.
	s.do("CREATE TABLE bare (id int)")
	for _, broken := range []string{"none", "bare"} {
		for at := range 3 {
			names := []string{"a", "b", "c"}
			names[at] = broken
			list, err := openTogether(t.Context(), s.configs(names...))
			if err == nil || len(list) != at || !strings.Contains(err.Error(), "."+broken+":") {
				t.Errorf("%v: %v, a list of %d", names, err, len(list))
			}
		}
	}
	s.do("DROP TABLE a, b, c") // no lock is left
}

// joint is a transaction for releases into tables of the schema.
func (s *server) joint(t *testing.T, sources []connectors.Source, tables ...string) (connectors.Together,
	[]connectors.SinkConfig) {
	t.Helper()
	var sinks []connectors.SinkConfig
	for _, name := range tables {
		sinks = append(sinks, &SinkConfig{Connection: s.at, Table: s.schema + "." + name})
	}
	tx, err := together(sinks, sources)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range sinks {
		if sinks[i], err = tx.Sink(sinks[i]); err != nil {
			t.Fatal(err)
		}
	}
	return tx, sinks
}

// Releases of one transaction appear with its commit, all of them, and before it none. One that is written again takes
// the place of the one before, and one that is given up while it is written takes all others with it.
func TestServerReleaseTogether(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do("CREATE TABLE people (id int PRIMARY KEY); INSERT INTO people SELECT generate_series(1, 1000)")
	src := s.opened(SourceConfig{Table: "people"})
	blocks, err := readAll(src, whole(src), connectors.Cut{Records: 100})
	if err != nil {
		t.Fatal(err)
	}
	earlier := func() {
		s.do(
			"DROP TABLE IF EXISTS x, y; CREATE TABLE x (earlier int); INSERT INTO x VALUES (7); CREATE TABLE y (earlier int); INSERT INTO y VALUES (7); GRANT SELECT ON x TO PUBLIC")
	}
	there := func() string {
		if tables := s.tables(); tables != "people x y" {
			return tables
		}
		return s.text("SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y)")
	}
	write := func(c connectors.SinkConfig, parts int, finish bool) connectors.Sink {
		t.Helper()
		sink, err := c.Create(t.Context(), connectors.Plan{Source: src, Layout: whole(src)})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks[:parts] {
			e, err := sink.Encode(b)
			if err == nil {
				err = sink.Write(t.Context(), e)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if finish {
			if err := sink.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return sink
	}
	const before, after = "1,1\n", "300,1000\n"
	earlier()
	all := []connectors.Source{src}

	tx, sinks := s.joint(t, all, "x", "y")
	write(sinks[0], 10, true).Abort() // again, with fewer records
	first := write(sinks[0], 3, true)
	write(sinks[1], 0, false).Abort() // as validate --connect does
	write(sinks[1], 0, true).Abort()
	second := write(sinks[1], 10, true)
	if got := there(); got != before {
		t.Errorf("before the commit there is %s", got)
	}
	for _, sink := range []connectors.Sink{first, second} {
		if err := sink.Commit(); err != nil || s.tables() != "people x y" {
			t.Fatalf("%v: there is %s", err, s.tables())
		}
	}
	if err := second.Abort(); err != nil { // too late for one alone
		t.Error(err)
	}
	if err := tx.Commit(); err != nil || there() != after ||
		s.text("SELECT has_table_privilege('pg_monitor', 'x', 'SELECT'), has_table_privilege('pg_monitor', 'y', 'SELECT')") !=
			"t,f\n" {
		t.Fatalf("%v: there is %s", err, there())
	}
	first.Abort()
	if err := tx.Abort(); err != nil || there() != after {
		t.Errorf("after the commit: %v, there is %s", err, there())
	}

	for name, fail := range map[string]func(tx connectors.Together, sinks []connectors.SinkConfig) error{
		"given up": func(tx connectors.Together, sinks []connectors.SinkConfig) error {
			first, second := write(sinks[0], 3, true), write(sinks[1], 10, true)
			first.Commit()
			second.Commit()
			tx.Abort()
			return tx.Commit()
		},
		"the second is given up while it is written": func(tx connectors.Together, sinks []connectors.SinkConfig) error {
			first, second := write(sinks[0], 3, true), write(sinks[1], 10, false)
			second.Abort()
			if err := first.Commit(); err == nil {
				t.Error("the first is committed")
			}
			return tx.Commit()
		},
		"the second cannot be dropped": func(tx connectors.Together, sinks []connectors.SinkConfig) error {
			first, second := write(sinks[0], 3, true), write(sinks[1], 10, true)
			first.Commit()
			second.(*sink).staging = s.schema + ".none"
			second.Abort()
			return tx.Commit()
		},
		"the second is begun and not there": func(tx connectors.Together, sinks []connectors.SinkConfig) error {
			first := write(sinks[0], 3, true)
			s.do("ALTER TABLE y RENAME TO z; CREATE VIEW y AS SELECT * FROM z")
			defer s.do("DROP VIEW y; ALTER TABLE z RENAME TO y")
			_, err := sinks[1].Create(t.Context(), connectors.Plan{Source: src, Layout: whole(src)})
			if err == nil || !strings.Contains(err.Error(), "is no table of its own") {
				t.Errorf("got %v", err)
			}
			first.Commit()
			return tx.Commit()
		},
		"the connection is lost": func(tx connectors.Together, sinks []connectors.SinkConfig) error {
			first, second := write(sinks[0], 3, true), write(sinks[1], 10, true)
			first.Commit()
			second.Commit()
			s.text(fmt.Sprintf("SELECT pg_terminate_backend(%d)", connectionOf(first).PID()))
			return tx.Commit()
		},
	} {
		earlier()
		tx, sinks := s.joint(t, all, "x", "y")
		err := fail(tx, sinks)
		if err == nil || strings.Contains(err.Error(), "Canary") || !strings.Contains(err.Error(), "nothing is released") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := tx.Abort(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := there(); got != before {
			t.Errorf("%s: there is %s", name, got)
		}
	}
	// Who has read one of the tables reads the other of the same run, and the commit waits for him.
	earlier()
	o := s.other()
	o.does("BEGIN; SELECT * FROM x")
	tx, sinks = s.joint(t, all, "x", "y")
	first, second = write(sinks[0], 3, true), write(sinks[1], 10, true)
	done := make(chan error, 1)
	go func() { done <- errors.Join(first.Commit(), second.Commit(), tx.Commit()) }()
	eventually.True(t, "the commit to wait", func() bool {
		return s.text(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
			connectionOf(first).PID())) == "1\n"
	})
	o.does("DO $$ BEGIN ASSERT (SELECT earlier = 7 FROM y); END $$; COMMIT")
	if err := <-done; err != nil || there() != after {
		t.Errorf("%v: there is %s", err, there())
	}

	if tx, err := together([]connectors.SinkConfig{&SinkConfig{Table: "x"}}, nil); err != nil || tx.Abort() != nil {
		t.Errorf("a transaction that never began: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tx, err = together(sinks, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Ready(ctx); err == nil {
		t.Error("ready, when told to end")
	}
	tx.Abort()
}
