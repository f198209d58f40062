package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
)

// TestObjectsReal releases from and to real servers, in one run and in shards, and compares with
// the release from files to files (make test-objects).
func TestObjectsReal(t *testing.T) {
	url, access, secret := objecttest.Real()
	for _, c := range []struct {
		root, server string
		env          map[string]string
	}{
		{"s3://release/whole", url, objecttest.Environment(t, url, access, secret)},
		{"gs://release/whole", os.Getenv("SDLFILTER_TEST_GS"), nil},
		{"az://release/whole", os.Getenv("SDLFILTER_TEST_AZ"),
			map[string]string{"AZURE_STORAGE_CONNECTION_STRING": os.Getenv("SDLFILTER_TEST_AZ")}},
	} {
		t.Run(c.root[:2], func(t *testing.T) {
			if c.server == "" {
				t.Skip("the environment names no server (make test-objects)")
			}
			if c.root[:2] == "gs" {
				c.env = map[string]string{"STORAGE_EMULATOR_HOST": objecttest.Mended(t, c.server)}
			}
			for _, format := range []string{"csv", "jsonl", "parquet"} {
				t.Run(format, func(t *testing.T) { releaseOnServer(t, format, c.root+"/"+format, c.env) })
			}
		})
	}
}

func releaseOnServer(t *testing.T, format, root string, env map[string]string) {
	s := &store{t: t, dir: t.TempDir(), scheme: "s3", server: &objecttest.Server{URL: "http://127.0.0.1"}}
	canaryInputs(t, s.dir)
	for k, v := range env {
		if v != "" {
			s.env = append(s.env, k+"="+v)
		}
	}
	in := "in." + format
	types := map[string]string{"csv": ", types: {wage: float64}", "jsonl": ", types: {wage: float64}"}[format]
	// copied copies inputs or releases to the server and back.
	copied := func(from, to string, columns string) []byte {
		config := fmt.Sprintf(
			"version: 1\nkey: {file: k}\nsource: {%[1]s: {path: %[2]q%[4]s}}\ncolumns: {%[5]s}\nmasks: []\nsink: {%[1]s: {path: %[3]q}}\n", format, from, to, types, columns)
		if err := os.WriteFile(filepath.Join(s.dir, "copy.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		s.must(exitDone, "", "run", "copy.yaml")
		data, _ := os.ReadFile(filepath.Join(s.dir, to))
		return data
	}
	released := "wage: {role: other}, kind: {role: other}"
	copied(in, root+"/in/"+in, "name: {role: other}, note: {role: other}, "+released)
	s.config(format, in, "local/release."+format, "local/", passes)
	s.must(exitDone, "", "run", "c.yaml")
	want := copied("local/release."+format, "want."+format, released)

	s.config(format, root+"/in/"+in, root+"/out/release."+format, root+"/out/", passes)
	s.must(exitDone, "", "run", "c.yaml")
	s.must(exitDone, "belong together", "verify", root+"/out/report.json")
	if got := copied(root+"/out/release."+format, "got."+format, released); !bytes.Equal(got, want) || len(got) == 0 {
		t.Errorf("the release is not that of files: %d bytes, and %d", len(got), len(want))
	}

	s.config(format, root+"/in", root+"/folder", root+"/reports/", passes)
	plan, states := root+"/work/plan.json", root+"/work/states"
	for range 2 { // the second replaces the first
		s.must(exitDone, "", "shard", "plan", "c.yaml", "--shards", "2", "--out", plan)
		s.must(exitDone, "", "shard", "run", plan, "--shard", "0", "--state", states+"/0")
		s.must(exitDone, "", "shard", "commit", plan, "--states", states)
		s.must(exitDone, "belong together", "verify", root+"/reports/report.json")
		s.must(exitDone, "", "shard", "commit", plan, "--states", states) // and again
	}
	copied(root+"/folder", "parts/", released)
	if got, err := os.ReadFile(filepath.Join(s.dir, "parts", "part-00000."+format)); err != nil ||
		!bytes.Equal(got, want) {
		t.Errorf("the release in shards is not that of files: %d bytes, and %d, %v", len(got), len(want), err)
	}

	s.config(format, root+"/in", root+"/folder", root+"/reports/", "{column: wage, min_rmse: 1000000000}")
	s.must(exitDone, "", "shard", "plan", "c.yaml", "--shards", "2", "--out", plan)
	s.must(exitFailed, "is of another plan", "shard", "commit", plan, "--states", states)
	s.must(exitDone, "", "shard", "run", plan, "--shard", "0", "--state", states+"/0")
	s.must(exitRefused, "earlier release", "shard", "commit", plan, "--states", states)
	s.config(format, strings.Replace(root, "release", "none", 1)+"/in", root+"/folder", root+"/reports/", passes)
	s.must(exitFailed, "no such bucket", "run", "c.yaml")
}

// must runs the program and checks its status and that its output contains the words.
func (s *store) must(status int, words string, args ...string) {
	s.t.Helper()
	if got, output := s.run(args...); got != status || !strings.Contains(output, words) {
		s.t.Fatalf("%q: status %d, want %d and %q:\n%s", args, got, status, words, output)
	}
}
