package iceberg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/postgres"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// proxy stands before a database, and can cut connections when a statement about the catalog comes.
type proxy struct {
	t    *testing.T
	to   string
	dead atomic.Bool // no connection is taken
	// fault is asked of each statement: Lose, and otherwise it does not come to the server.
	fault atomic.Pointer[func() *objecttest.Fault]
}

func (p *proxy) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if p.dead.Load() {
			c.Close()
			continue
		}
		go p.pass(c)
	}
}

func (p *proxy) pass(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer s.Close()
	var mute atomic.Bool
	answered := make(chan bool, 1)
	go func() {
		var b [64 << 10]byte
		for {
			n, err := s.Read(b[:])
			if mute.Load() {
				answered <- true
				return
			}
			if _, failed := c.Write(b[:n]); err != nil || failed != nil {
				c.Close()
				return
			}
		}
	}()
	var b [64 << 10]byte
	for {
		n, err := c.Read(b[:])
		if err != nil {
			return
		}
		if fault := p.fault.Load(); fault != nil && bytes.Contains(b[:n], []byte("iceberg_")) {
			if f := (*fault)(); f != nil {
				if mute.Store(true); f.Lose {
					_, _ = s.Write(b[:n])
					<-answered
				}
				return
			}
		}
		if _, err := s.Write(b[:n]); err != nil {
			return
		}
	}
}

// newSQLCatalog is a catalog of its own on the server of make test-iceberg, behind a proxy, with the namespace
// survey.year whose tables lie at a location.
func newSQLCatalog(t *testing.T, location string) (*proxy, Place, *postgres.Session) {
	t.Helper()
	at := os.Getenv("SDLFILTER_TEST_POSTGRES")
	if at == "" {
		t.Skip("needs a server: make test-iceberg")
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, to: u.Host}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go p.serve(l)
	schema := fmt.Sprintf("ice_%d", time.Now().UnixNano())
	u.RawQuery = "options=-csearch_path%3D" + schema
	password := connectors.Secret{Env: "P", Lookup: func(string) (string, bool) {
		return os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD"), true
	}}
	admin, err := (&postgres.Connection{URL: u.String(), Password: password}).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = admin.Rows(context.Background(), "end", "DROP SCHEMA "+schema+" CASCADE")
		admin.Close()
	})
	for _, sql := range []string{"CREATE SCHEMA " + schema,
		`CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, table_namespace, table_name))`,
		`CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL,
property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000) NOT NULL,
PRIMARY KEY (catalog_name, namespace, property_key))`,
		`INSERT INTO iceberg_namespace_properties VALUES ('main', 'survey.year', 'location', '` + location + `')`} {
		if _, err := admin.Rows(t.Context(), sql, sql); err != nil {
			t.Fatal(err)
		}
	}
	u.Host = l.Addr().String()
	return p, Place{Catalog: u.String(), Warehouse: "main", Table: "survey.year.income", Password: password}, admin
}

// A table of a SQL catalog is made, appended to, overwritten and read, on this machine; each commit has taken the place
// of the state that it was based on.
func TestSQL(t *testing.T) {
	dir := t.TempDir()
	_, place, admin := newSQLCatalog(t, dir)
	refused(t, &SourceConfig{Place: place}, "no such table")
	release(t, records(t, 10), &SinkConfig{Place: place})
	release(t, records(t, 20), &SinkConfig{Place: place, Mode: "append"})
	expectRows(t, &SourceConfig{Place: place}, masked(upTo(10)...), masked(upTo(20)...))
	_, _, _, err := started(t, &SourceConfig{Place: place}, &SinkConfig{Place: place})
	if err == nil || !strings.Contains(err.Error(), "the table that it is made of") {
		t.Errorf("into itself: %v", err)
	}
	a := finished(t, records(t, 1), &SinkConfig{Place: place, Mode: "append"})
	b := finished(t, records(t, 2), &SinkConfig{Place: place})
	release(t, records(t, 4), &SinkConfig{Place: place, Mode: "append"})
	if err := a.Commit(); err != nil {
		t.Error(err)
	}
	if err := b.Commit(); !errors.Is(err, errConflict) {
		t.Errorf("what others have written would be lost: %v", err)
	}
	if err := b.Abort(); err != nil {
		t.Error(err)
	}
	expectRows(t, &SourceConfig{Place: place}, masked(upTo(10)...), masked(upTo(20)...), masked(0), masked(upTo(4)...))
	rows, err := admin.Rows(t.Context(), "rows",
		"SELECT metadata_location, previous_metadata_location FROM iceberg_tables")
	if err != nil || len(rows) != 1 || versionOf(rows[0][0]) != 3 || versionOf(rows[0][1]) != 2 {
		t.Errorf("the catalog has %q: %v", rows, err)
	}
	metadata := 0
	for _, name := range everything(t, dir) {
		if strings.Contains(name, "/.") {
			t.Errorf("%s is left", name)
		}
		if strings.HasSuffix(name, ".metadata.json") {
			metadata++
		}
	}
	if metadata != 4 {
		t.Errorf("%d files of metadata for 4 snapshots: %q", metadata, everything(t, dir))
	}
	other := place
	other.Table = "survey.none.income"
	_, _, _, err = started(t, records(t, 1), &SinkConfig{Place: other})
	if err == nil || !strings.Contains(err.Error(), "no namespace survey.none") {
		t.Errorf("no namespace: %v", err)
	}
	if _, err := admin.Rows(t.Context(), "view", `INSERT INTO iceberg_tables VALUES ('main', 'survey.year', 'v', 'x', NULL, 'VIEW')`); err != nil {
		t.Fatal(err)
	}
	other.Table = "survey.year.v"
	refused(t, &SourceConfig{Place: other}, "is a view")
	other = place
	other.Password.Lookup = func(string) (string, bool) { return "wr0ng-pass", true }
	_, err = (&SourceConfig{Place: other}).Open(t.Context())
	if err == nil || strings.Contains(err.Error(), "wr0ng-pass") || strings.Contains(err.Error(), "postgres://") {
		t.Errorf("another password: %v", err)
	}
	if _, err := admin.Rows(t.Context(), "drop", "DROP TABLE iceberg_tables"); err != nil {
		t.Fatal(err)
	}
	refused(t, &SourceConfig{Place: place}, "no catalog of Iceberg")
}

