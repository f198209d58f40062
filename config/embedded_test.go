package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadEmbedded: the configuration of an embedded filter is read from a file, and errors give the
// file's name and the place. A part that the embedding program decides is refused.
func TestLoadEmbedded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter.yaml")
	load := func(text string) (*Pipeline, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadEmbedded(path, Options{Environ: func() []string { return nil }})
	}
	const good = "version: 1\nkey: {file: k}\ncolumns: {wage: {role: sensitive}}\nmasks: [{noise: {columns: [wage], sd: 3}}]\n"
	p, err := load(good)
	if err != nil || len(p.Masks) != 1 || p.Columns[0].Name != "wage" {
		t.Fatalf("%+v, %v", p, err)
	}
	for text, want := range map[string]string{
		good + "sink: {csv: {path: out.csv}}\n":    ":5:1",
		strings.Replace(good, "sd: 3", "sd: x", 1): ":4:",
	} {
		var list Errors
		if _, err := load(text); !errors.As(err, &list) || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q: %v, want an error at %s%s", text, err, path, want)
		}
	}
	if _, err := LoadEmbedded(filepath.Join(filepath.Dir(path), "none.yaml"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a file that is not there: %v", err)
	}
}
