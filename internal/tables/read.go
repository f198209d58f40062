package tables

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/check"
)

// Flat returns a hierarchy whose codes add up to the grand total.
func Flat(name string, codes []string) Hierarchy {
	h := Hierarchy{Name: name}
	for _, c := range codes {
		h.Edges = append(h.Edges, Edge{Child: c})
	}
	return h
}

// FromLevels returns a hierarchy from columns of codes, the top level first: each row
// is a path from the top to a leaf. Rows may repeat.
func FromLevels(name string, rows [][]string) Hierarchy {
	h := Hierarchy{Name: name}
	seen := map[Edge]bool{}
	for _, row := range rows {
		up := ""
		for _, code := range row {
			if e := (Edge{Child: code, Parent: up}); code != up && !seen[e] {
				seen[e] = true
				h.Edges = append(h.Edges, e)
			}
			up = code
		}
	}
	return h
}

// FromPrefixes returns a hierarchy of codes whose first characters are the codes of the
// higher levels: lengths 1, 2, 4 put 0113 below 01, and 01 below 0. It returns a problem
// if lengths do not increase or if codes do not have the longest length. This problem
// states the number of such codes but not the codes, because a respondent's value may
// stand in place of a code.
func FromPrefixes(name string, codes []string, lengths []int) (Hierarchy, check.Problems) {
	var problems check.Problems
	problems.NotEmpty("prefix", len(lengths), "length")
	last := 0
	for i, l := range lengths {
		if l <= last {
			problems.Addf(fmt.Sprintf("prefix[%d]", i), "must be greater than %d, got %d", last, l)
		}
		last = l
	}
	if len(problems) > 0 {
		return Hierarchy{}, problems
	}
	rows := make([][]string, 0, len(codes))
	others := map[int]int{} // codes of another length
	for _, code := range codes {
		runes := []rune(code)
		if len(runes) != last {
			others[len(runes)]++
			continue
		}
		row := make([]string, len(lengths))
		for i, l := range lengths {
			row[i] = string(runes[:l])
		}
		rows = append(rows, row)
	}
	for _, l := range slices.Sorted(maps.Keys(others)) {
		problems.Addf(name, "%d codes of %d characters: the last level has %d", others[l], l, last)
	}
	return FromLevels(name, rows), problems
}

// ReadParents reads a hierarchy from CSV of two columns, child and parent, with a
// header. An empty parent stands for the grand total. It returns an error for invalid
// CSV or UTF-8.
func ReadParents(name string, r io.Reader) (Hierarchy, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = 2
	h := Hierarchy{Name: name}
	for first := true; ; first = false {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		for i := range record {
			if !utf8.ValidString(record[i]) {
				return h, fmt.Errorf("%s:%d: not valid UTF-8", name, line)
			}
			record[i] = strings.TrimSpace(record[i])
		}
		if !first {
			h.Edges = append(h.Edges, Edge{record[0], record[1], line})
		}
	}
}

// ReadHRC reads a hierarchy in the format of tau-Argus: one code per line, indented by
// one character lead for each level. It returns an error if a line skips a level or is
// not valid UTF-8.
func ReadHRC(name string, r io.Reader, lead rune) (Hierarchy, error) {
	h := Hierarchy{Name: name}
	var above []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimRight(lines.Text(), " \t\r")
		if text == "" {
			continue
		}
		code := strings.TrimLeft(text, string(lead))
		depth := utf8.RuneCountInString(text) - utf8.RuneCountInString(code)
		if code = strings.TrimSpace(code); !utf8.ValidString(code) {
			return h, fmt.Errorf("%s:%d: not valid UTF-8", name, n)
		}
		if depth > len(above) {
			return h, fmt.Errorf("%s:%d: code %q is %d levels below a code of level %d", name, n, code, depth-len(above)+1,
				len(above)-1)
		}
		above = append(above[:depth], code)
		parent := ""
		if depth > 0 {
			parent = above[depth-1]
		}
		h.Edges = append(h.Edges, Edge{code, parent, n})
	}
	if err := lines.Err(); err != nil {
		return h, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}
