package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite expected errors and the schema")

// environment is the environment of the corpus files; it contains nothing from the machine.
var environment = map[string]string{
	"DATA": "data/in.parquet", "WIDTH": "12.5", "ROWS": "4096", "EMPTY": "", "WORDS": "{role: key}",
	"LIST": "[a, b]", "TOKEN": "hunter2hunter2", "SDLFILTER_DATA": "data/in.parquet",
}

func lookup(name string) (string, bool) {
	v, ok := environment[name]
	return v, ok
}

func corpus(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	return names
}

func TestGoodFilesLoad(t *testing.T) {
	names := corpus(t, "testdata/*.good.yaml")
	if len(names) < 15 {
		t.Errorf("the corpus must hold at least 15 good files, got %d", len(names))
	}
	for _, name := range append(names, corpus(t, "../examples/*/pipeline.yaml")...) {
		p, err := Load(name, Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s must load, got\n%v", name, err)
			continue
		}
		// The effective configuration is itself a valid configuration, and gives the same one again.
		text := p.canonical()
		again, err := Parse(name, text, Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s in canonical form must load, got\n%v\n%s", name, err, text)
		} else if !bytes.Equal(again.canonical(), text) || again.SHA256() != p.SHA256() {
			t.Errorf("%s changes when it is written and read again:\n%s\n%s", name, text, again.canonical())
		}
	}
}

// Each bad file has a companion with its expected errors, one per line, in order.
func TestBadFilesSayWhatIsWrong(t *testing.T) {
	names := corpus(t, "testdata/*.bad.yaml")
	if len(names) < 60 {
		t.Errorf("the corpus must hold at least 60 bad files, got %d", len(names))
	}
	for _, name := range names {
		p, err := Load(name, Options{LookupEnv: lookup})
		if err == nil || p != nil {
			t.Errorf("%s must not load", name)
			continue
		}
		got := strings.ReplaceAll(err.Error(), "testdata/", "") + "\n"
		golden := strings.TrimSuffix(name, ".yaml") + ".err"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%s: the expected error is missing: %v", name, err)
			continue
		}
		if string(want) != got {
			t.Errorf("%s must say\n%s\ngot\n%s", name, want, got)
		}
	}
}
