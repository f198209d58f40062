package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// toObjects moves the files made by prepare to a server, together with all outputs.
func toObjects(t *testing.T, format string) *objecttest.Server {
	t.Helper()
	server := objecttest.New(t, "data")
	objecttest.Use(t, server.URL, objecttest.AccessKey, objecttest.SecretKey)
	return toServer(t, server, "s3", format)
}

// toServer is toObjects for a server of any protocol.
func toServer(t *testing.T, server *objecttest.Server, scheme, format string) *objecttest.Server {
	t.Helper()
	server.PageSize = 1000
	in, err := os.ReadFile("in." + format)
	if err != nil {
		t.Fatal(err)
	}
	server.Set("data", "in/in."+format, in)
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"{path: in." + format + "}", `{path: "s3://data/in"}`}, {"{path: released}", `{path: "s3://data/out/released"}`},
		{"{jsonl: quarantine.jsonl}", `{jsonl: "s3://data/out/quarantine.jsonl"}`},
		{"{json: report.json}", `{json: "s3://data/out/report.json"}`},
	} {
		if !bytes.Contains(text, []byte(c[0])) {
			t.Fatalf("the configuration does not contain %s", c[0])
		}
		text = bytes.Replace(text, []byte(c[0]), []byte(strings.Replace(c[1], "s3:", scheme+":", 1)), 1)
	}
	write(t, "pipeline.yaml", text)
	return server
}

const (
	statesAt = "s3://data/work/states"
	planAt   = "s3://data/work/plan.json"
)

// plannedAt plans n shards, and writes and reads the manifest as an object.
func plannedAt(t *testing.T, n int) *Manifest {
	t.Helper()
	m, err := Plan(t.Context(), load(t), "pipeline.yaml", nil, n, options)
	if err == nil {
		err = m.Write(planAt)
	}
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(t.Context(), planAt)
	if err != nil || back.ID() != m.ID() {
		t.Fatalf("the manifest that was read is not the one that was written (error %v)", err)
	}
	return back
}

func runAt(t *testing.T, m *Manifest, i int) error {
	t.Helper()
	s, err := Run(t.Context(), load(t), m, i, nil, options)
	if err != nil {
		return err
	}
	return s.Write(fmt.Sprintf("%s/%d.state", statesAt, i))
}

func runAllAt(t *testing.T, m *Manifest) {
	t.Helper()
	for i := range m.Shards {
		if err := runAt(t, m, i); err != nil {
			t.Fatalf("shard %d: %v", i, err)
		}
	}
}

func commitAt(t *testing.T, m *Manifest) (*account.Result, error) {
	t.Helper()
	return Commit(t.Context(), load(t), m, statesAt, options)
}

// released downloads the release from the server according to its manifest into a local folder. It
// returns "" if there is none, or a mixture.
func released(t *testing.T, server *objecttest.Server, format string) string {
	t.Helper()
	mark := server.Get("data", "out/released/_SUCCESS")
	if mark == nil {
		return ""
	}
	m, err := publish.ReadManifest(mark.Data)
	if err != nil || m == nil {
		t.Fatalf("the release's marker is not a manifest (error %v)", err)
	}
	dir := t.TempDir()
	for _, p := range m.Parts {
		o := server.Get("data", "out/released/"+p.Name)
		if o == nil || o.ETag != p.ETag || int64(len(o.Data)) != p.Bytes {
			t.Errorf("the part %s is missing or differs from the marker", p.Name)
			continue
		}
		write(t, filepath.Join(dir, p.Name), o.Data)
	}
	return records(t, format, dir)
}

