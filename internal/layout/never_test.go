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
	linked        bool     // nor what they import, and what that imports
}

// formats are what reads and writes records.
var formats = []string{
	"connectors", "internal/files", "internal/text", "internal/serial", "internal/compress", "internal/members",
	"internal/message", "internal/readstat",
	"internal/labels", "internal/lz4", "internal/objects", "internal/publish", "internal/placed", "internal/shuffle",
	"internal/rolling", "internal/formats",
}

var keystream = []string{"transform/keystream"}

// rooms are what masks compute with; core is what they share.
var (
	rooms = []string{
		"transform/keystream", "transform/internal/coding", "transform/internal/decision", "transform/internal/displacement",
		"transform/internal/matching", "transform/internal/models", "transform/internal/relocation",
		"transform/internal/suppression",
	}
	core = []string{"transform/internal/core"}
	// gathered is what masks of all records share beside.
	gathered = []string{"transform/internal/gathered"}
	families = []string{"record", "category", "group", "synthesis", "exchange", "weights"}
)

// withFamilies adds the rules about families of masks: none imports another.
func withFamilies(rules map[string]never) map[string]never {
	for _, name := range families {
		rules["a family of masks knows the core and no other: "+name] = never{
			packages: []string{"transform/internal/" + name}, imports: []string{"transform"},
			save: slices.Concat(core, gathered, rooms),
		}
	}
	return rules
}

var design = withFamilies(map[string]never{
	"the core of masks knows none": {packages: core, imports: []string{"transform"}, save: rooms},
	"what masks of all records share knows none": {
		packages: gathered, imports: []string{"transform"}, save: slices.Concat(core, rooms),
	},
	"formats know no mask":              {packages: formats, imports: []string{"transform"}, save: keystream},
	"masks and measures know no format": {packages: []string{"transform", "assess"}, imports: formats},
	"measures know no mask": {
		packages: []string{"assess", "internal/intruder", "internal/rumap", "internal/picture", "internal/figure",
			"internal/headline", "internal/correct"},
		but: []string{"assess/report", "internal/intruder/inversion"}, imports: []string{"transform"}, save: keystream,
	},
	"tables share nothing with masks and their measures": {
		packages: []string{"internal/tables"}, but: []string{"internal/tables/tablemap"},
		imports: []string{"transform", "assess", "internal/intruder", "internal/rumap", "internal/correct"}, save: keystream,
	},
	"only renderers draw": {
		packages: []string{"."}, imports: []string{"internal/figure"},
		but: []string{
			"assess/report", "internal/headline", "internal/monitor", "internal/rumap", "internal/tables/tablemap",
			"internal/pipeline/account", "internal/pipeline/entered", "internal/pipeline/tabling",
		},
	},
	"rooms know no configuration": {
		packages: []string{"."}, but: []string{"cmd", "filter", "internal/pipeline", "internal/tables/tabulation"},
		imports: []string{"config"},
	},
	"reading a configuration draws nothing, opens nothing, attacks nothing and makes no tables": {
		packages: []string{"config"}, linked: true,
		imports: []string{
			"internal/figure", "internal/picture", "internal/rumap", "internal/headline", "internal/publish", "internal/files",
			"internal/objects",
			"internal/intruder", "internal/attack", "internal/tables", "internal/workbooks", "internal/pipeline",
			"assess/report",
		},
		save: []string{"internal/objects/objectpath", "internal/intruder/asked"},
	},
	"tables have one face": {
		packages: []string{"."}, but: []string{"internal/tables", "internal/pipeline/tabling"},
		imports: []string{"internal/tables"},
	},
	"only the program opens it": {
		packages: []string{"."}, but: []string{"cmd/sdlfilter"}, imports: []string{"internal/pipeline/tabling"},
	},
})

// below reports whether a package is one of a list, or lies below one.
func below(p string, list []string) bool {
	return slices.ContainsFunc(list, func(top string) bool {
		return top == "." || p == top || strings.HasPrefix(p, top+"/")
	})
}

// linked are all packages that one consists of beside itself: its imports, theirs, and so on.
func linked(p string, imports map[string][]string) []string {
	var all []string
	for next := imports[p]; len(next) > 0; {
		q := next[0]
		next = next[1:]
		if !slices.Contains(all, q) {
			all, next = append(all, q), append(slices.Clone(next), imports[q]...)
		}
	}
	return all
}

// broken returns what a rule forbids, and the exceptions that nobody needs.
func (n never) broken(imports map[string][]string) (wrong []string) {
	if n.linked {
		far := map[string][]string{}
		for p := range imports {
			far[p] = linked(p, imports)
		}
		imports = far
	}
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
			if _, there := imports[p]; p != "." && !there &&
				!slices.ContainsFunc(slices.Collect(maps.Keys(imports)), func(q string) bool { return below(q, []string{p}) }) {
				t.Errorf("%s: there is no package %s", name, p)
			}
		}
		for _, wrong := range rule.broken(imports) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// A rule about what is linked finds it however far away it is imported, also in a circle.
func TestRulesAboutWhatIsLinked(t *testing.T) {
	imports := map[string][]string{"a": {"b"}, "b": {"c", "a"}, "c": {"m/n"}, "m/n": nil, "d": {"e"}}
	rule := never{packages: []string{"a", "d"}, imports: []string{"m"}, linked: true}
	if got := strings.Join(rule.broken(imports), "; "); got != "a imports m/n" {
		t.Errorf("%q", got)
	}
	rule.save = []string{"m/n"}
	if got := rule.broken(imports); got != nil {
		t.Errorf("%q", got)
	}
}

// Masks and measures do no I/O: they read no file, no network and no environment.
func TestMasksAndMeasuresDoNoIO(t *testing.T) {
	seen := 0
	eachFile(t, func(files *token.FileSet, path string, f *ast.File) {
		rel, err := filepath.Rel(filepath.Join("..", ".."), path)
		// programs for tests
		if err != nil || !below(filepath.ToSlash(rel), []string{"transform", "assess"}) || f.Name.Name == "main" {
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
