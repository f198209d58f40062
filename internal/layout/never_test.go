package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// never is what the rows of the map allow and the design does not: packages that import none of others, each with what
// lies below it.
type never struct {
	packages, but []string // those that do not import, and the exceptions among them
	imports, save []string // what they do not import, and the exceptions
}

// formats are what reads and writes records.
var formats = []string{
	"connectors", "internal/files", "internal/text", "internal/serial", "internal/compress", "internal/members", "internal/message", "internal/readstat",
	"internal/labels", "internal/lz4", "internal/objects", "internal/publish", "internal/placed", "internal/shuffle", "internal/rolling", "internal/formats",
}

var keystream = []string{"transform/keystream"}

var design = map[string]never{
	"formats know no mask":              {packages: formats, imports: []string{"transform"}, save: keystream},
	"masks and measures know no format": {packages: []string{"transform", "assess"}, imports: formats},
	"measures know no mask": {
		packages: []string{"assess", "internal/intruder", "internal/rumap", "internal/picture", "internal/figure", "internal/headline", "internal/correct"},
		but:      []string{"assess/report", "internal/intruder/inversion"}, imports: []string{"transform"}, save: keystream,
	},
	"tables share nothing with masks and their measures": {
		packages: []string{"internal/tables"}, but: []string{"internal/tables/tablemap"},
		imports: []string{"transform", "assess", "internal/intruder", "internal/rumap", "internal/correct"}, save: keystream,
	},
	"only renderers draw": {
		packages: []string{"."}, imports: []string{"internal/figure"},
		but: []string{
			"assess/report", "internal/headline", "internal/monitor", "internal/rumap", "internal/tables/tablemap",
			"internal/pipeline/account", "internal/pipeline/tabling",
		},
	},
	"rooms know no configuration": {
		packages: []string{"."}, but: []string{"cmd", "filter", "internal/pipeline"}, imports: []string{"config"},
	},
}

// below reports whether a package is one of a list, or lies below one.
func below(p string, list []string) bool {
	return slices.ContainsFunc(list, func(top string) bool { return top == "." || p == top || strings.HasPrefix(p, top+"/") })
}

// broken returns what a rule forbids, and the exceptions that nobody needs.
func (n never) broken(imports map[string][]string) (wrong []string) {
	needed := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if !below(p, n.packages) {
			continue
		}
		for _, other := range imports[p] {
			if !below(other, n.imports) || below(other, n.save) {
				continue
			}
			if !below(p, n.but) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s", p, other))
			}
			for _, top := range n.but {
				needed[top] = needed[top] || below(p, []string{top})
			}
		}
	}
	for _, top := range n.but {
		if !needed[top] {
			wrong = append(wrong, fmt.Sprintf("%s is an exception that is not needed", top))
		}
	}
	return wrong
}

func TestWhatNeverImportsWhat(t *testing.T) {
	imports, err := importsBelow(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range design {
		for _, p := range append(slices.Clone(rule.packages), rule.imports...) {
			if _, there := imports[p]; p != "." && !there && !slices.ContainsFunc(slices.Collect(maps.Keys(imports)), func(q string) bool { return below(q, []string{p}) }) {
				t.Errorf("%s: there is no package %s", name, p)
			}
		}
		for _, wrong := range rule.broken(imports) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// Masks and measures do no I/O: they read no file, no network and no environment.
func TestMasksAndMeasuresDoNoIO(t *testing.T) {
	seen := 0
	eachFile(t, func(files *token.FileSet, path string, f *ast.File) {
		rel, err := filepath.Rel(filepath.Join("..", ".."), path)
		if err != nil || !below(filepath.ToSlash(rel), []string{"transform", "assess"}) || f.Name.Name == "main" { // programs for tests
			return
		}
		seen++
		for _, spec := range f.Imports {
			switch name, _ := strconv.Unquote(spec.Path.Value); name {
			case "os", "os/exec", "net", "net/http", "syscall":
				t.Errorf("%s: imports %s", files.Position(spec.Pos()), name)
			}
		}
	})
	if seen < 100 { // an incomplete search would not detect any
		t.Errorf("%d files", seen)
	}
}

// A rule finds what it forbids, in a package or below it, and no more; and exceptions that are not needed.
func TestRulesThatAreBroken(t *testing.T) {
	rule := never{packages: []string{"a"}, but: []string{"a/b"}, imports: []string{"m"}, save: []string{"m/k"}}
	for want, imports := range map[string]map[string][]string{
		"":                                       {"a": {"m/k", "mm"}, "a/b": {"m"}, "ab": {"m"}},
		"a imports m":                            {"a": {"x", "m"}, "a/b/c": {"m"}},
		"a/c imports m/n":                        {"a/c": {"m/n"}, "a/b": {"m"}},
		"a/b is an exception that is not needed": {"a/b": {"m/k"}, "b": {"m"}},
	} {
		if got := strings.Join(rule.broken(imports), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
