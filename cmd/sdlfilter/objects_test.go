package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// store is a folder with a key, and a server of objects that the program uses.
type store struct {
	t      *testing.T
	dir    string
	server *objecttest.Server
	scheme string // the tests write s3 in its place
	env    []string
}

func newStore(t *testing.T) *store { return newStoreOf(t, "s3") }

// newStoreOf returns a store with a server for the protocol of a scheme, s3, gs or az.
func newStoreOf(t *testing.T, scheme string) *store {
	t.Helper()
	s := &store{t: t, dir: t.TempDir(), scheme: scheme}
	switch scheme {
	case "gs":
		s.server = objecttest.NewGS(t, "data")
	case "az":
		s.server = objecttest.NewAz(t, "data")
	default:
		s.server = objecttest.New(t, "data")
	}
	canaryInputs(t, s.dir)
	s.lead(objecttest.AccessKey, objecttest.SecretKey)
	return s
}

// at replaces names in a text with those of this store's objects.
func (s *store) at(text string) string { return strings.ReplaceAll(text, "s3://", s.scheme+"://") }

// lead configures the program to use the server with these credentials.
func (s *store) lead(access, secret string) {
	s.env = nil
	env := objecttest.Environment(s.t, s.server.URL, access, secret)
	env["GOOGLE_APPLICATION_CREDENTIALS"] = "/dev/null/none"
	switch s.scheme {
	case "gs":
		env = objecttest.GSEnvironment(s.t, s.server.URL, secret)
	case "az":
		env = objecttest.AzEnvironment(s.server.URL, access, secret)
	}
	for name, value := range env {
		if value != "" {
			s.env = append(s.env, name+"="+value)
		}
	}
}

