package shard

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// denying makes a server refuse requests with a method and a prefix of keys.
func denying(server *objecttest.Server, method, prefix string) {
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == method &&
			(strings.Contains(r.URL.Path, prefix) || strings.HasPrefix(r.URL.Query().Get("prefix"), prefix)) {
			return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
		}
		return nil
	})
}

// If withheld uploads cannot be aborted, the log says so and the refusal stays. Uploads that must
// not be aborted are not touched.
func TestUploadsThatCannotBeGivenUp(t *testing.T) {
	for _, denied := range []bool{true, false} {
		prepare(t, "csv", 60, "")
		swapping(t, "min_efficiency: 0.5", "min_efficiency: 0.999")
		server := toObjects(t, "csv")
		m := plannedAt(t, 1)
		runAllAt(t, m)
		if denied {
			denying(server, http.MethodDelete, "out/released")
		}
		var log bytes.Buffer
		o := options
		o.Log = zerolog.New(&log)
		result, err := Commit(t.Context(), load(t), m, statesAt, o)
		if err != nil || !result.Refused() || server.Get("data", "out/report.json") == nil {
			t.Fatalf("denied %v: error %v, or the run is not refused, or the report is missing", denied, err)
		}
		if said := strings.Contains(log.String(), "uploads of what was withheld could not be given up"); said != denied ||
			(server.Uploads() > 0) != denied {
			t.Errorf("denied %v: %d unfinished uploads, log: %s", denied, server.Uploads(), log.String())
		}
	}
	if err := discard("s3://data/out/released", nil); err != nil {
		t.Errorf("discard of nothing returns %v", err)
	}
}

// Surveys, states and a manifest that may not be listed or read are errors that name them, and
// nothing is decided or published.
func TestStatesThatMayNotBeRead(t *testing.T) {
	prepare(t, "csv", 60, "")
	swapping(t, "masks:\n", swapAll)
	server := toObjects(t, "csv")
	m := plannedAt(t, 1)
	const surveysAt, pairsAt = "s3://data/work/surveys", "s3://data/work/pairs/"
	s, err := Survey(t.Context(), load(t), m, 0, options)
	if err == nil {
		err = s.Write(surveysAt + "/0")
	}
	if err != nil {
		t.Fatal(err)
	}
	pair := func() error { return Pair(t.Context(), load(t), m, surveysAt, pairsAt, options) }
	shard := func() error {
		pairs, err := m.ReadPairs(t.Context(), pairsAt, 0)
		if err != nil {
			return err
		}
		s, err := Run(t.Context(), load(t), m, 0, pairs, options)
		if err != nil {
			return err
		}
		return s.Write(statesAt + "/0.state")
	}
	commit := func() error { _, err := commitAt(t, m); return err }
	for _, c := range []struct {
		name, prefix string
		do           func() error
		then         bool // whether it succeeds afterwards
	}{
		{"a manifest", "work/plan.json", func() error { _, err := Read(t.Context(), planAt); return err }, true},
		{"surveys that may not be listed", "work/surveys/", pair, false},
		{"a survey that may not be read", "work/surveys/0", pair, true},
		{"pairs", "work/pairs/0.pairs", shard, true},
		{"states that may not be listed", "work/states/", commit, false},
		{"a state that may not be read", "work/states/0.state", commit, true},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if method == http.MethodHead && !c.then {
				continue // listing is not such a request
			}
			denying(server, method, c.prefix)
			err := c.do()
			var data *pipeline.DataError
			if c.name != "a manifest" && !errors.Is(err, objects.ErrDenied) || c.name == "a manifest" &&
				!errors.As(err, &data) || strings.Count(err.Error(), "s3://data/"+strings.TrimSuffix(c.prefix, "/")) != 1 {
				t.Errorf("%s, %s denied: error %v, want one that names the object once", c.name, method, err)
			}
			if server.Get("data", "out/released/_SUCCESS") != nil || server.Get("data", "out/report.json") != nil {
				t.Errorf("%s: the sink has the objects %q, want no release and no report", c.name, below(server, "out/"))
			}
		}
		server.Failing(nil)
		if c.then {
			if err := c.do(); err != nil {
				t.Errorf("%s, repeated without the fault: error %v", c.name, err)
			}
		}
	}
}