func below(server *objecttest.Server, prefix string) (keys []string) {
	for _, k := range server.Keys("data") {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	return keys
}

// TestShardsOfObjects compares a release in shards from objects to objects, with the manifest and
// the states as objects too, with one run on files. Nothing is visible before the commit, and
// nothing else remains afterwards.
func TestShardsOfObjects(t *testing.T) {
	racetest.Further(t)
	for format := range formats {
		for _, n := range []int{1, 7} {
			if testing.Short() && n != 7 {
				continue
			}
			t.Run(fmt.Sprintf("%s in %d", format, n), func(t *testing.T) {
				prepare(t, format, 20_000, "")
				want := single(t, format)
				server := toObjects(t, format)
				m := plannedAt(t, n)
				for i, f := range m.Files {
					if f.ETag == "" || f.SHA256 != "" || f.Bytes == 0 {
						t.Errorf("file %d of the plan is %+v, want an ETag and a size alone", i, f)
					}
				}
				runAllAt(t, m)
				if keys := below(server, "out/"); len(keys) > 0 {
					t.Fatalf("before the commit, the sink has the objects %q, want none", keys)
				}
				result, err := commitAt(t, m)
				if err != nil || result.Refused() {
					t.Fatal(err)
				}
				if released(t, server, format) != records(t, format, "whole."+format) {
					t.Error("the released records differ from those of one run")
				}
				var got map[string]any
				if err := json.Unmarshal(server.Get("data", "out/report.json").Data, &got); err != nil {
					t.Fatal(err)
				}
				for _, d := range differences(want, got, "") {
					t.Error(d)
				}
				if content, err := publish.ContentOf(t.Context(), "s3://data/out/released"); err != nil ||
					content.SHA256() != got["release"].(map[string]any)["sha256"] {
					t.Errorf("the report has not the digest of the release (error %v)", err)
				}
				parts := 0
				for _, s := range m.Shards {
					parts += len(s.Parts)
				}
				if keys := below(server, "out/"); len(keys) != parts+4 || // manifest, quarantine, report and its public version
					server.Uploads() > 0 {
					t.Errorf("%d unfinished uploads and the objects %q, with %d parts", server.Uploads(), keys, parts)
				}
			})
		}
	}
}

// dying makes a server available for only the first requests that change anything. The last of them
// is carried out and its answer lost, or it is not carried out.
func dying(server *objecttest.Server, step int64, lose bool) (done *atomic.Int64) {
	done = &atomic.Int64{}
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if done.Load() >= step {
			return &objecttest.Fault{Cut: -1}
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return nil
		}
		switch n := done.Add(1); {
		case n == step && !lose:
			return &objecttest.Fault{Cut: -1}
		case n == step:
			return &objecttest.Fault{Lose: true}
		}
		return nil
	})
	return done
}