// run runs the program and checks that its output contains nothing about a respondent and no
// credentials.
func (s *store) run(args ...string) (status int, words string) {
	s.t.Helper()
	args = slices.Clone(args)
	for i := range args {
		args[i] = s.at(args[i])
	}
	cmd := program(s.t, s.dir, args...)
	for _, v := range cmd.Env {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "SDLFILTER_S3_") {
			s.env = append(s.env, v)
		}
	}
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	s.clean("what the program says", out)
	for _, never := range []string{objecttest.AccessKey, objecttest.SecretKey, s.server.URL, "X-Amz-", "SDK 20",
		"upload_id", "session-"} {
		if bytes.Contains(out, []byte(never)) {
			s.t.Errorf("%q: prints %q:\n%s", args, never, out)
		}
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (s *store) clean(what string, text []byte) {
	s.t.Helper()
	for _, canary := range []string{canaryName, canaryNote, canaryBroken, "nameOfSource"} {
		if bytes.Contains(text, []byte(canary)) {
			s.t.Errorf("%s holds %q", what, canary)
		}
	}
}

// config writes a configuration from one place to another.
func (s *store) config(format, from, to, report, rule string) {
	s.t.Helper()
	types := ""
	if format == "csv" || format == "jsonl" {
		types = ", types: {wage: float64}"
	}
	text := fmt.Sprintf(`version: 1
name: objects
key: {file: k}
source: {%[1]s: {path: "%[2]s"%[5]s}}
columns:
  name: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  kind: {role: other}
unlisted: drop
masks:
  - noise: {columns: [wage], sd: 5000}
sink: {%[1]s: {path: "%[3]s"}}
assess: {replicates: 20}
quarantine: {jsonl: "%[4]squarantine.jsonl"}
gate: {rules: [%[6]s]}
report: {json: "%[4]sreport.json", html: "%[4]sreport.html"}
`, format, from, to, report, types, rule)
	if err := os.WriteFile(filepath.Join(s.dir, "c.yaml"), []byte(s.at(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

const passes = "{column: wage, target: typical, max_risk: 1}"

func (s *store) upload(file, key string) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		s.t.Fatal(err)
	}
	s.server.Set("data", key, data)
}

// arrow makes in.arrow from in.parquet, with the program itself.
func (s *store) arrow() {
	s.t.Helper()
	config := `version: 1
key: {file: k}
source: {parquet: {path: in.parquet}}
columns: {name: {role: other}, note: {role: other}, wage: {role: other}, kind: {role: other}}
masks: []
sink: {arrow: {path: in.arrow}}
`
	if err := os.WriteFile(filepath.Join(s.dir, "arrow.yaml"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if status, words := s.run("run", "arrow.yaml"); status != exitDone {
		s.t.Fatalf("status %d: %s", status, words)
	}
}

// TestObjectsAsFiles releases from objects to objects, with the same bits as from files to files,
// in each format, for one object and for a folder.
func TestObjectsAsFiles(t *testing.T) {
	all := []string{"s3 parquet", "gs jsonl", "s3 csv", "s3 jsonl", "s3 arrow", "gs parquet"}
	if testing.Short() {
		all = all[:2]
	}
	for _, c := range all {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			scheme, format, _ := strings.Cut(c, " ")
			s := newStoreOf(t, scheme)
			if format == "arrow" {
				s.arrow()
			}
			in := "in." + format
			s.config(format, in, "local/release."+format, "local/", passes)
			if status, words := s.run("run", "c.yaml"); status != exitDone {
				t.Fatalf("of files: status %d: %s", status, words)
			}
			want, err := os.ReadFile(filepath.Join(s.dir, "local", "release."+format))
			if err != nil {
				t.Fatal(err)
			}
			s.upload(in, "in/nameOfSource1."+format)
			s.config(format, "s3://data/in/nameOfSource1."+format, "s3://data/out/release."+format, "s3://data/out/", passes)
			if status, words := s.runNaming("run", "c.yaml"); status != exitDone {
				t.Fatalf("of objects: status %d: %s", status, words)
			}
			if got := s.server.Get("data", "out/release."+format); got == nil || !bytes.Equal(got.Data, want) {
				t.Fatalf("the release is not that of files")
			}
			if status, words := s.runNaming("verify", "s3://data/out/report.json"); status != exitDone ||
				!strings.Contains(words, "belong together") {
				t.Errorf("verify: status %d: %s", status, words)
			}
			s.mustHaveOnly("out/quarantine.jsonl", "out/release."+format, "out/report.html", "out/report.json",
				"out/report.public.html", "out/report.public.json")
			s.clean("the release", want)

			s.folders(format, want)
		})
	}
}

// folders releases two objects of a folder, by the folder and by a glob, twice.
func (s *store) folders(format string, part []byte) {
	s.t.Helper()
	s.upload("in."+format, "in/nameOfSource2."+format)
	for _, from := range []string{"s3://data/in", "s3://data/in/", "s3://data/i*/*." + format} {
		s.config(format, from, "s3://data/folder/", "s3://data/reports/", passes)
		if status, words := s.runNaming("run", "c.yaml"); status != exitDone {
			s.t.Fatalf("%s: status %d: %s", from, status, words)
		}
		var parts int
		for _, key := range s.server.Keys("data") {
			if !strings.HasPrefix(key, "folder/") || key == "folder/_SUCCESS" {
				continue
			}
			data := s.server.Get("data", key).Data
			if parts++; parts == 1 && len(data) == 0 || !strings.HasPrefix(key, fmt.Sprintf("folder/part-%05d-", parts-1)) {
				s.t.Errorf("%s: part %s of %d bytes", from, key, len(data))
			}
			if parts == 1 && format == "jsonl" && !bytes.Equal(data, part) {
				s.t.Errorf("%s: the first part is not the release of the first file", from)
			}
		}
		if parts != 2 || s.server.Get("data", "folder/_SUCCESS") == nil {
			s.t.Errorf("%s: %q", from, s.server.Keys("data"))
		}
		if status, words := s.runNaming("verify", "s3://data/reports/report.json"); status != exitDone {
			s.t.Errorf("verify: status %d: %s", status, words)
		}
	}
	if n := s.server.Uploads(); n > 0 {
		s.t.Errorf("%d uploads are left", n)
	}
}

// runNaming is run where the output may name the source, like output about files.
func (s *store) runNaming(args ...string) (int, string) {
	s.t.Helper()
	return s.run(args...)
}

// mustHaveOnly checks that there are exactly these objects below out/.
func (s *store) mustHaveOnly(keys ...string) {
	s.t.Helper()
	var there []string
	for _, key := range s.server.Keys("data") {
		if !strings.HasPrefix(key, "in/") {
			there = append(there, key)
		}
	}
	if strings.Join(there, " ") != strings.Join(keys, " ") || s.server.Uploads() > 0 {
		s.t.Errorf("there are %q and %d uploads; want %q", there, s.server.Uploads(), keys)
	}
}

// TestObjectsRefused: if the gate refuses a release, the existing release stays, and only the
// confidential report is new.
func TestObjectsRefused(t *testing.T) {
	for _, scheme := range []string{"s3", "gs"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			objectsRefused(newStoreOf(t, scheme))
		})
	}
}

func objectsRefused(s *store) {
	t := s.t
	s.upload("in.csv", "in/in.csv")
	s.server.Set("data", "out/release.csv", []byte("earlier"))
	s.config("csv", "s3://data/in/in.csv", "s3://data/out/release.csv", "s3://data/out/",
		"{column: wage, min_rmse: 1000000000}")
	if status, words := s.run("run", "c.yaml"); status != exitRefused || !strings.Contains(words, "earlier release") {
		t.Fatalf("status %d: %s", status, words)
	}
	if got := s.server.Get("data", "out/release.csv"); string(got.Data) != "earlier" {
		t.Error("the earlier release was touched")
	}
	s.mustHaveOnly("out/quarantine.jsonl", "out/release.csv", "out/report.html", "out/report.json")
}

// TestObjectsChange: if the source changes, a file is added to its folder, or the name of the
// release is taken during the run, the status is 1 and nothing is published.
func TestObjectsChange(t *testing.T) {
	for name, change := range map[string]func(s *store){
		"changed": func(s *store) { s.server.Set("data", "in/1.csv", []byte("name,note,wage,kind\nx,y,1.5,a\n")) },
		"removed": func(s *store) { s.server.Remove("data", "in/1.csv") },
		"added":   func(s *store) { s.upload("in.csv", "in/2.csv") },
		"taken": func(s *store) {
			s.server.Set("data", "out/report.json", []byte("theirs"))
			s.server.Set("data", "out/release/_SUCCESS", []byte("theirs"))
		},
		"gs changed": func(s *store) { s.server.Set("data", "in/1.csv", []byte("name,note,wage,kind\nx,y,1.5,a\n")) },
		"gs taken": func(s *store) {
			s.server.Set("data", "out/report.json", []byte("theirs"))
			s.server.Set("data", "out/release/_SUCCESS", []byte("theirs"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := "s3"
			if strings.HasPrefix(name, "gs ") {
				scheme = "gs"
			}
			s := newStoreOf(t, scheme)
			s.upload("in.csv", "in/1.csv")
			s.config("csv", "s3://data/in", "s3://data/out/release", "s3://data/out/", passes)
			var reads atomic.Int64
			s.server.Failing(func(r *http.Request) *objecttest.Fault {
				// The report is requested when everything else is open.
				if (r.Method == http.MethodHead || scheme == "gs") && strings.HasSuffix(r.URL.Path, "/report.public.json") &&
					reads.Add(1) == 1 {
					change(s)
				}
				return nil
			})
			status, words := s.run("run", "c.yaml")
			if status != exitFailed || reads.Load() != 1 {
				t.Fatalf("status %d: %s", status, words)
			}
			if strings.HasSuffix(name, "taken") {
				if !strings.Contains(words, "not what was there before") {
					t.Error(words)
				}
				s.mustHaveOnly("out/release/_SUCCESS", "out/report.json")
				return
			}
			s.mustHaveOnly()
		})
	}
}

// TestObjectsFail: if credentials expire or a server stops during the run, the status is 1 and
// nothing is published.
func TestObjectsFail(t *testing.T) {
	for _, c := range []struct {
		scheme, words string
		fault         objecttest.Fault
	}{
		{"s3", "have expired", objecttest.Fault{Status: 400, Code: "ExpiredToken"}},
		{"s3", "too busy", objecttest.Fault{Status: 503, Code: "SlowDown"}},
		{"gs", "have expired", objecttest.Fault{Status: 401, Code: "authError"}},
		{"gs", "too busy", objecttest.Fault{Status: 503, Code: "backendError"}},
	} {
		for _, at := range []string{"GET", "PUT"} {
			t.Run(c.scheme+" "+c.words+" "+at, func(t *testing.T) {
				t.Parallel()
				s := newStoreOf(t, c.scheme)
				s.upload("in.parquet", "in/in.parquet")
				s.config("parquet", "s3://data/in/in.parquet", "s3://data/out/release.parquet", "s3://data/out/", passes)
				s.server.Failing(func(r *http.Request) *objecttest.Fault {
					// Small writes to Google are POST requests.
					if r.Method == at || at == "PUT" && strings.HasPrefix(r.URL.Path, "/upload/") {
						return &c.fault
					}
					return nil
				})
				if status, words := s.run("run", "c.yaml"); status != exitFailed || !strings.Contains(words, c.words) {
					t.Errorf("status %d: %s", status, words)
				}
				s.mustHaveOnly()
			})
		}
	}
}

// TestObjectsBadInput checks the messages and the status for invalid input.
func TestObjectsBadInput(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.upload("in.csv", "in/in.csv")
	const in, out = "s3://data/in/in.csv", "s3://data/out/release.csv"
	for _, c := range []struct {
		from, to, report string
		status           int
		words            string
	}{
		{"ftp://data/in.csv", out, "", exitUsage,
			"source.csv.path: must be a path of this machine or begin with one of az://, gs://, s3://; ftp:// is not known (c.yaml:4:"},
		{in, "gs://data", "", exitUsage, "sink.csv.path: must name an object or a folder"},
		{in, "gs://data/out.csv", "", exitFailed,
			"gs://data: access denied: no credentials were found, or they could not be renewed: see GOOGLE_APPLICATION_CREDENTIALS"},
		{in, "az://data", "", exitUsage, "sink.csv.path: must name an object or a folder"},
		{"az://data/in.csv", out, "", exitFailed, "az://data: access denied: no account was found"},
		{"s3:///in.csv", out, "", exitUsage, "source.csv.path: must name a bucket"},
		{in, "s3://data", "", exitUsage, "sink.csv.path: must name an object or a folder"},
		{"s3://" + objecttest.AccessKey + ":" + objecttest.SecretKey + "@data/in.csv", out, "", exitUsage,
			"source.csv.path: must hold no credentials"},
		{"s3://data/in//in.csv", out, "", exitUsage, "source.csv.path: must have no empty name"},
		{in, in, "", exitUsage, "must not be the source itself"},
		{"s3://data/in/*.csv", "s3://data/in/x.csv", "", exitUsage, "must not lie where the source is read from"},
		{in, "s3://data/out", "s3://data/out/", exitUsage, "must not lie in the folder of the release"},
		{"s3://none/in.csv", out, "", exitFailed, "no such bucket"},
		{"s3://data/none.csv", out, "", exitFailed, "s3://data/none.csv: no such object or folder"},
		{in, "s3://none/out.csv", "", exitFailed, "s3://none/out.csv: no such bucket"},
	} {
		s.config("csv", c.from, c.to, c.report, passes)
		if status, words := s.run("run", "c.yaml"); status != c.status || !strings.Contains(words, c.words) {
			t.Errorf("from %s to %s: status %d, want %d and %q:\n%s", c.from, c.to, status, c.status, c.words, words)
		}
	}
	s.mustHaveOnly()
	s.config("csv", in, out, "", passes)
	s.lead("AKIDOTHER", "another")
	if status, words := s.run("run", "c.yaml"); status != exitFailed || !strings.Contains(words, "access denied") {
		t.Errorf("wrong credentials: status %d: %s", status, words)
	}
	s.lead("", "")
	if status, words := s.run("run", "c.yaml"); status != exitFailed ||
		!strings.Contains(words, "no credentials were found") {
		t.Errorf("no credentials: status %d: %s", status, words)
	}
	s.mustHaveOnly()
}

// TestObjectsInShards releases from objects to objects in shards, with objects for the manifest and
// states as well, and compares the records with those of one run.
func TestObjectsInShards(t *testing.T) {
	for _, c := range []string{"s3 parquet", "s3 csv", "s3 jsonl", "gs parquet", "gs csv"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			scheme, format, _ := strings.Cut(c, " ")
			s := newStoreOf(t, scheme)
			in := "in." + format
			s.config(format, in, "local/release."+format, "local/", passes)
			if status, words := s.run("run", "c.yaml"); status != exitDone {
				t.Fatalf("of files: status %d: %s", status, words)
			}
			want, err := os.ReadFile(filepath.Join(s.dir, "local", "release."+format))
			if err != nil {
				t.Fatal(err)
			}
			s.upload(in, "in/"+in)
			s.config(format, "s3://data/in", "s3://data/out/release", "s3://data/out/", passes)
			const plan, states = "s3://data/work/plan.json", "s3://data/work/states"
			for _, c := range []struct {
				status int
				words  string
				args   []string
			}{
				{exitUsage, "plan.json: no such object", []string{"shard", "run", plan, "--shard", "0", "--state", states + "/0"}},
				{exitDone, "1 shards of 1 files in " + plan, []string{"shard", "plan", "c.yaml", "--shards", "2", "--out", plan}},
				{exitFailed, states + ": holds no states", []string{"shard", "commit", plan, "--states", states}},
				{exitUsage, "must be 0 to 0", []string{"shard", "run", plan, "--shard", "1", "--state", states + "/1"}},
				{exitFailed, "no such bucket", []string{"shard", "run", plan, "--shard", "0", "--state", "s3://none/0"}},
				{exitDone, "", []string{"shard", "run", plan, "--shard", "0", "--state", states + "/0"}},
				{exitFailed, "no such bucket", []string{"shard", "commit", plan, "--states", "s3://none/states"}},
				{exitDone, "s3://data/out/release", []string{"shard", "commit", plan, "--states", states}},
				{exitDone, "belong together", []string{"verify", "s3://data/out/report.json"}},
			} {
				if status, words := s.run(c.args...); status != c.status || !strings.Contains(words, s.at(c.words)) {
					t.Errorf("%q: status %d, want %d and %q:\n%s", c.args, status, c.status, c.words, words)
				}
			}
			var got []byte
			for _, key := range s.server.Keys("data") {
				data := s.server.Get("data", key).Data
				if strings.HasPrefix(key, "out/release/part-") {
					got = append(got, data...)
				}
				if !strings.HasPrefix(key, "in/") {
					s.clean(key, data)
				}
			}
			if format != "parquet" && !bytes.Equal(got, want) || len(got) == 0 {
				t.Errorf("the release is not that of one run: %d bytes, and %d", len(got), len(want))
			}
			if _, err := os.Stat(filepath.Join(s.dir, scheme+":")); err == nil {
				t.Error("a folder s3: was made")
			}
		})
	}
}

