package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// equivalent are mutants that people have read and found to be the program itself: whatever
// the input, no test can tell them apart. They are not drawn. A line is the file; a text that
// the file has once, in which the mutant begins; the change, as the tool prints it; and the
// reason: with bars between, \n and \t for what they are in Go, and \| for a bar within.
//
//go:embed equivalent.txt
var equivalent string

// equivalence is a line of equivalent.
type equivalence struct{ file, text, change, reason string }

// equivalences reads a list. A reason is a sentence, not a single word.
func equivalences(list string) (all []equivalence, err error) {
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\|`, "|")
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 {
			return nil, fmt.Errorf(`equivalent.txt: want a file, a text, a change and a reason with " | " between, got %q`, line)
		}
		if len(strings.Fields(parts[3])) < 3 {
			return nil, fmt.Errorf("equivalent.txt: want a reason why nothing can tell the mutant apart, got %q", line)
		}
		all = append(all, equivalence{parts[0], plain.Replace(parts[1]), plain.Replace(parts[2]), parts[3]})
	}
	return all, nil
}

// mutant finds the one of a package that is meant, in the file of that name.
func (e equivalence) mutant(p *pkg, name string) (m mutant, err error) {
	var of, others []mutant
	for _, m := range p.mutants() {
		text := p.text[m.file]
		if filepath.Base(m.at.Filename) != name {
			continue
		}
		if n := bytes.Count(text, []byte(e.text)); n != 1 {
			return m, fmt.Errorf("equivalent.txt: %s has %q %d times, want once", e.file, e.text, n)
		}
		start := bytes.Index(text, []byte(e.text))
		switch {
		case m.start < start || m.start >= start+len(e.text):
		case m.change() == e.change:
			of = append(of, m)
		default:
			others = append(others, m)
		}
	}
	if len(of) == 1 {
		return of[0], nil
	}
	var changes strings.Builder
	for _, m := range others {
		changes.WriteString("\n\t" + m.change())
	}
	return m, fmt.Errorf("equivalent.txt: %s: %q has the change %q %d times, want once; it has%s", e.file, e.text,
		e.change, len(of), changes.String())
}

// mutantsEquivalent are those of a list that stand in some packages. A line of one of their
// files that is not there, or is there twice, is an error: what it said may no longer be so.
func mutantsEquivalent(list []equivalence, packages []*pkg) (all []mutant, err error) {
	var wrong []error
	for _, p := range packages {
		for _, file := range p.GoFiles {
			path, err := filepath.Rel(p.Module.Dir, filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, e := range list {
				if e.file != filepath.ToSlash(path) {
					continue
				}
				m, err := e.mutant(p, file)
				if err != nil {
					wrong = append(wrong, err)
					continue
				}
				if slices.ContainsFunc(all, func(o mutant) bool { return o.key() == m.key() }) {
					wrong = append(wrong,
						fmt.Errorf("equivalent.txt: %s: %q has the change %q in two lines", e.file, e.text, e.change))
				}
				all = append(all, m)
			}
		}
	}
	return all, errors.Join(wrong...)
}

// foldersOf are the patterns of the packages of a list, each once.
func foldersOf(list []equivalence) (all []string) {
	for _, e := range list {
		if folder := "./" + filepath.ToSlash(filepath.Dir(e.file)); !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}
