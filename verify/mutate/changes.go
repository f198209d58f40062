package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

// named are mutants that people thought of: those that would let a value or a release
// out, and are therefore tried by name. A line is the pattern of the packages of which
// one has the text, once; the text; and what it becomes: with bars between, and \n and
// \t for what they are in Go.
//
//go:embed named.txt
var named string

// change is a line of named.
type change struct{ pattern, old, with string }

func changes(list string) (all []change, err error) {
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("named.txt: want packages, a text and what it becomes, got %q", line)
		}
		all = append(all, change{parts[0], plain.Replace(parts[1]), plain.Replace(parts[2])})
	}
	return all, nil
}

// mutant finds where the change is to be made.
func (c change) mutant(packages []*pkg) (m mutant, err error) {
	found := 0
	for _, p := range packages {
		for _, file := range p.files {
			text := p.text[file]
			if n := bytes.Count(text, []byte(c.old)); n == 0 {
				continue
			} else {
				found += n
			}
			start := bytes.Index(text, []byte(c.old))
			// What is changed is where the texts part.
			same := 0
			for same < min(len(c.old), len(c.with))-1 && c.old[same] == c.with[same] {
				same++
			}
			at := p.fset.Position(p.fset.File(file.FileStart).Pos(start + same))
			m = mutant{pkg: p, file: file, at: at, start: start, end: start + len(c.old), with: c.with, old: c.old,
				operator: "named"}
		}
	}
	if found != 1 {
		return m, fmt.Errorf("named.txt: %s has %q %d times, want once", c.pattern, c.old, found)
	}
	return m, nil
}

// mutantsNamed are the named mutants of the packages of a pattern.
func mutantsNamed(list []change, pattern string, packages []*pkg) (all []mutant, err error) {
	for _, c := range list {
		if c.pattern != pattern {
			continue
		}
		m, err := c.mutant(packages)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// patternsOf are the patterns of a list, each once.
func patternsOf(list []change) (all []string) {
	for _, c := range list {
		if len(all) == 0 || all[len(all)-1] != c.pattern {
			all = append(all, c.pattern)
		}
	}
	return all
}
