package iceberg

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// restServer is a catalog with one table, w/spring.survey.income, behind a prefix and a token.
type restServer struct {
	t   *testing.T
	dir string
	at  string // where a new table lies
	// uuid is the table's.
	uuid string

	mu sync.Mutex
	// fault is asked before each request, as that of objecttest: Lose, and otherwise the connection is cut.
	fault   func(*http.Request) *objecttest.Fault
	table   *table // nil: none yet
	staged  *table
	commits int
	answer  func(commit int) (status int, applied bool) // of a commit; nil: as the protocol says
	seen    []string                                    // requests
}

const (
	restToken = "s3cr3t-token"
	restTable = "/v1/w/spring/namespaces/survey%1Fyear/tables/income"
)

func init() { settleWait = time.Millisecond }

func newRESTServer(t *testing.T) (*restServer, Place) {
	s := &restServer{t: t, dir: t.TempDir(), uuid: "11111111-0000-4000-8000-000000000000"}
	s.at = "file://" + s.dir + "/income"
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	token := connectors.Secret{Env: "TOKEN", Lookup: func(string) (string, bool) { return restToken, true }}
	return s, Place{Catalog: web.URL + "/", Warehouse: "a b", Table: "survey.year.income", Token: token}
}

func (s *restServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if f := fault(r); f != nil {
			if f.Lose {
				s.answers(httptest.NewRecorder(), r)
			}
			panic(http.ErrAbortHandler)
		}
	}
	s.answers(w, r)
}

func (s *restServer) answers(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	say := func(status int, v any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			s.t.Error(err)
		}
	}
	fails := func(status int, kind string) {
		say(status, map[string]any{"error": map[string]any{"message": "canary: " + s.dir, "type": kind, "code": status}})
	}
	shown := func(tab *table) {
		text, err := json.Marshal(tab.raw)
		if err != nil {
			s.t.Error(err)
		}
		say(http.StatusOK, loaded{Location: tab.location, Metadata: text})
	}
	var body struct {
		Requirements []map[string]any `json:"requirements"`
		Updates      []struct {
			Action   string    `json:"action"`
			Snapshot *snapshot `json:"snapshot"`
			Ref      string    `json:"ref-name"`
			ID       int64     `json:"snapshot-id"`
		} `json:"updates"`
		Name   string       `json:"name"`
		Schema *meta.Schema `json:"schema"`
		Stage  bool         `json:"stage-create"`
	}
	if r.Method == http.MethodPost {
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&body); err != nil {
			s.t.Error(err)
		}
	}
	switch path := r.URL.EscapedPath(); {
	case r.Header.Get("Authorization") != "Bearer "+restToken:
		fails(http.StatusUnauthorized, "NotAuthorizedException")
	case path == "/v1/config" && r.URL.Query().Get("warehouse") == "a b":
		say(http.StatusOK,
			map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{"prefix": "w/spring"}})
	case path == restTable && r.Method == http.MethodGet && s.table == nil:
		fails(http.StatusNotFound, "NoSuchTableException")
	case path == restTable && r.Method == http.MethodGet:
		shown(s.table)
	case path == strings.TrimSuffix(restTable, "/income") && r.Method == http.MethodPost && body.Stage &&
		body.Name == "income":
		var err error
		if s.staged, err = begin(s.uuid, s.at, body.Schema,
			time.Now()); err != nil {
			s.t.Error(err)
		}
		shown(s.staged)
	case path == restTable && r.Method == http.MethodPost:
		s.commits++
		base := s.table
		for _, q := range body.Requirements {
			ok := false
			switch q["type"] {
			case "assert-create":
				ok = base == nil
			case "assert-table-uuid":
				ok = base != nil && q["uuid"] == base.UUID
			case "assert-ref-snapshot-id":
				id := json.Number("")
				if q["snapshot-id"] != nil {
					id = q["snapshot-id"].(json.Number)
				}
				n, _ := id.Int64()
				ok = base != nil && q["ref"] == "main" &&
					(base.current() == nil && id == "" || base.current() != nil && n == base.current().ID)
			case "assert-current-schema-id", "assert-default-spec-id":
				ok = base != nil
			}
			if !ok {
				fails(http.StatusConflict, "CommitFailedException")
				return
			}
		}
		if len(body.Requirements) == 0 {
			s.t.Error("a commit without requirements")
		}
		status, applied := http.StatusOK, true
		if s.answer != nil {
			status, applied = s.answer(s.commits)
		}
		if applied {
			if base == nil {
				base = s.staged
			}
			n := len(body.Updates)
			if add, set := body.Updates[n-2], body.Updates[n-1]; add.Action != "add-snapshot" ||
				set.Action != "set-snapshot-ref" || set.Ref != "main" || set.ID != add.Snapshot.ID {
				s.t.Errorf("updates %+v", body.Updates)
			}
			text, err := base.with(body.Updates[n-2].Snapshot)
			if err == nil {
				s.table, err = parseTable(text, filepath.Join(s.dir, "income", "metadata", "x.metadata.json"))
			}
			if err != nil {
				s.t.Error(err)
			}
		}
		switch status {
		case http.StatusOK:
			shown(s.table)
		case 0:
			panic(http.ErrAbortHandler)
		default:
			fails(status, "CommitFailedException")
		}
	default:
		fails(http.StatusBadRequest, "BadRequestException canary")
	}
}