// TestCommitOfObjectsKilled kills the commit at each of its changing requests, before and after the
// server has carried it out. Either the earlier or the new release is complete, and a repeated
// commit ends as if nothing had happened.
func TestCommitOfObjectsKilled(t *testing.T) {
	racetest.Alone(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // a killed process does not retry
	prepare(t, "csv", 100, "")
	single(t, "csv")
	want := records(t, "csv", "whole.csv")
	var steps int64
	for _, earlier := range []bool{false, true} {
		for _, lose := range []bool{false, true} {
			if testing.Short() && lose != earlier {
				continue
			}
			for step := int64(1); ; step++ {
				if testing.Short() && (step%2 == 0) == earlier {
					continue // with an earlier release the even steps, without one the odd
				}
				what := fmt.Sprintf("earlier %v, lost %v, step %d", earlier, lose, step)
				server := restart(t)
				if earlier {
					old(t, server)
				}
				m := plannedAt(t, 2)
				runAllAt(t, m)
				done := dying(server, step, lose)
				_, err := commitAt(t, m)
				server.Failing(nil)
				if done.Load() < step {
					if err != nil {
						t.Fatalf("%s: no step was interrupted, but the error is %v", what, err)
					}
					break
				}
				steps = max(steps, step)
				got := released(t, server, "csv")
				if got != want && got != map[bool]string{true: "old\r\n"}[earlier] {
					t.Errorf("%s: the release is %q", what, got)
				}
				if server.Get("data", "out/report.json") != nil && got != want {
					t.Errorf("%s: the report exists without the release", what)
				}
				if _, err := commitAt(t, m); err != nil {
					t.Errorf("%s: the next commit returns %v", what, err)
				}
				if released(t, server, "csv") != want || server.Get("data", "out/report.json") == nil ||
					server.Get("data", "out/quarantine.jsonl") == nil {
					t.Errorf("%s: after the next commit, the objects are %q", what, below(server, "out/"))
				}
				if keys := below(server, "out/released/"); len(keys) != 2 {
					t.Errorf("%s: the objects of the release are %q, want 2", what, keys)
				}
			}
		}
	}
	if steps < 5 {
		t.Errorf("the commit has only %d steps, want at least 5", steps)
	}
}

// restart returns a new server with the same data and configuration.
func restart(t *testing.T) *objecttest.Server {
	t.Helper()
	if _, err := os.Stat("plain.yaml"); err != nil {
		text, _ := os.ReadFile("pipeline.yaml")
		write(t, "plain.yaml", text)
	}
	text, _ := os.ReadFile("plain.yaml")
	write(t, "pipeline.yaml", text)
	return toObjects(t, "csv")
}

// old publishes an earlier release of three parts.
func old(t *testing.T, server *objecttest.Server) {
	t.Helper()
	d, err := publish.CreateDir("s3://data/out/released", ".csv")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"old\r\n", "", ""} {
		p, err := d.Create(fmt.Sprintf("part-%05d.csv", i))
		if err == nil {
			_, err = p.Write([]byte(text))
		}
		if err = errors.Join(err, p.Sync(), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	server.Age(time.Hour)
}

// TestShardOfObjectsKilled kills a shard at each of its requests: nothing is visible, and the next
// attempt counts.
func TestShardOfObjectsKilled(t *testing.T) {
	racetest.Alone(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	prepare(t, "csv", 100, "")
	single(t, "csv")
	want := records(t, "csv", "whole.csv")
	for _, lose := range []bool{false, true} {
		for step := int64(1); ; step++ {
			server := restart(t)
			m := plannedAt(t, 1)
			done := dying(server, step, lose)
			err := runAt(t, m, 0)
			server.Failing(nil)
			if done.Load() < step {
				if err != nil {
					t.Fatal(err)
				}
				if step < 3 {
					t.Errorf("the commit has only %d steps, want at least 2", step-1)
				}
				break
			}
			if keys := below(server, "out/"); len(keys) > 0 {
				t.Errorf("step %d: the sink has the objects %q, want none", step, keys)
			}
			if err := runAt(t, m, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := commitAt(t, m); err != nil || released(t, server, "csv") != want {
				t.Errorf("lost %v, step %d: the next commit returns %v, or another release", lose, step, err)
			}
		}
	}
}

// TestAttemptsOfObjectsAtOnce: concurrent attempts of one shard and concurrent commits make one
// release.
func TestAttemptsOfObjectsAtOnce(t *testing.T) {
	prepare(t, "parquet", 5_000, "")
	single(t, "parquet")
	server := toObjects(t, "parquet")
	m := plannedAt(t, 3)
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() { errs[k] = runAt(t, m, k%3) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	commits := make([]error, 3)
	for k := range commits {
		wg.Go(func() { _, commits[k] = commitAt(t, m) })
	}
	wg.Wait()
	// The quarantine and the reports belong to one commit; all commits make the same release.
	if !slices.Contains(commits, nil) {
		t.Error(errors.Join(commits...))
	}
	for _, err := range commits {
		if err != nil && !errors.Is(err, objects.ErrCondition) {
			t.Error(err)
		}
	}
	if released(t, server, "parquet") != records(t, "parquet", "whole.parquet") {
		t.Error("the released records differ from those of one run")
	}
}

// Where another commit has written a name first, this one leaves the rest of the names to it, so that
// the quarantine and the reports are of one commit. Neither takes the release back.
func TestAnotherCommitIsFirst(t *testing.T) {
	names := []string{"quarantine.jsonl", "report.public.json", "report.json"}
	for at, first := range names {
		prepare(t, "parquet", 200, "")
		server := toObjects(t, "parquet")
		m := plannedAt(t, 2)
		runAllAt(t, m)
		server.Failing(func(r *http.Request) *objecttest.Fault {
			completes := r.Method == http.MethodPost && r.URL.Query().Has("uploadId") || r.Method == http.MethodPut &&
				!r.URL.Query().Has("partNumber")
			if completes && strings.HasSuffix(r.URL.Path, "/out/"+first) && server.Get("data", "out/"+first) == nil {
				server.Set("data", "out/"+first, []byte("of another commit"))
			}
			return nil
		})
		_, err := commitAt(t, m)
		var published *account.PublishedError
		if !errors.As(err, &published) || !errors.Is(err, objects.ErrCondition) {
			t.Errorf("%s: error %v, want one of a release that is published", first, err)
		}
		if server.Get("data", "out/released/_SUCCESS") == nil {
			t.Errorf("%s: the release is not there", first)
		}
		for k, name := range names {
			object := server.Get("data", "out/"+name)
			switch {
			case k < at && (object == nil || string(object.Data) == "of another commit"):
				t.Errorf("%s: %s has no name", first, name)
			case k == at && string(object.Data) != "of another commit":
				t.Errorf("%s: is replaced", first)
			case k > at && object != nil:
				t.Errorf("%s: %s is of this commit", first, name)
			}
		}
	}
}

// TestObjectsChangeBetween: a change between plan, shard and commit is an error that names the
// object, and nothing is published.
func TestObjectsChangeBetween(t *testing.T) {
	racetest.Further(t)
	for name, c := range map[string]struct {
		change         func(t *testing.T, s *objecttest.Server, m *Manifest)
		shards, commit string // the error; "": success
	}{
		"changed": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Set("data", "in/in.csv", bytes.Replace(s.Get("data", "in/in.csv").Data, []byte("00001"), []byte("00000"), 1))
		}, "s3://data/in/in.csv: is not the file that was planned with: plan again",
			"s3://data/in/in.csv: is not the file that was planned with: plan again"},
		"gone": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Remove("data", "in/in.csv")
		}, "no such object or folder", "no such object or folder"},
		"added": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Set("data", "in/more.csv", []byte("id,wage,age,region\n"))
		}, "2 files", "2 files"},
		"given up": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.GiveUp()
		}, "", "which it wrote, is not there: run it again"},
		"state gone": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Remove("data", "work/states/1.state")
		}, "", "1 of 2 shards have no state: 1"},
		"state broken": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Set("data", "work/states/1.state", []byte("x"))
		}, "", statesAt + "/1.state: is no state"},
		"manifest beside": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			s.Set("data", "work/states/plan.json", s.Get("data", "work/plan.json").Data)
			s.Set("data", "work/states/older/1.state", []byte("x"))
		}, "", ""},
		"elsewhere": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			st := stateAt(t, statesAt+"/1.state")
			st.Files[0].Upload = bytes.Replace(st.Files[0].Upload, []byte("out/released/"), []byte("out/other/"), 1)
			if err := st.Write(statesAt + "/1.state"); err != nil {
				t.Fatal(err)
			}
		}, "", "of another folder"},
		"of another shard": {func(t *testing.T, s *objecttest.Server, m *Manifest) {
			st := stateAt(t, statesAt+"/1.state")
			st.Files[0].Name = strings.Replace(st.Files[0].Name, "part-00001", "part-00000", 1)
			if err := st.Write(statesAt + "/1.state"); err != nil {
				t.Fatal(err)
			}
		}, "", "shard 1: its state names other files than the plan"},
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t, "csv", 40_000, "")
			server := toObjects(t, "csv")
			m := plannedAt(t, 2)
			if len(m.Shards) != 2 {
				t.Fatalf("the plan has %d shards, want 2", len(m.Shards))
			}
			runAllAt(t, m)
			c.change(t, server, m)
			_, err := commitAt(t, m)
			if (err == nil) != (c.commit == "") || err != nil && !strings.Contains(err.Error(), c.commit) {
				t.Errorf("Commit returns %v, want %q", err, c.commit)
			}
			if keys := below(server, "out/"); err != nil && len(keys) > 0 {
				t.Errorf("the sink has the objects %q", keys)
			}
			if err := runAt(t, m, 1); (err == nil) != (c.shards == "") || err != nil &&
				!strings.Contains(err.Error(), c.shards) {
				t.Errorf("Run returns %v, want %q", err, c.shards)
			}
		})
	}
}

