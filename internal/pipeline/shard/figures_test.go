package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The division of a source into shards and the report of a commit do not change unnoticed.
func TestFiguresOfShards(t *testing.T) {
	racetest.Further(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	leave := func(path string) bool {
		for _, other := range []string{".key_id", ".started", ".finished", ".changed", ".release", ".histogram",
			".config_sha256", ".version", ".schema", ".verdict", ".note", ".advice", ".remark", ".rule"} {
			if strings.HasSuffix(path, other) { // differs in every run, or is text of other packages
				return true
			}
		}
		return strings.Contains(path, ".columns") && strings.Contains(path, "report") // the key differs each time
	}
	var f pinned.Figures
	for _, format := range []string{"csv", "jsonl"} {
		prepare(t, format, 230, "")
		if err := os.WriteFile("test.key", []byte("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 3, 7} {
			m, err := Plan(context.Background(), load(t), "pipeline.yaml", nil, n, options)
			if err != nil {
				t.Fatal(err)
			}
			f.AddTree(format+": plan of "+string(rune('0'+n)), m, func(path string) bool {
				return leave(path) || n > 1 && strings.Contains(path, ".files")
			})
		}
		_, result, err := sharded(t, 3)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result.Report)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(here), []byte("DIR")), &tree); err != nil {
			t.Fatal(err)
		}
		f.AddTree(format+": report", tree, leave)
		for _, part := range files(t) {
			if strings.HasPrefix(part, "released") && !strings.Contains(part, "_SUCCESS") {
				released, err := os.ReadFile(part)
				if err != nil {
					t.Fatal(err)
				}
				f.AddTree(format+": "+part, strings.Split(string(released), "\n")[:5], nil)
			}
		}
	}
	f.Check(t, filepath.Join(here, "testdata", "figures.tsv"))
}
