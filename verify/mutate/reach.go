package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// test is a test: how long it takes and what it runs through.
type test struct {
	owner  *pkg
	name   string
	took   time.Duration
	blocks map[span]bool
}

// span is a piece of a file, as a coverage profile has it: import path and name.
type span struct {
	file                   string
	line, col, line2, col2 int
}

func (s span) contains(p token.Position) bool {
	after := p.Line > s.line || p.Line == s.line && p.Column >= s.col
	before := p.Line < s.line2 || p.Line == s.line2 && p.Column < s.col2
	return after && before
}

// reached is what is known about the tests of the packages that are sampled together.
type reached struct {
	tests []test // the fast ones first
	spans map[string][]span

	together *build // mutants that are built together
}

func (r *reached) total() (sum time.Duration) {
	for _, t := range r.tests {
		sum += t.took
	}
	return sum
}

// through are the tests that run through a place, the fast ones first. A place outside
// of functions is reached by all.
func (r *reached) through(m mutant) []test {
	var here []span
	for _, s := range r.spans[m.pkg.ImportPath+"/"+filepath.Base(m.at.Filename)] {
		if s.contains(m.at) {
			here = append(here, s)
		}
	}
	if len(here) == 0 {
		return r.tests
	}
	var some []test
	for _, t := range r.tests {
		if slices.ContainsFunc(here, func(s span) bool { return t.blocks[s] }) {
			some = append(some, t)
		}
	}
	return some
}

// reach runs every test of some packages by itself, and notes its time and the blocks of
// all of them that it runs through. All must pass.
func reach(ctx context.Context, s settings, scratch string, packages []*pkg) (*reached, error) {
	r := &reached{spans: map[string][]span{}}
	var paths []string
	for _, p := range packages {
		paths = append(paths, p.ImportPath)
	}
	for _, p := range packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		if err := r.run(ctx, s, scratch, p, strings.Join(paths, ",")); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.tests, func(a, b test) int { return int(a.took - b.took) })
	return r, nil
}

// run adds the tests of one package.
func (r *reached) run(ctx context.Context, s settings, scratch string, p *pkg, paths string) error {
	program := filepath.Join(scratch, "covered.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-cover", "-coverpkg="+paths, "-ldflags=-s -w", "-o", program,
		p.ImportPath)
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, text)
	}
	list := exec.CommandContext(ctx, program, "-test.list", cmp.Or(s.tests, "^(Test|Fuzz|Example)"))
	list.Dir = p.Dir
	text, err := list.Output()
	if err != nil {
		return fmt.Errorf("-test.list: %w", err)
	}
	for name := range strings.FieldsSeq(string(text)) {
		profile := filepath.Join(scratch, "profile")
		args := append(s.arguments(name), "-test.coverprofile", profile)
		start := time.Now()
		end, text, err := perform(ctx, s, p.Dir, program, math.MaxInt64, args)
		if err != nil || end != passed {
			return fmt.Errorf("%s fails before anything was changed: %w\n%s", name, err, text)
		}
		t := test{owner: p, name: name, took: time.Since(start)}
		if s.slow > 0 && t.took > s.slow {
			continue
		}
		if t.blocks, err = r.profile(profile); err != nil {
			return err
		}
		r.tests = append(r.tests, t)
	}
	return nil
}

// profile reads a coverage profile: the blocks that ran.
func (r *reached) profile(path string) (map[span]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ran := map[span]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		file, rest, ok := strings.Cut(lines.Text(), ".go:")
		if !ok {
			continue // the mode
		}
		b := span{file: file + ".go"}
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.line2, &b.col2, &statements, &count); err !=
			nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !slices.Contains(r.spans[b.file], b) {
			r.spans[b.file] = append(r.spans[b.file], b)
		}
		if count > 0 {
			ran[b] = true
		}
	}
	return ran, nil
}
