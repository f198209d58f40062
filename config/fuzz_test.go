package config

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzLoad: whatever the text, reading it ends, does not panic, and either gives
// a pipeline that is the same when it is written and read again, or errors that
// each have a place in the file.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*.good.yaml", "testdata/*.bad.yaml"} {
		for _, name := range corpus(f, pattern) {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, "")
		}
	}
	f.Add([]byte(base), "masks.0.noise.sd=3")
	f.Add([]byte(base), "columns.a.b.role=key")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		if strings.Contains(string(text), "${file:") {
			return // the fuzzer shall not read around in the machine
		}
		opts := Options{LookupEnv: lookup}
		if set != "" {
			opts.Set = []string{set}
		}
		p, err := Parse("fuzz.yaml", text, opts)
		if err == nil {
			again, err := Parse("fuzz.yaml", p.canonical(), Options{LookupEnv: lookup})
			if err != nil {
				t.Fatalf("what it wrote does not load: %v\n%s", err, p.canonical())
			}
			if again.SHA256() != p.SHA256() {
				t.Fatalf("changed when written and read:\n%s\n%s", p.canonical(), again.canonical())
			}
			return
		}
		var all Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Fatalf("must be Errors, got %T", err)
		}
		lines := strings.Count(string(text), "\n") + 1
		for _, e := range all {
			fromFlag := strings.HasPrefix(e.File, "--set ")
			if e.Text == "" || !fromFlag && (e.File != "fuzz.yaml" || e.Line < 1 || e.Line > lines+strings.Count(string(text), "\r")+strings.Count(string(text), "\u2028")+strings.Count(string(text), "\u2029")+strings.Count(string(text), "\u0085") || e.Column < 1) {
				t.Fatalf("an error without a place: %+v", e)
			}
		}
	})
}