// TestSQLKilled ends a run at each of its requests, to the storage and to the database, before the server has done what
// it was asked and after: the table has all records of the run or none, and a later run leaves nothing else.
func TestSQLKilled(t *testing.T) {
	racetest.Alone(t)
	for i, lose := range []bool{false, true, false} {
		fresh, ends := i == 2, map[bool]int{}
		for at := int64(1); ; at++ {
			l := newLake(t, "s3")
			p, place, _ := newSQLCatalog(t, "s3://lake/open")
			var before []string
			if !fresh {
				release(t, records(t, 3), &SinkConfig{Place: place})
				before = masked(upTo(3)...)
			}
			var asked atomic.Int64
			fault := func() *objecttest.Fault {
				switch n := asked.Add(1); {
				case n == at && lose:
					p.dead.Store(true)
					return &objecttest.Fault{Lose: true}
				case n >= at:
					p.dead.Store(true)
					return &objecttest.Fault{Cut: -1}
				}
				return nil
			}
			p.fault.Store(&fault)
			l.objects.Failing(func(*http.Request) *objecttest.Fault { return fault() })
			err := attempted(t, records(t, 9), &SinkConfig{Place: place, Mode: "append"})
			l.objects.Failing(nil)
			p.fault.Store(nil)
			p.dead.Store(false)
			if asked.Load() < at {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			tab, loaded := newSQL(&place).load(t.Context())
			if loaded != nil {
				t.Fatal(loaded)
			}
			var got []string
			if tab != nil {
				got = sorted(values(t, &SourceConfig{Place: place}, "masked"))
			}
			there := slices.Equal(got, together(before, masked(upTo(9)...)))
			if !there && !slices.Equal(got, together(before)) || err == nil && !there {
				t.Fatalf("killed at request %d: %q, %v", at, got, err)
			}
			ends[there]++
			l.objects.Age(2 * time.Hour)
			release(t, records(t, 2), &SinkConfig{Place: place, Mode: "append"})
			expectRows(t, &SourceConfig{Place: place}, got, masked(0, 1))
			if tab, err = newSQL(&place).load(t.Context()); err != nil {
				t.Fatal(err)
			}
			parts, err := marks(t.Context(), tab)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range l.objects.Keys("lake") {
				ours := false
				for mark := range parts {
					ours = ours || mark != "" && strings.Contains(key, strings.TrimPrefix(mark, markPrefix))
				}
				if !ours || strings.Contains(key, "/.") {
					t.Errorf("killed at request %d: %s is left", at, key)
				}
			}
		}
		t.Logf("new table %v, after the server has done it %v: %v", fresh, lose, ends)
		if ends[false] < 12 || ends[true] < 1 {
			t.Errorf("lose %v: ends %v", lose, ends)
		}
	}
}

// What a server answers says whether it may have committed all the same.
func TestRefusals(t *testing.T) {
	for state, want := range map[string]bool{"42501": true, "22001": true, "40001": true, "40003": false, "57P01": false,
		"08006": false, "XX000": false, "58030": false, "": false} {
		if got := refuses(state); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
	for location, want := range map[string]int{"s3://b/t/metadata/00012-x.metadata.json": 12, "/t/v3.metadata.json": -1,
		"": -1, "/a-b/x": -1, "/t/-3-x": -1, "/00007-x": 7} {
		if got := versionOf(location); got != want {
			t.Errorf("%s: %d, want %d", location, got, want)
		}
	}
	if !marked("00003-11111111-0000-4000-8000-000000000000.metadata.json", "sdlfilter-11111111-0000-4000-8000-000000000000") ||
		marked("00003-11111111-0000-4000-8000-000000000001.metadata.json", "sdlfilter-11111111-0000-4000-8000-000000000000") ||
		!marked(filepath.Base(rootMetadata("sdlfilter-11111111-0000-4000-8000-000000000000", 4)), "sdlfilter-11111111-0000-4000-8000-000000000000") {
		t.Error("a run does not know its own metadata")
	}
}
