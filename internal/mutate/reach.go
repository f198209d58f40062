package main

import (
	"bufio"
	"bytes"
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

// test is a test of a package: how long it takes and what it runs through.
type test struct {
	name   string
	took   time.Duration
	blocks map[span]bool
}

// span is a piece of a file, as a coverage profile has it.
type span struct {
	file                   string
	line, col, line2, col2 int
}

func (s span) holds(p token.Position) bool {
	after := p.Line > s.line || p.Line == s.line && p.Column >= s.col
	before := p.Line < s.line2 || p.Line == s.line2 && p.Column < s.col2
	return after && before
}

// reached is what is known about the tests of a package.
type reached struct {
	tests []test // the fast ones first
	spans map[string][]span
}

func (r *reached) total() (sum time.Duration) {
	for _, t := range r.tests {
		sum += t.took
	}
	return sum
}

// through are the tests that run through a place, the fast ones first. A place outside
// of functions is reached by all.
func (r *reached) through(p token.Position) []test {
	var here []span
	for _, s := range r.spans[filepath.Base(p.Filename)] {
		if s.holds(p) {
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

// reach runs every test of a package by itself, and notes its time and the blocks that
// it runs through. All must pass.
func reach(ctx context.Context, s settings, scratch string, p *pkg) (*reached, error) {
	r := &reached{spans: map[string][]span{}}
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		return r, nil
	}
	program := filepath.Join(scratch, "covered.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-cover", "-coverpkg="+p.ImportPath, "-ldflags=-s -w", "-o", program, p.ImportPath)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c: %w\n%s", err, text)
	}
	list := exec.CommandContext(ctx, program, "-test.list", "^(Test|Fuzz|Example)")
	list.Dir = p.Dir
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("-test.list: %w", err)
	}
	for name := range strings.FieldsSeq(string(text)) {
		profile := filepath.Join(scratch, "profile")
		args := append(s.arguments(name), "-test.coverprofile", profile)
		start := time.Now()
		end, text, err := perform(ctx, s, p.Dir, program, math.MaxInt64, args)
		if err != nil || end != passed {
			return nil, fmt.Errorf("%s fails before anything was changed: %w\n%s", name, err, text)
		}
		t := test{name: name, took: time.Since(start)}
		if t.blocks, err = r.profile(profile); err != nil {
			return nil, err
		}
		r.tests = append(r.tests, t)
	}
	slices.SortStableFunc(r.tests, func(a, b test) int { return int(a.took - b.took) })
	return r, nil
}

// profile reads a coverage profile: the blocks that ran.
func (r *reached) profile(path string) (map[span]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	first := len(r.spans) == 0
	ran := map[span]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		file, rest, ok := strings.Cut(lines.Text(), ".go:")
		if !ok {
			continue // the mode
		}
		b := span{file: filepath.Base(file) + ".go"}
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.line2, &b.col2, &statements, &count); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if first {
			r.spans[b.file] = append(r.spans[b.file], b)
		}
		if count > 0 {
			ran[b] = true
		}
	}
	return ran, nil
}
