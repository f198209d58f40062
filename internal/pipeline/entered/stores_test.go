package entered_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

const inS3 = "s3://data/ledger"

// onServer has a release entered in an object.
func (r release) onServer() release {
	r.noLedger, r.rest = true, r.rest+"ledger: "+inS3+"\n"
	return r
}

// listed are the releases in that object, with what became of them.
func listed(t *testing.T) (list []string) {
	t.Helper()
	l, err := ledger.Look(t.Context(), inS3)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.All() {
		became := "counts"
		if !r.Published {
			became = "does not count"
		}
		list = append(list, r.Release.Name+" "+became)
	}
	return list
}

// A ledger in an object is that of a file: a release is judged with those before it, and one that is withheld adds
// nothing.
func TestLedgerInAnObject(t *testing.T) {
	dir := records(t, 1000)
	server := objecttest.Serve(t, "s3", "data")
	release{name: "a", masks: noise}.onServer().run(t, dir)
	before := slices.Clone(server.Get("data", "ledger").Data)
	c := release{name: "c", masks: noise, key: "k2",
		rule: "{column: wage, target: typical, knowledge: index, min_rmse: 80}"}.onServer()
	rep := c.run(t, dir)
	if rep.Gate.Passed || len(rep.Ledger.Releases) != 1 {
		t.Errorf("it is not judged with the release before: %+v", rep.Gate.Rules)
	}
	if after := server.Get("data", "ledger").Data; !bytes.Equal(after, before) {
		t.Errorf("a withheld release adds %q", after[len(before):])
	}
	c.rule = strings.Replace(c.rule, "min_rmse: 80", "min_rmse: 60", 1)
	c.run(t, dir)
	if got := listed(t); !slices.Equal(got, []string{"a counts", "c counts"}) {
		t.Errorf("the ledger has %q", got)
	}
}

// Whichever request to the server fails, is done unheard, or is refused: what has been published counts, what is
// entered and not published counts or is known not to be, and what a run says is so.
func TestRequestsOfARunFail(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	dir := records(t, 100)
	server := objecttest.Serve(t, "s3", "data")
	a := release{name: "a", masks: noise, rest: "assess: {replicates: 0}\n"}.onServer()
	final := filepath.Join(dir, "a.csv")
	seen := map[string]bool{}
	for how, fault := range []objecttest.Fault{
		{Lose: true}, {Cut: -1}, {Status: http.StatusForbidden, Code: "AccessDenied"}, {Lose: true}, // and then it is gone
	} {
		for n, failed := 1, true; failed; n++ {
			server.Remove("data", "ledger")
			for _, name := range []string{"a.csv", "a.json", "a.public.json"} {
				os.Remove(filepath.Join(dir, name))
			}
			var count atomic.Int64
			server.Failing(func(*http.Request) *objecttest.Fault {
				switch at := count.Add(1); {
				case at == int64(n):
					return &fault
				case at > int64(n) && how == 3:
					return &objecttest.Fault{Cut: -1}
				}
				return nil
			})
			_, err := filejob.Run(t.Context(), a.parse(t, dir), pipeline.Options{Log: zerolog.Nop()})
			server.Failing(nil)
			failed = count.Load() >= int64(n)
			_, missing := os.Stat(final)
			there, got := missing == nil, strings.Join(listed(t), ", ")
			if there != (err == nil) || there && got != "a counts" || !there && got != "" && got != "a counts" || !failed && err != nil {
				t.Errorf("way %d, request %d: error %v, published %v, the ledger has %q", how, n, err, there, got)
			}
			if err != nil && (strings.Contains(err.Error(), objecttest.AccessKey) || strings.Contains(err.Error(), server.URL)) {
				t.Errorf("the error holds a credential or an address: %v", err)
			}
			seen[got] = seen[got] || !there
			if n > 40 {
				t.Fatal("no end")
			}
		}
	}
	if !seen[""] || !seen["a counts"] {
		t.Errorf("what is not published is %v", seen)
	}
}

// The second of two runs that were judged by the same releases publishes nothing and enters nothing.
func TestRunsAtOnce(t *testing.T) {
	dir := records(t, 100)
	server := objecttest.Serve(t, "s3", "data")
	a, b := release{name: "a", masks: noise}.onServer(), release{name: "b", masks: noise, key: "k2"}.onServer()
	var begun atomic.Bool
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPut && r.ContentLength > 0 { // b is about to enter its release
			if begun.CompareAndSwap(false, true) {
				a.run(t, dir)
			}
		}
		return nil
	})
	_, err := filejob.Run(t.Context(), b.parse(t, dir), pipeline.Options{Log: zerolog.Nop()})
	if !errors.Is(err, place.ErrMoved) {
		t.Errorf("the second run: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.csv")); err == nil {
		t.Error("the second run has published")
	}
	if got := listed(t); !slices.Equal(got, []string{"a counts"}) {
		t.Errorf("the ledger has %q", got)
	}
	if rep := b.run(t, dir); len(rep.Ledger.Releases) != 1 {
		t.Errorf("run again, it knows of %+v", rep.Ledger.Releases)
	}
}

