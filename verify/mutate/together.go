package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A build takes longer than most mutants' tests. So those of a sample that do not overlap
// are built into one program, each behind a number, and the number of the one that is to
// act is given by an environment variable when the tests run. What cannot be written so,
// as where Go wants a constant, is built alone.

// variable says which mutant of a program acts.
const variable = "SDLFILTER_MUTANT"

// chooser is added to every package that has mutants built together.
const chooser = `package %s

import "os"

var mutantChosen = func() (n int) {
	for _, c := range os.Getenv("` + variable + `") {
		n = 10*n + int(c-'0')
	}
	return n
}()

func mutantOr[T any](n int, as, instead func() T) T {
	if mutantChosen == n {
		return instead()
	}
	return as()
}

func mutantConstant[T any](n int, as, instead T) T {
	if mutantChosen == n {
		return instead
	}
	return as
}
`

// build is a program that holds many mutants, of which one is chosen when it runs.
type build struct {
	overlay  string
	number   map[span]int // of a mutant: see key
	programs map[*pkg]string
}

// key tells the mutants of a sample apart.
func (m mutant) key() span { return span{m.at.Filename + "→" + m.with, m.start, m.end, 0, 0} }

// compiles says whether a mutant passes the check of types, against which the package
// itself is held: it is checked without its generated files.
func (m mutant) compiles() bool {
	p := m.pkg
	check := func(instead *ast.File, fset *token.FileSet) (failures int) {
		files := slices.Clone(p.files)
		if instead != nil {
			files[slices.Index(files, m.file)] = instead
		}
		c := types.Config{Importer: p.importer, Error: func(error) { failures++ }}
		_, _ = c.Check(p.ImportPath, fset, files, nil)
		return failures
	}
	if p.failures < 0 {
		p.failures = check(nil, p.fset)
	}
	file, err := parser.ParseFile(p.fset, m.at.Filename, m.changed(), parser.SkipObjectResolution)
	return err == nil && check(file, p.fset) <= p.failures
}

// changed is the text of the mutant's file.
func (m mutant) changed() []byte {
	text := m.pkg.text[m.file]
	return append(append(append([]byte{}, text[:m.start]...), m.with...), text[m.end:]...)
}

// switched is the text of a mutant that acts where its number is chosen.
func (m mutant) switched(n int) string {
	statement := func(as, instead string) string {
		return fmt.Sprintf("if mutantChosen == %d { %s } else { %s }", n, instead, as)
	}
	if m.kind == nil {
		return statement(m.old, m.with)
	}
	choice := func(kind types.Type, as, instead string) string {
		name := types.TypeString(types.Default(kind), func(p *types.Package) string {
			if p.Path() == m.pkg.ImportPath {
				return ""
			}
			return p.Name()
		})
		if m.operator == "constant" {
			return fmt.Sprintf("mutantConstant[%s](%d, %s, %s)", name, n, as, instead)
		}
		return fmt.Sprintf("mutantOr(%d, func() %s { return %s }, func() %s { return %s })", n, name, as, name, instead)
	}
	if m.gap == "" {
		return choice(m.kind, m.old, m.with)
	}
	return choice(m.kind, m.pair[0], m.pair[1]) + m.gap + choice(m.kind, m.pair[1], m.pair[0])
}

// assemble builds mutants into one program; those that cannot be are left out.
func assemble(ctx context.Context, scratch string, mutants []mutant) (*build, error) {
	t := &build{overlay: filepath.Join(scratch, "together.json"), number: map[span]int{}, programs: map[*pkg]string{}}
	var in []mutant
	for _, m := range mutants {
		if m.operator == "named" {
			continue // a text of any kind
		}
		overlaps := func(o mutant) bool { return o.file == m.file && o.start < m.end && m.start < o.end }
		if !slices.ContainsFunc(in, overlaps) {
			in = append(in, m)
		}
	}
	for len(in) > 0 {
		wrong, err := t.write(ctx, scratch, in)
		if err != nil {
			return nil, err
		}
		if len(wrong) == 0 {
			break
		}
		in = slices.DeleteFunc(in, func(m mutant) bool { return wrong[m.key()] })
	}
	for i, m := range in {
		t.number[m.key()] = i + 1
	}
	return t, nil
}