func TestREST(t *testing.T) {
	server, place := newRESTServer(t)
	release(t, records(t, 10), &SinkConfig{Place: place})
	release(t, records(t, 20), &SinkConfig{Place: place, Mode: "append"})
	if got := len(values(t, &SourceConfig{Place: place}, "masked")); got != 30 {
		t.Errorf("%d records, want 30", got)
	}
	first := server.table.Snapshots[0].ID
	if got := len(values(t, &SourceConfig{Place: place, Snapshot: first}, "masked")); got != 10 {
		t.Errorf("the first snapshot has %d records, want 10", got)
	}
	_, _, _, err := started(t, &SourceConfig{Place: place}, &SinkConfig{Place: place})
	if err == nil || !strings.Contains(err.Error(), "the table that it is made of") {
		t.Errorf("into itself: %v", err)
	}
	a := finished(t, records(t, 1), &SinkConfig{Place: place, Mode: "append"})
	b := finished(t, records(t, 2), &SinkConfig{Place: place, Mode: "overwrite"})
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
	if got := len(values(t, &SourceConfig{Place: place}, "masked")); got != 35 {
		t.Errorf("%d records, want 35", got)
	}
}

// Whatever a catalog answers to a commit, the release is there, or it is not and nothing of it is, or the run says that
// this is not known and leaves the files.
func TestRESTDoubts(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		applied bool
		there   bool
		fails   bool
	}{
		{"refused", http.StatusForbidden, false, false, true},
		{"said to be refused, after a repeated request", http.StatusConflict, true, true, false},
		{"error, done", http.StatusInternalServerError, true, true, false},
		{"gateway, done", http.StatusGatewayTimeout, true, true, false},
		{"broken off, done", 0, true, true, false},
	} {
		for _, fresh := range []bool{true, false} {
			server, place := newRESTServer(t)
			if !fresh {
				release(t, records(t, 3), &SinkConfig{Place: place})
			}
			server.answer = func(int) (int, bool) { return c.status, c.applied }
			sink := finished(t, records(t, 5), &SinkConfig{Place: place})
			err := sink.Commit()
			if (err != nil) != c.fails {
				t.Errorf("%s: %v", c.name, err)
			}
			if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), restToken)) {
				t.Errorf("%s: the error repeats what the catalog says: %v", c.name, err)
			}
			if err := sink.Abort(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if !c.there && fresh {
				if server.table != nil || len(everything(t, server.dir)) > 0 {
					t.Errorf("%s: left %q", c.name, everything(t, server.dir))
				}
				continue
			}
			if got, want := len(values(t, &SourceConfig{Place: place}, "masked")), map[bool]int{
				true: 5, false: 3}[c.there]; got != want {
				t.Errorf("%s: %d records, want %d", c.name, got, want)
			}
		}
	}
}

// A commit that may yet happen leaves its files, and says so.
func TestRESTUnknown(t *testing.T) {
	server, place := newRESTServer(t)
	server.answer = func(int) (int, bool) { return 0, false }
	sink := finished(t, records(t, 5), &SinkConfig{Place: place})
	before := len(server.seen)
	err := sink.Commit()
	asked := slices.DeleteFunc(slices.Clone(server.seen[before:]), func(s string) bool { return !strings.HasPrefix(s, "GET ") })
	if len(asked) < asks {
		t.Errorf("asked by %q, want %d questions at least", asked, asks)
	}
	var unclear *doubt
	if !errors.As(err, &unclear) || unclear.There() {
		t.Errorf("the error is %v", err)
	}
	if err := sink.Abort(); !errors.As(err, &unclear) {
		t.Errorf("Abort says %v", err)
	}
	if len(everything(t, server.dir)) < 3 {
		t.Errorf("of a release that may come there is %q", everything(t, server.dir))
	}
}

func TestRESTRefused(t *testing.T) {
	server, place := newRESTServer(t)
	wrong := place
	wrong.Token.Lookup = func(string) (string, bool) { return "other", true }
	for name, p := range map[string]Place{
		"the token": wrong, "another warehouse": {Catalog: place.Catalog, Table: "a.b", Token: place.Token}} {
		_, err := (&SourceConfig{Place: p}).Open(t.Context())
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), server.dir) ||
			!strings.Contains(err.Error(), "the catalog answered 40") {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(t, &SourceConfig{Place: place}, "no such table")
}

// A run is killed when it has asked the catalog to commit, and the catalog does so when the next run has begun: nothing
// of it is removed. What no catalog commits is removed by a run that has committed.
func TestKilledWhileTheCatalogCommits(t *testing.T) {
	racetest.Alone(t)
	for _, lands := range []bool{true, false} {
		server, place := newRESTServer(t)
		release(t, records(t, 3), &SinkConfig{Place: place})
		killed := finished(t, records(t, 9), &SinkConfig{Place: place, Mode: "append"}).(*sink)
		if err := killed.run.name(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked, err := killed.snapshot(t.Context(), killed.table, 1)
		if err == nil {
			err = killed.run.claim.File.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		withheld := finished(t, records(t, 1), &SinkConfig{Place: place, Mode: "append"})
		if err := withheld.Abort(); err != nil {
			t.Fatal(err)
		}
		next := finished(t, records(t, 2), &SinkConfig{Place: place, Mode: "append"})
		want := [][]string{masked(upTo(3)...), masked(0, 1)}
		if lands {
			if err := killed.catalog.commit(t.Context(), killed.table, asked); err != nil {
				t.Fatal(err)
			}
			want = append(want, masked(upTo(9)...))
		}
		if err := next.Commit(); err != nil {
			t.Fatal(err)
		}
		expectRows(t, &SourceConfig{Place: place}, want...)
		for _, name := range everything(t, server.dir) {
			if !lands && strings.Contains(name, killed.run.mark) || strings.Contains(name, "/.") {
				t.Errorf("committed %v: %s is left", lands, name)
			}
		}
	}
}
