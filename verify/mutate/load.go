package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package with its syntax and types.
type pkg struct {
	Dir, ImportPath string
	GoFiles         []string
	Imports         []string
	TestGoFiles     []string
	XTestGoFiles    []string
	DepOnly         bool
	Export          string
	Module          struct{ Dir string }

	fset  *token.FileSet
	files []*ast.File
	text  map[*ast.File][]byte
	info  types.Info

	importer types.Importer
	failures int // of the check of types without the generated files; −1: not known
}

// load reads the packages that match patterns of the go command, with spaces between. Those that serve tests alone,
// as they import testing, are left out. Those without tests are left in: no test reaches their mutants.
func load(ctx context.Context, pattern string) ([]*pkg, error) {
	args := append([]string{"list", "-json=Dir,ImportPath,GoFiles,Imports,TestGoFiles,XTestGoFiles,DepOnly,Export,Module",
		"-export", "-deps"}, strings.Fields(pattern)...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	exports := map[string]string{}
	var packages []*pkg
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		p := &pkg{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && !slices.Contains(p.Imports, "testing") {
			packages = append(packages, p)
		}
	}
	for _, p := range packages {
		if err := p.parse(exports); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

func (p *pkg) parse(exports map[string]string) error {
	p.fset, p.text = token.NewFileSet(), map[*ast.File][]byte{}
	p.info = types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(p.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			continue
		}
		p.files, p.text[file] = append(p.files, file), text
	}
	p.failures = -1
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	// Without the generated files the check is incomplete; what it does know serves.
	c := types.Config{Importer: p.importer, Error: func(error) {}}
	_, _ = c.Check(p.ImportPath, p.fset, p.files, &p.info)
	return nil
}
