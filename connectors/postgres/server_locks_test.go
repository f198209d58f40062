package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// other is a session of somebody else.
type other struct {
	*server
	db *conn
}

func (s *server) other() *other {
	o := &other{s, s.connect()}
	if err := o.db.do(context.Background(), "SET search_path = "+s.schema+"; SET lock_timeout = 0"); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (o *other) does(sql string) {
	o.t.Helper()
	if err := o.db.do(context.Background(), sql); err != nil {
		o.t.Fatalf("%s: %v", sql, err)
	}
}

// waits begins a statement that waits for a lock. The function returned waits for its end.
func (o *other) waits(sql string) (ended func() error) {
	o.t.Helper()
	done := make(chan error, 1)
	go func() { done <- o.db.do(context.Background(), sql) }()
	eventually.True(o.t, "a session to wait for a lock", func() bool {
		return o.text(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
			o.db.PID())) == "1\n"
	})
	return func() error { return <-done }
}

// lockPatience has sessions that are opened from now on wait so long for locks.
func lockPatience(t *testing.T, patience string) {
	was := lockWait
	lockWait = patience
	t.Cleanup(func() { lockWait = was })
}

// inUse fails unless an error says that a table was in use by others for too long, without a value.
func inUse(t *testing.T, what string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.State != "55P03" || !strings.HasPrefix(err.Error(), "table ") ||
		!strings.Contains(err.Error(), "in use by others") || strings.Contains(err.Error(), "Canary") {
		t.Errorf("%s: got %v", what, err)
	}
}

// What others have locked is waited for, and not without end: where it is released in time the run goes on, and where
// not, the earlier release stays, and nothing else is left.
func TestServerLocks(t *testing.T) {
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people SELECT i, 'Canary' || i FROM generate_series(1, 5000) i; CREATE TABLE released AS SELECT 7 AS earlier")
	lockPatience(t, "300ms")
	stays := func(what string) {
		t.Helper()
		if got := s.text("SELECT * FROM released"); got != "7\n" || s.tables() != "people released" {
			t.Errorf("%s: there are %s, of the release %q", what, s.tables(), got)
		}
	}
	o := s.other()

	// The source is locked before the run.
	o.does("BEGIN; LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
	_, err := s.open(SourceConfig{Table: "people"})
	inUse(t, "a source that is locked", err)
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := (&SourceConfig{Connection: s.at, Table: s.schema + ".people"}).Open(ctx); !errors.Is(err,
		context.Canceled) {
		t.Errorf("told to end while it waits: %v", err)
	}
	timer.Stop()
	o.does("COMMIT")

	// Somebody waits to change the source while it is read: the passes that follow wait behind him.
	src := s.opened(SourceConfig{Table: "people"})
	blocks, err := readAll(src, whole(src), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	altered := o.waits("ALTER TABLE people ADD COLUMN more int")
	_, err = readAll(src, whole(src), connectors.Cut{})
	inUse(t, "a pass behind a change of the table", err)
	if err := src.unchanged(); err != nil {
		t.Errorf("the snapshot is kept, and is called changed: %v", err)
	}
	src.Close()
	if err := altered(); err != nil {
		t.Fatal(err)
	}
	s.do("ALTER TABLE people DROP COLUMN more")

	// A reader of the earlier release, who in turn waits for the source, which is the run's own.
	src = s.opened(SourceConfig{Table: "people"})
	commit := func() error {
		sink, err := s.release("released", src, blocks)
		if err != nil {
			t.Fatal(err)
		}
		err = sink.Commit()
		sink.Abort()
		return err
	}
	o.does("BEGIN; SELECT * FROM released")
	inUse(t, "a release that is being read", commit())
	stays("a release that is being read")
	altered = o.waits("ALTER TABLE people ADD COLUMN more int")
	inUse(t, "a reader who waits for the source", commit())
	stays("a reader who waits for the source")
	src.Close()
	if err := altered(); err != nil {
		t.Fatal(err)
	}
	o.does("ROLLBACK")

	// The reader ends in time.
	lockPatience(t, "1min")
	src = s.opened(SourceConfig{Table: "people"})
	o.does("BEGIN; SELECT * FROM released")
	sink, err := s.release("released", src, blocks)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- sink.Commit() }()
	eventually.True(t, "the commit to wait", func() bool {
		return s.text(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
			connectionOf(sink).PID())) == "1\n"
	})
	o.does("COMMIT")
	if err := <-done; err != nil || s.text("SELECT count(*) FROM released") != "5000\n" {
		t.Errorf("a reader who ends in time: %v", err)
	}
}

// A deadlock that the server finds, and a failure to serialise, end the run, and the earlier release stays.
func TestServerRollsBack(t *testing.T) {
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people SELECT i, 'Canary' || i FROM generate_series(1, 500) i; CREATE TABLE released AS SELECT 7 AS earlier")
	src := s.opened(SourceConfig{Table: "people"})
	blocks, err := readAll(src, whole(src), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	const lock = 91824
	hook := func(body string) {
		s.do(
			"CREATE OR REPLACE FUNCTION meddle() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF current_setting('application_name') LIKE 'sdlfilter%' THEN " + body + " END IF; END $$")
	}
	hook("NULL;")
	s.do("CREATE EVENT TRIGGER meddles_t_serverrollsback ON ddl_command_start EXECUTE FUNCTION meddle()")
	defer s.do("DROP EVENT TRIGGER meddles_t_serverrollsback")
	ends := func(what, want string, sink interface {
		Commit() error
		Abort() error
	}) {
		t.Helper()
		err := sink.Commit()
		sink.Abort()
		var e *Error
		if !errors.As(err, &e) || e.State != want || !strings.Contains(err.Error(), "nothing is released") ||
			strings.Contains(err.Error(), "Canary") {
			t.Errorf("%s: got %v", what, err)
		}
		if got := s.text("SELECT * FROM released"); got != "7\n" || s.tables() != "people released" {
			t.Errorf("%s: there are %s, of the release %q", what, s.tables(), got)
		}
	}
	staged := func() connectors.Sink {
		t.Helper()
		sink, err := s.release("released", src, blocks)
		if err != nil {
			t.Fatal(err)
		}
		return sink
	}
	for _, state := range []string{"40001", "40P01", "42501", "53100", "55P03", "XX000"} {
		for _, tag := range []string{"DROP TABLE", "ALTER TABLE"} {
			hook("NULL;")
			sink := staged()
			hook("IF tg_tag = '" + tag + "' THEN RAISE EXCEPTION 'of Canary1' USING ERRCODE = '" + state + "'; END IF;")
			ends(tag+" "+state, state, sink)
		}
	}
	// The program drops the earlier release while it holds what a reader of it waits for.
	hook(fmt.Sprintf("IF tg_tag = 'DROP TABLE' THEN PERFORM pg_advisory_xact_lock(%d); END IF;", lock))
	o := s.other()
	o.does("SET application_name = 'a reader'; SET deadlock_timeout = '10min'; BEGIN; SELECT * FROM released")
	sink := staged()
	holds := make(chan error, 1)
	go func() {
		eventually.True(t, "the commit to wait", func() bool {
			return s.text(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
				connectionOf(sink).PID())) == "1\n"
		})
		holds <- o.db.do(context.Background(), fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lock))
	}()
	ends("a deadlock", "40P01", sink)
	if err := <-holds; err != nil {
		t.Errorf("the reader: %v", err)
	}
	o.does("COMMIT")
	hook("NULL;")
	sink = staged()
	if err := sink.Commit(); err != nil || s.text("SELECT count(*) FROM released") != "500\n" {
		t.Errorf("once more: %v", err)
	}
}
