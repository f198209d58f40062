// Package check describes problems of parameters: where, what must hold and what was found. It
// knows no configuration format; the code that read the parameter adds file, line and column.
package check

import (
	"fmt"
	"math"
	"strings"
)

// Problem is one thing wrong with a parameter.
type Problem struct {
	Path string // dotted, relative to the value that was checked: "sd", "tiers[0].above"; "" for the value itself
	Text string // "must be at least 0, got -3"
}

func (p Problem) Error() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}

// Problems collects what is wrong; the zero value is ready for use.
type Problems []Problem

// Addf adds a problem at path.
func (ps *Problems) Addf(path, format string, args ...any) {
	*ps = append(*ps, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// Within adds the problems of a nested value, found at path.
func (ps *Problems) Within(path string, nested Problems) {
	for _, p := range nested {
		switch {
		case p.Path == "":
			p.Path = path
		case strings.HasPrefix(p.Path, "["):
			p.Path = path + p.Path
		default:
			p.Path = path + "." + p.Path
		}
		*ps = append(*ps, p)
	}
}

// AtLeast demands v ≥ min, and v finite.
func (ps *Problems) AtLeast(path string, v, min float64) {
	if !(v >= min) || math.IsInf(v, 0) {
		ps.Addf(path, "must be at least %v, got %v", min, v)
	}
}

// Above demands v > min, and v finite.
func (ps *Problems) Above(path string, v, min float64) {
	if !(v > min) || math.IsInf(v, 0) {
		ps.Addf(path, "must be greater than %v, got %v", min, v)
	}
}

// Between demands lo ≤ v ≤ hi.
func (ps *Problems) Between(path string, v, lo, hi float64) {
	if !(v >= lo && v <= hi) {
		ps.Addf(path, "must be between %v and %v, got %v", lo, hi, v)
	}
}

// Whole demands lo ≤ v ≤ hi of a whole number.
func (ps *Problems) Whole(path string, v, lo, hi int) {
	if v < lo || v > hi {
		ps.Addf(path, "must be between %d and %d, got %d", lo, hi, v)
	}
}

// OneOf demands that v is one of the words.
func (ps *Problems) OneOf(path, v string, words ...string) {
	for _, w := range words {
		if v == w {
			return
		}
	}
	ps.Addf(path, "must be one of %s, got %q%s", strings.Join(words, ", "), v, Suggest(v, words))
}

// NotEmpty demands at least one element.
func (ps *Problems) NotEmpty(path string, n int, what string) {
	if n == 0 {
		ps.Addf(path, "must name at least one %s", what)
	}
}

// Suggest returns ` (did you mean "word"?)` for the candidate nearest to v, or
// "" if every candidate differs from v in more than a third of its letters (rounded).
func Suggest(v string, candidates []string) string {
	best, dist := "", (1+len([]rune(v)))/3
	for _, c := range candidates {
		if d := distance(strings.ToLower(v), strings.ToLower(c)); d <= dist && (best == "" || d < dist) {
			best, dist = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// SuggestPlace is Suggest for candidates that come from the data, whose names must not be shown: it
// gives the place of the column, from 1.
func SuggestPlace(v string, candidates []string) string {
	for i, c := range candidates {
		if s := Suggest(v, []string{c}); s != "" && s == Suggest(v, candidates) {
			return fmt.Sprintf(" (did you mean column %d?)", i+1)
		}
	}
	return ""
}

// shownPlaces is the number of places that a message shows.
const shownPlaces = 5

// Places names columns or fields, by their places and not by their names, which may be data: at
// most five, and how many more there are.
func Places(places []string) string {
	if more := len(places) - shownPlaces; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(places[:shownPlaces], ", "), more)
	}
	return strings.Join(places, ", ")
}

// distance is the Levenshtein distance with adjacent transpositions counted as one.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(s)][len(t)]
}
