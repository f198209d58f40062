package form

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a configuration.
type Error struct {
	Path string // "masks[1].noise.sd"; "" where it concerns the file as a whole
	Text string // what must hold and what was found: "must be at least 0, got -3"

	// File is the configuration's path as it was given, "--set PATH" for a value
	// from the command line, or "environment NAME". Line and Column count from 1,
	// columns in characters; they are 0 where the value is not from the file.
	File         string
	Line, Column int
}

// Error reads "masks[1].noise.sd: must be at least 0, got -3 (pipeline.yaml:17:9)".
func (e Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Text)
	if e.Line > 0 {
		fmt.Fprintf(&b, " (%s:%d:%d)", e.File, e.Line, e.Column)
	} else {
		fmt.Fprintf(&b, " (%s)", e.File)
	}
	return b.String()
}

// Errors is everything wrong with a configuration, in the order of the file;
// what comes from the environment and the command line stands last.
type Errors []Error

// Error has one line for each error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find an Error.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// Sorted puts errors into the order of their places and drops repetitions,
// which arise where two checks see the same thing.
func (es Errors) Sorted() Errors {
	slices.SortStableFunc(es, func(a, b Error) int {
		switch {
		case (a.Line == 0) != (b.Line == 0):
			if a.Line == 0 {
				return 1
			}
			return -1
		case a.Line != b.Line:
			return a.Line - b.Line
		case a.Column != b.Column:
			return a.Column - b.Column
		}
		return strings.Compare(a.File, b.File)
	})
	seen := make(map[Error]bool, len(es))
	return slices.DeleteFunc(es, func(e Error) bool {
		again := seen[e]
		seen[e] = true
		return again
	})
}

// place is where a value or its name stands.
type place struct {
	file         string
	line, column int
}

func (p place) error(path, text string) Error {
	return Error{Path: path, Text: text, File: p.file, Line: p.line, Column: p.column}
}
