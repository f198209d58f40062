// Command longform finds the tests that have a long form: those that ask testing.Short, themselves or
// by functions of their package. It prints the arguments with which `go test -run` runs them alone: a
// pattern of their names, and their packages. With it, CI runs each test once: the others, and the
// short forms, are in `make test`.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: longform ROOT")
		os.Exit(2)
	}
	arguments, err := find(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(arguments, " "))
}

// find returns the pattern and the packages of the module at root. Modules below it are not part of it.
func find(root string) ([]string, error) {
	var tests, packages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root &&
			(strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || contains(path, "go.mod")) {
			return fs.SkipDir
		}
		found, err := testsOf(path)
		if err != nil || len(found) == 0 {
			return err
		}
		rel, err := filepath.Rel(root, path)
		tests, packages = append(tests, found...), append(packages, "./"+filepath.ToSlash(rel))
		return err
	})
	if err == nil && len(tests) == 0 {
		err = errors.New("no test has a long form: is this the root of the module?")
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(tests)
	return append([]string{"^(" + strings.Join(slices.Compact(tests), "|") + ")$"}, packages...), nil
}

func contains(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// testsOf returns the names of the tests in dir that have a long form.
func testsOf(dir string) (tests []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	uses := map[string]map[string]bool{} // the names that the body of a function or method contains
	files := token.NewFileSet()
	for _, path := range paths {
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range f.Decls {
			names := namesIn(decl)
			switch d, is := decl.(*ast.FuncDecl); {
			case names[short] && !strings.HasSuffix(path, "_test.go"):
				return nil,
					fmt.Errorf(
						"%s: asks testing.Short outside of a test file, where it is not seen which tests depend on it: let the test ask",
						files.Position(decl.Pos()))
			case names[short] && !is:
				return nil, fmt.Errorf("%s: asks testing.Short outside of a function", files.Position(decl.Pos()))
			case is && strings.HasSuffix(path, "_test.go"):
				if uses[d.Name.Name] == nil {
					uses[d.Name.Name] = map[string]bool{}
				}
				for name := range names {
					uses[d.Name.Name][name] = true
				}
			}
		}
	}
	long := map[string]bool{short: true}
	for grown := true; grown; {
		grown = false
		for name, used := range uses {
			for one := range used {
				if long[one] && !long[name] {
					long[name], grown = true, true
				}
			}
		}
	}
	for name := range uses {
		if long[name] && strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	return tests, nil
}

// short is no identifier, so that a function with the name Short is another one.
const short = "testing.Short"

func namesIn(decl ast.Decl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "testing" && n.Sel.Name == "Short" {
				names[short] = true
			}
		case *ast.Ident:
			names[n.Name] = true
		}
		return true
	})
	return names
}