// TestObjectsKilled kills a run while it uploads: no object is visible, and only an incomplete upload
// remains.
func TestObjectsKilled(t *testing.T) {
	racetest.Alone(t)
	for _, scheme := range []string{"s3", "gs"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			objectsKilled(newStoreOf(t, scheme))
		})
	}
}

func objectsKilled(s *store) {
	t := s.t
	var in bytes.Buffer
	in.WriteString("name,note,wage,kind\n")
	for i := range 900_000 {
		fmt.Fprintf(&in, "n,%d,%d.25,some longer words that fill the release\n", i, i%1000)
	}
	s.server.Set("data", "in/in.csv", in.Bytes())
	s.server.PageSize = 1000
	s.config("csv", "s3://data/in/in.csv", "s3://data/out/release.csv", "s3://data/out/", passes)
	begun := make(chan struct{})
	var once atomic.Bool
	s.server.Failing(func(r *http.Request) *objecttest.Fault {
		if q := r.URL.Query(); r.Method == http.MethodPut && (q.Has("partNumber") || q.Has("upload_id")) &&
			once.CompareAndSwap(false, true) {
			close(begun)
			return &objecttest.Fault{Wait: time.Hour}
		}
		return nil
	})
	cmd := program(t, s.dir, "run", "c.yaml")
	cmd.Env = append(cmd.Env, s.env...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatalf("it ended before it uploaded: %v: %s", err, words.Bytes())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if keys := s.server.Keys("data"); len(keys) != 1 || s.server.Uploads() != 1 {
		t.Errorf("there are %q and %d uploads", keys, s.server.Uploads())
	}
}