// TestObjectChangesWhileAShardReads: the shard detects a change even at its last moment, and aborts
// its uploads.
func TestObjectChangesWhileAShardReads(t *testing.T) {
	prepare(t, "csv", 200, "")
	server := toObjects(t, "csv")
	m := plannedAt(t, 1)
	var once atomic.Bool
	server.Failing(func(r *http.Request) *objecttest.Fault {
		// When a part is uploaded, everything has been read.
		if r.URL.Query().Has("partNumber") && once.CompareAndSwap(false, true) {
			server.Set("data", "in/in.csv", []byte("id,wage,age,region\r\nx,1.00,20,n\r\n"))
		}
		return nil
	})
	if err := runAt(t, m, 0); err == nil || !strings.Contains(err.Error(), "another ETag") || !once.Load() {
		t.Errorf("Run returns %v, want an error about another ETag", err)
	}
	if server.Uploads() > 0 || len(below(server, "work/states")) > 0 {
		t.Errorf("%d unfinished uploads and the objects %q, want no uploads and no state", server.Uploads(),
			server.Keys("data"))
	}
}

// TestRefusedShardsOfObjects: an earlier release stays, and the uploads are aborted.
func TestRefusedShardsOfObjects(t *testing.T) {
	racetest.Further(t)
	prepare(t, "csv", 40_000, "")
	text, _ := os.ReadFile("pipeline.yaml")
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("min_efficiency: 0.5"), []byte("min_efficiency: 0.999"), 1))
	server := toObjects(t, "csv")
	old(t, server)
	m := plannedAt(t, 2)
	runAllAt(t, m)
	if server.Uploads() != 2 {
		t.Fatalf("%d unfinished uploads, want 2", server.Uploads())
	}
	result, err := commitAt(t, m)
	if err != nil || !result.Refused() {
		t.Fatal(err)
	}
	if released(t, server, "csv") != "old\r\n" || server.Uploads() > 0 || server.Get("data", "out/report.json") == nil {
		t.Errorf("%d unfinished uploads and the objects %q, want none and the earlier release with a report",
			server.Uploads(), below(server, "out/"))
	}
}

