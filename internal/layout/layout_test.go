package layout

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sdlfilter/sdlfilter"

// Every package has its own row, or is below a package with one; every row has a package; and a
// package imports only packages of the rows above its own.
func TestMapOfPackages(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(string(text))
	imports, err := importsBelow(root)
	if err != nil {
		t.Fatal(err)
	}
	// An incomplete list would not detect missing rows.
	if len(rows) < 50 || len(imports) < 90 || !slices.Contains(imports["config"], "internal/form") {
		t.Fatalf("%d rows, %d packages, config imports %q", len(rows), len(imports), imports["config"])
	}
	for _, row := range rows {
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(row))); err != nil || !info.IsDir() {
			t.Errorf("docs/design.md: there is no folder %s", row)
		}
	}
	for _, wrong := range against(rows, imports) {
		t.Error(wrong)
	}
}

// The rooms and families of transform have rows of their own above that of transform: so none of them imports it, and
// none imports a room below it. never_test.go says more of the families.
func TestRoomsOfTransform(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(string(text))
	imports, err := importsBelow(filepath.Join(root, "transform"))
	if err != nil {
		t.Fatal(err)
	}
	rooms := 0
	for p := range imports {
		if p == "." {
			continue
		}
		rooms++
		if at := slices.Index(rows, "transform/"+p); at < 0 || at > slices.Index(rows, "transform") {
			t.Errorf("docs/design.md: transform/%s has no row above that of transform", p)
		}
	}
	if rooms < 12 {
		t.Errorf("%d rooms", rooms)
	}
}

// A package without a row, an import upwards, and a duplicate row are detected, in the first and
// the last row.
func TestMapThatIsWrong(t *testing.T) {
	rows := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		rows    []string
		imports map[string][]string
		want    string
	}{
		"right":    {rows, map[string][]string{"a": nil, "b": {"a", "b/x"}, "b/x": {"b", "a"}, "c/y/z": {"b/x"}}, ""},
		"first up": {rows, map[string][]string{"a": {"b"}}, "a imports b, whose row (b) is not above its own (a)"},
		"last up": {rows, map[string][]string{"b/x": {"a", "c/y"}},
			"b/x imports c/y, whose row (c) is not above its own (b)"},
		"no row":      {rows, map[string][]string{"a": nil, "bc": nil}, "bc has no row"},
		"none of use": {rows, map[string][]string{"c": {"d"}}, "c imports d, which has no row"},
		"twice":       {[]string{"a", "b", "a"}, nil, "a has two rows"},
	} {
		got := strings.Join(against(c.rows, c.imports), "\n")
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// against returns the contradictions between a map and the packages. imports contains the packages
// of the module that each package imports; paths are relative to the module.
func against(rows []string, imports map[string][]string) (wrong []string) {
	place := map[string]int{}
	for i, row := range rows {
		if _, twice := place[row]; twice {
			wrong = append(wrong, fmt.Sprintf("docs/design.md: %s has two rows", row))
		}
		place[row] = i
	}
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		own, ok := rowOf(p, place)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("docs/design.md: %s has no row, nor has a folder above it", p))
			continue
		}
		for _, other := range imports[p] {
			switch row, ok := rowOf(other, place); {
			case !ok:
				wrong = append(wrong, fmt.Sprintf("docs/design.md: %s imports %s, which has no row", p, other))
			case place[row] > place[own]:
				wrong = append(wrong,
					fmt.Sprintf("docs/design.md: %s imports %s, whose row (%s) is not above its own (%s)", p, other, row, own))
			}
		}
	}
	return wrong
}

// rowOf returns the row of a package: its own, or that of the nearest parent folder.
func rowOf(p string, place map[string]int) (row string, ok bool) {
	for row = p; row != "."; row = path.Dir(row) {
		if _, ok := place[row]; ok {
			return row, true
		}
	}
	return "", false
}

var aRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| .* \\| .* \\|$")

// rowsOf reads the first column of the first table under "Map".
func rowsOf(text string) (rows []string) {
	_, text, _ = strings.Cut(text, "\n## Map\n")
	_, text, _ = strings.Cut(text, "|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for _, m := range aRow.FindAllStringSubmatch(text+"\n", -1) {
		rows = append(rows, m[1])
	}
	return rows
}

// importsBelow returns the packages of the module that each of them imports, without tests: from
// the files for every system, because a build for one system ignores the others'.
func importsBelow(root string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // belongs to another process, and disappeared between two reads
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if name != root &&
				(err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		p := filepath.ToSlash(folder)
		imports[p] = append(imports[p], ownOf(file.Imports)...)
		return nil
	})
	return imports, err
}

// ownOf returns the imports of this module.
func ownOf(specs []*ast.ImportSpec) (own []string) {
	for _, spec := range specs {
		name, err := strconv.Unquote(spec.Path.Value)
		if p, ok := strings.CutPrefix(name, module+"/"); err == nil && ok && !slices.Contains(own, p) {
			own = append(own, p)
		}
	}
	return own
}
