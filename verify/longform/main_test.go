package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func written(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Tests that ask themselves, by a function, by a function of a function in another file, and by a
// method; no others, and none of other modules.
func TestFind(t *testing.T) {
	const asking = "package a\nimport \"testing\"\nfunc TestDirect(t *testing.T) { if testing.Short() { t.Skip() } }\n"
	root := written(t, map[string]string{
		"go.mod":    "module m\n",
		"a/a.go":    "package a\nfunc Short() {}\n",
		"a/one.txt": "testing.Short()",
		"a/a_test.go": asking +
			"func TestByFunction(t *testing.T) { n(t) }\nfunc n(t *testing.T) { m() }\nfunc TestQuick(t *testing.T) { Short() }\n" +
			"func TestByMethod(t *testing.T) { var s s; s.do() }\n",
		"a/b_test.go":          "package a\nimport \"testing\"\ntype s struct{}\nfunc (s) do() { m() }\nfunc m() int { if testing.Short() { return 1 }; return 10 }\n",
		"a/b/b_test.go":        "package b\nimport \"testing\"\nfunc TestOther(t *testing.T) {}\n",
		"c/x_test.go":          strings.ReplaceAll(asking, "TestDirect", "TestInC"),
		"other/go.mod":         "module other\n",
		"other/a_test.go":      strings.ReplaceAll(asking, "TestDirect", "TestOfAnother"),
		"testdata/a_test.go":   asking,
		".cache/mod/a_test.go": asking,
	})
	got, err := find(root)
	want := []string{"^(TestByFunction|TestByMethod|TestDirect|TestInC)$", "./a", "./c"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// What would be overlooked is an error.
func TestFindRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"outside of a test file": {"a.go": "package a\nimport \"testing\"\nfunc F() bool { return testing.Short() }\n"},
		"outside of a function":  {"a_test.go": "package a\nimport \"testing\"\nvar f = testing.Short\n"},
		"no test has":            {"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n"},
		"expected":               {"a_test.go": "package a\nfunc {"},
	} {
		if got, err := find(written(t, files)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
}

// The project's own: none that asks outside of a test, and the ones that were found by hand.
func TestOfTheProject(t *testing.T) {
	got, err := find(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.Trim(got[0], "^()$"), "|")
	for _, name := range []string{"TestKilledAtAnyMoment", "TestUndoingIsThatOfTheEnumeration", "TestAnyInterleaving"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among them: %q", name, names)
		}
	}
	if slices.Contains(names, "TestOfTheProject") || !slices.Contains(got, "./cmd/sdlfilter") ||
		slices.Contains(got, "./config") {
		t.Errorf("other tests: %q", got)
	}
}
