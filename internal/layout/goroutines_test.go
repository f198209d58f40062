package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Every goroutine of the program defers bug.Guard, and nothing after it: a panic would otherwise
// print its text and its stack, which may contain values of respondents, before anything can catch
// it. The workers of Flow catch their own panics earlier, to add the place in the data.
func TestGoroutinesAreGuarded(t *testing.T) {
	seen := 0
	eachFile(t, func(files *token.FileSet, _ string, f *ast.File) {
		n, wrong := unguarded(f)
		seen += n
		for _, pos := range wrong {
			t.Errorf("%s: this goroutine does not defer bug.Guard() as its last deferred call", files.Position(pos))
		}
	})
	if seen < 35 { // an incomplete search would not detect missing guards
		t.Errorf("%d goroutines", seen)
	}
}

// eachFile parses the files of the program, without tests and what only tests use.
func eachFile(t *testing.T, visit func(files *token.FileSet, path string, f *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, top := range []string{"assess", "check", "cmd", "config", "connectors", "filter", "internal", "microdata",
		"transform"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				switch rel, _ := filepath.Rel(root, path); filepath.ToSlash(rel) { // not part of the program
				case "internal/connectortest", "internal/intruder/internal/memory", "internal/objects/objecttest",
					"internal/message/registrytest":
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err == nil {
				visit(files, path, f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unguarded returns the number of goroutines that a file starts, with go or with a method Go, and
// the places of those without a guard.
func unguarded(f *ast.File) (n int, wrong []token.Pos) {
	ast.Inspect(f, func(node ast.Node) bool {
		var run ast.Expr
		switch s := node.(type) {
		case *ast.GoStmt:
			run = s.Call.Fun
		case *ast.CallExpr:
			if m, ok := s.Fun.(*ast.SelectorExpr); ok && m.Sel.Name == "Go" && len(s.Args) == 1 {
				run = s.Args[0]
			}
		}
		if run == nil {
			return true
		}
		n++
		if body := bodyOf(f, run); body == nil || !guards(body) {
			wrong = append(wrong, run.Pos())
		}
		return true
	})
	return n, wrong
}

// bodyOf returns the body of a function literal, or of a function or method of the same file.
func bodyOf(f *ast.File, run ast.Expr) *ast.BlockStmt {
	name := ""
	switch run := run.(type) {
	case *ast.FuncLit:
		return run.Body
	case *ast.Ident:
		name = run.Name
	case *ast.SelectorExpr:
		name = run.Sel.Name
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			return fn.Body
		}
	}
	return nil
}

// guards reports whether the last deferred call of a body is bug.Guard.
func guards(body *ast.BlockStmt) bool {
	guarded := false
	for _, s := range body.List {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			continue
		}
		m, ok := d.Call.Fun.(*ast.SelectorExpr)
		guarded = ok && m.Sel.Name == "Guard" && fmt.Sprint(m.X) == "bug"
	}
	return guarded
}

// A goroutine without a guard is detected however it is started, and so is one that defers
// something after its guard.
func TestUnguardedGoroutines(t *testing.T) {
	for text, want := range map[string]int{
		"go func() { defer bug.Guard(); f() }()":                         0,
		"go func() { defer g(); defer bug.Guard(); f() }()":              0,
		"go func() { f() }()":                                            1,
		"go func() { defer bug.Guard(); defer g(); f() }()":              1,
		"go func() { defer other.Guard(); f() }()":                       1,
		"w.Go(func() { defer bug.Guard() })":                             0,
		"w.Go(func() error { return nil })":                              1,
		"w.Go(bad); w.Go(good); go x.bad(); go x.good(); go elsewhere()": 3,
	} {
		f,
			err := parser.ParseFile(token.NewFileSet(), "x.go",
			"package x\nfunc good() { defer bug.Guard() }\nfunc bad() {}\nfunc run() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := unguarded(f); len(wrong) != want {
			t.Errorf("%s: %d are seen, want %d", text, len(wrong), want)
		}
	}
}