// Where nobody holds a ledger, another run may be about to give a file its name that lies complete under its temporary
// one: its release counts, where that of a file's ledger does not.
func TestRunsThatMayBeAlive(t *testing.T) {
	dir := records(t, 300)
	server := objecttest.Serve(t, "s3", "data")
	release{name: "a", masks: noise}.onServer().run(t, dir)
	text := server.Get("data", "ledger").Data
	server.Set("data", "ledger", text[:bytes.IndexByte(text, '\n')+1])
	if err := os.Rename(filepath.Join(dir, "a.csv"), filepath.Join(dir, ".a.csv.sdlfilter-tmp")); err != nil {
		t.Fatal(err)
	}
	b := release{name: "b", masks: noise, key: "k2"}.onServer()
	if rep := b.run(t, dir); len(rep.Ledger.Releases) != 1 {
		t.Errorf("%d earlier releases count, want 1", len(rep.Ledger.Releases))
	}
	l, err := ledger.Look(t.Context(), inS3)
	if err != nil || l.All()[0].Known {
		t.Errorf("the other run's release has an outcome: error %v", err)
	}
}

// A release that another commit of the same shards has entered is not said to be unpublished by one that fails: where
// nobody holds the ledger, the other may have published it.
func TestOutcomesOfAnotherCommit(t *testing.T) {
	server := objecttest.Serve(t, "s3", "data")
	for at, known := range map[string]bool{filepath.Join(t.TempDir(), "ledger"): true, inS3: false} {
		for name, named := range map[string]error{"fails": errors.New("the disk is full"), "publishes": nil} {
			server.Remove("data", "ledger")
			os.Remove(at)
			first, err := ledger.Open(t.Context(), at, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := first.Enter(&ledger.Release{Name: "a", Plan: "plan", Releasing: json.RawMessage("{}")}); err != nil {
				t.Fatal(err)
			}
			first.Close()
			p := release{name: "a", masks: noise, rest: "ledger: " + at + "\n", noLedger: true}.parse(t, t.TempDir())
			l := entered.Part(p, keytest.Key(1), nil, zerolog.Nop())
			if err := l.Hold(t.Context(), "plan", nil); err != nil {
				t.Fatal(err)
			}
			l.Settle(named)
			l.Close()
			look, err := ledger.Look(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if r := look.All()[0]; r.Known != (known || named == nil) || r.Published != (named == nil || !known) {
				t.Errorf("%s: the commit %s: known %v, published %v", at, name, r.Known, r.Published)
			}
		}
	}
}

// The report in an object knows the lines of the ledger as one in a file does.
func TestReportInAnObjectKnowsLines(t *testing.T) {
	dir := records(t, 100)
	server := objecttest.Serve(t, "s3", "data")
	a := release{name: "a", masks: noise}.onServer()
	p := a.parse(t, dir)
	p.Report.JSON, p.Report.HTML = "s3://data/r.json", ""
	if _, err := filejob.Run(t.Context(), p, pipeline.Options{Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	look := func() error {
		_, err := entered.Look(t.Context(), p, keytest.Key(1), zerolog.Nop())
		return err
	}
	if err := look(); err != nil {
		t.Errorf("whole: %v", err)
	}
	server.Set("data", "ledger", nil)
	if err := look(); err == nil || !strings.Contains(err.Error(), "lacks releases that it had when s3://data/r.json") {
		t.Errorf("without its lines: %v", err)
	}
}

// Connect says that a ledger can be used, and leaves none behind.
func TestConnect(t *testing.T) {
	dir := records(t, 100)
	server := objecttest.Serve(t, "s3", "data")
	a, b := release{name: "a", masks: noise}, release{name: "b", masks: noise}.onServer()
	for _, p := range []release{b, a} {
		before := server.Keys("data")
		if err := filejob.Connect(t.Context(), p.parse(t, dir)); err != nil {
			t.Errorf("without a ledger: %v", err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*ledger*"))
		if more, _ := filepath.Glob(filepath.Join(dir, ".*ledger*")); len(left)+len(more) > 0 || err != nil {
			t.Errorf("left are %q and %q", left, more)
		}
		if keys := server.Keys("data"); !slices.Equal(keys, before) {
			t.Errorf("left are %q", keys)
		}
		p.run(t, dir)
		if err := filejob.Connect(t.Context(), p.parse(t, dir)); err != nil {
			t.Errorf("with a ledger: %v", err)
		}
	}
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPut {
			return &objecttest.Fault{Status: 403, Code: "AccessDenied"}
		}
		return nil
	})
	if err := filejob.Connect(t.Context(), b.parse(t, dir)); err == nil || !strings.HasPrefix(err.Error(), "ledger: s3:") {
		t.Errorf("with one that these credentials may not write: %v", err)
	}
	server.Failing(nil)
	broken := bytes.Replace(server.Get("data", "ledger").Data, []byte("wage"), []byte("wagf"), 1)
	server.Set("data", "ledger", broken)
	if err := os.WriteFile(filepath.Join(dir, "ledger"), broken, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []release{a, b} {
		if err := filejob.Connect(t.Context(), p.parse(t, dir)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("with one that is broken: %v", err)
		}
	}
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{Status: 403, Code: "AccessDenied"} })
	if err := filejob.Connect(t.Context(), b.parse(t, dir)); err == nil || !strings.HasPrefix(err.Error(), "ledger: s3:") {
		t.Errorf("with one that these credentials may not read: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "ledger"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := filejob.Connect(context.Background(), a.parse(t, dir)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("with one that others may read: %v", err)
	}
}
