package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A connection that is lost during a release leaves nothing behind, neither here nor on the server.
func TestServerConnectionLost(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people SELECT i, 'Canary' || repeat('x', 200) FROM generate_series(1, 100000) i")
	kill := func(db *conn) {
		s.text(fmt.Sprintf("SELECT pg_terminate_backend(%d)", db.PID()))
		eventually.True(t, "the connection to have ended", func() bool {
			return s.text(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d", db.PID())) == "0\n"
		})
	}
	src := s.opened(SourceConfig{Table: "people"})
	r, err := src.Read(t.Context(), whole(src), connectors.Cut{Records: 100})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	if err := raw.Decode(b); err != nil {
		t.Fatal(err)
	}
	kill(r.(*pass).db)
	for err == nil {
		_, err = r.Next(t.Context())
	}
	if errors.Is(err, io.EOF) || strings.Contains(err.Error(), "Canary") || !strings.HasPrefix(err.Error(), "table ") {
		t.Errorf("a pass without its connection ends with %v", err)
	}
	r.Close()

	sink, err := s.release("out", src, []*microdata.Block{b})
	if err != nil {
		t.Fatal(err)
	}
	kill(connectionOf(sink))
	if err := sink.Commit(); err == nil || strings.Contains(err.Error(), "Canary") {
		t.Errorf("a commit without a connection: %v", err)
	}
	sink.Abort()

	sink,
		err = (&SinkConfig{Connection: s.at, Table: s.schema + ".out"}).Create(t.Context(),
		connectors.Plan{Source: src, Layout: whole(src)})
	if err != nil {
		t.Fatal(err)
	}
	kill(connectionOf(sink))
	e, err := sink.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err = sink.Write(t.Context(), e); err != nil {
			break
		}
	}
	if err == nil {
		err = sink.Finish(t.Context())
	}
	if err == nil || strings.Contains(err.Error(), "Canary") {
		t.Errorf("a COPY without a connection ends with %v", err)
	}
	sink.Abort()
	if s.tables() != "people" {
		t.Errorf("there is %s", s.tables())
	}

	// If the connection that holds the snapshot ends, that is noticed before anything is published.
	kill(src.keeper)
	if err := src.unchanged(); err == nil {
		t.Error("a snapshot that is lost is called unchanged")
	}
	if _, err := src.Read(t.Context(), whole(src), connectors.Cut{}); err == nil {
		t.Error("a snapshot that is lost is read")
	}
}

// A cancelled call returns at once.
func TestServerCancelled(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newServer(t)
	s.do(
		"CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people SELECT i, repeat('x', 200) FROM generate_series(1, 50000) i")
	src := s.opened(SourceConfig{Table: "people"})
	cause := errors.New("told to end")
	ctx, cancel := context.WithCancelCause(context.Background())
	r, err := src.Read(ctx, whole(src), connectors.Cut{Records: 100})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	if err := raw.Decode(b); err != nil {
		t.Fatal(err)
	}
	sink,
		err := (&SinkConfig{Connection: s.at, Table: s.schema + ".out"}).Create(ctx,
		connectors.Plan{Source: src, Layout: whole(src)})
	if err != nil {
		t.Fatal(err)
	}
	e, err := sink.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(ctx, e); err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	if _, err := r.Next(ctx); err != cause {
		t.Errorf("next: %v", err)
	}
	for range 10 {
		if err = sink.Write(ctx, e); err != nil {
			break
		}
	}
	if err == nil {
		err = sink.Finish(ctx)
	}
	if err != cause {
		t.Errorf("write: %v", err)
	}
	r.Close()
	sink.Abort()
	if s.tables() != "people" {
		t.Errorf("there is %s", s.tables())
	}
}

func connectionOf(s connectors.Sink) *conn { return s.(*sink).db }
