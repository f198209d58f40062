package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Whatever request of a run fails, the status and the words agree with what a reader sees: with 1 there is
// no release, with 5 there is one, with 0 or 3 there is all of it.
func TestStatusIsWhatReadersSee(t *testing.T) {
	t.Parallel()
	config := func(s *store, report, quarantine string) {
		t.Helper()
		text :=
			"version: 1\nname: objects\nkey: {file: k}\nsource: {csv: {path: small.csv, types: {wage: float64}}}\nsink: {csv: {path: \"s3://data/out.csv\"}}\n" +
				"columns: {id: {role: other}, wage: {role: sensitive, decimals: 2}}\nmasks: [{noise: {columns: [wage], sd: 50}}]\ngate: {max_quarantined: 0.9}\n" +
				"report: {json: \"" + report + "\", html: \"s3://data/r.html\"}\nquarantine: {jsonl: \"" + quarantine + "\"}\n"
		if err := os.WriteFile(filepath.Join(s.dir, "small.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "small.csv"), []byte("id,wage\n1,2.5\n2,7.25\n3,x\n4,11\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(t)
	for _, missing := range []string{"report", "quarantine"} {
		report, quarantine := "s3://data/r.json", "s3://data/q.jsonl"
		if missing == "report" {
			report = "s3://missing/r.json"
		} else {
			quarantine = "s3://missing/q.jsonl"
		}
		config(s, report, quarantine)
		if status, words := s.run("run", "small.yaml"); status != exitFailed || len(s.server.Keys("data")) != 0 ||
			!strings.Contains(words, "s3://missing/") {
			t.Errorf("the bucket of the %s is missing: status %d, %v\n%s", missing, status, s.server.Keys("data"), words)
		}
	}
	config(s, "s3://data/r.json", "s3://data/q.jsonl")
	var asked, fail atomic.Int64
	s.server.Failing(func(*http.Request) *objecttest.Fault {
		if n := asked.Add(1); fail.Load() > 0 && n >= fail.Load() { // from this request on
			return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
		}
		return nil
	})
	if status, words := s.run("run", "small.yaml"); status != exitQuarantined {
		t.Fatalf("status %d\n%s", status, words)
	}
	all, want := asked.Load(), s.server.Keys("data")
	seen := map[int]int{}
	for at := int64(1); at <= all; at++ {
		for _, key := range s.server.Keys("data") {
			s.server.Remove("data", key)
		}
		asked.Store(0)
		fail.Store(at)
		status, words := s.run("run", "small.yaml")
		seen[status]++
		there := slices.Contains(s.server.Keys("data"), "out.csv")
		switch status {
		case exitFailed:
			if there || strings.Contains(words, "is published") {
				t.Errorf("request %d: status 1, and there are %v\n%s", at, s.server.Keys("data"), words)
			}
		case exitUnreported:
			if !there || !strings.Contains(words, "the release is published (s3://data/out.csv)") {
				t.Errorf("request %d: status 5, and there are %v\n%s", at, s.server.Keys("data"), words)
			}
		case exitQuarantined:
			// A receipt that could not be removed any more harms nobody.
			if keys := slices.DeleteFunc(s.server.Keys("data"), publish.IsTemp); !slices.Equal(keys, want) {
				t.Errorf("request %d: status 3, and there are %v", at, s.server.Keys("data"))
			}
		default:
			t.Errorf("request %d: status %d\n%s", at, status, words)
		}
	}
	if seen[exitFailed] == 0 || seen[exitUnreported] == 0 {
		t.Errorf("statuses %v of %d requests", seen, all)
	}
}