var complaint = regexp.MustCompile(`(?m)^[^\n]*together(\d+)\.go:(\d+):`)

// write writes the changed files and has them compiled. It returns the mutants of the
// lines that the compiler complains of.
func (t *build) write(ctx context.Context, scratch string, in []mutant) (wrong map[span]bool, err error) {
	byFile, order := map[*ast.File][]int{}, []*ast.File{}
	for i, m := range in {
		if byFile[m.file] == nil {
			order = append(order, m.file)
		}
		byFile[m.file] = append(byFile[m.file], i)
	}
	replace, packages := map[string]string{}, map[string]bool{}
	lines := make([]map[int][]mutant, len(order)) // by file: the mutants that a line is part of
	for f, file := range order {
		list := byFile[file]
		slices.SortFunc(list, func(a, b int) int { return in[a].start - in[b].start })
		var text []byte
		text, lines[f] = changed(in, list)
		m := in[list[0]]
		path, help := filepath.Join(scratch, fmt.Sprintf("together%d.go", f)),
			filepath.Join(scratch, fmt.Sprintf("chooser%d.go", f))
		if err := errors.Join(os.WriteFile(path, text, 0o600),
			os.WriteFile(help, fmt.Appendf(nil, chooser, file.Name.Name), 0o600)); err != nil {
			return nil, err
		}
		replace[m.at.Filename], replace[filepath.Join(m.pkg.Dir, "mutant_chooser.go")] = path, help
		packages[m.pkg.ImportPath] = true
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(t.overlay, list, 0o600); err != nil {
		return nil, err
	}
	args := []string{"build", "-gcflags=-e", "-overlay", t.overlay}
	for path := range packages {
		args = append(args, path)
	}
	output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err == nil {
		return nil, nil
	}
	if wrong = complaints(output, lines); len(wrong) == 0 {
		return nil, fmt.Errorf("go build of mutants together: %w\n%s", errors.Join(err, ctx.Err()), output)
	}
	return wrong, nil
}

// changed is the text of a file with those of the mutants in it that a list counts, in the
// order of their places, and the mutants that each line is part of.
func changed(in []mutant, list []int) ([]byte, map[int][]mutant) {
	var out bytes.Buffer
	lines := map[int][]mutant{}
	text, at := in[list[0]].pkg.text[in[list[0]].file], 0
	for _, i := range list {
		m := in[i]
		out.Write(text[at:m.start])
		first := bytes.Count(out.Bytes(), []byte("\n")) + 1
		out.WriteString(m.switched(i + 1))
		for line := first; line <= bytes.Count(out.Bytes(), []byte("\n"))+1; line++ {
			lines[line] = append(lines[line], m)
		}
		at = m.end
	}
	out.Write(text[at:])
	return out.Bytes(), lines
}

// complaints are the mutants of the lines, by file, that the compiler complains of.
func complaints(output []byte, lines []map[int][]mutant) map[span]bool {
	wrong := map[span]bool{}
	for _, found := range complaint.FindAllSubmatch(output, -1) {
		f, _ := strconv.Atoi(string(found[1]))
		line, _ := strconv.Atoi(string(found[2]))
		for _, m := range lines[f][line] {
			wrong[m.key()] = true
		}
	}
	return wrong
}

// program is the test program of a package with all the mutants in it.
func (t *build) program(ctx context.Context, scratch string, p *pkg) (string, error) {
	if t.programs[p] == "" {
		path := filepath.Join(scratch, "together"+strings.ReplaceAll(p.ImportPath, "/", "-")+".test")
		output, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-overlay", t.overlay, "-ldflags=-s -w", "-o",
			path, p.ImportPath).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go test -c: %w\n%s", errors.Join(err, ctx.Err()), output)
		}
		t.programs[p] = path
	}
	return t.programs[p], nil
}