// TestAnotherReleaseMeanwhile: the other release stays, and the parts are removed.
func TestAnotherReleaseMeanwhile(t *testing.T) {
	prepare(t, "csv", 40_000, "")
	server := toObjects(t, "csv")
	m := plannedAt(t, 2)
	runAllAt(t, m)
	var once atomic.Bool
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && once.CompareAndSwap(false, true) {
			server.Set("data", "out/released/part-00000-theirs.csv", []byte("theirs"))
			server.Set("data", "out/released/_SUCCESS", []byte("theirs"))
		}
		return nil
	})
	if _, err := commitAt(t, m); err == nil || !strings.Contains(err.Error(), "not what was there before") ||
		!once.Load() {
		t.Errorf("Commit returns %v, want an error that the release was replaced", err)
	}
	// The parts that have their names stay beside it, since another commit may be about to publish them.
	theirs := server.Get("data", "out/released/_SUCCESS")
	if keys := below(server, "out/"); len(keys) != 4 || !slices.Contains(keys, "out/released/part-00000-theirs.csv") ||
		string(theirs.Data) != "theirs" || server.Uploads() != 0 {
		t.Errorf("the sink has the objects %q", keys)
	}
}

// TestCredentialsExpireInShards lets credentials expire at each kind of request, during a shard and
// during the commit: the error says so, nothing is published, and with new credentials the work
// continues.
func TestCredentialsExpireInShards(t *testing.T) {
	prepare(t, "csv", 100, "")
	single(t, "csv")
	want := records(t, "csv", "whole.csv")
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost} {
		server := restart(t)
		m := plannedAt(t, 1)
		expire := func() {
			server.Failing(func(r *http.Request) *objecttest.Fault {
				if r.Method == method {
					return &objecttest.Fault{Status: http.StatusBadRequest, Code: "ExpiredToken"}
				}
				return nil
			})
		}
		expired := func(what string, err error) {
			t.Helper()
			server.Failing(nil)
			if !errors.Is(err, objects.ErrDenied) || !strings.Contains(err.Error(), "have expired") {
				t.Errorf("%s, %s: error %v, want one that the credentials have expired", method, what, err)
			}
			if server.Get("data", "out/released/_SUCCESS") != nil || server.Get("data", "out/report.json") != nil {
				t.Errorf("%s, %s: the sink has the objects %q, want no release and no report", method, what, below(server, "out/"))
			}
		}
		expire()
		expired("shard", runAt(t, m, 0))
		runAllAt(t, m)
		expire()
		_, err := commitAt(t, m)
		expired("commit", err)
		if _, err := commitAt(t, m); err != nil || released(t, server, "csv") != want {
			t.Errorf("%s: the next commit returns %v, or another release", method, err)
		}
	}
}
