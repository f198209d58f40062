package layout

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line of the program has at most, a tab counting as one (.editorconfig). A text that
// would not fit stays whole, so that it is found by its words: tags of fields, messages.
const (
	longest = 120
	whole   = 40 // characters of a text from which on its line may be longer
)

func TestLinesAreShort(t *testing.T) {
	seen := 0
	eachFile(t, func(_ *token.FileSet, path string, _ *ast.File) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, line := range tooLong(src) {
			t.Errorf("%s:%d: has more than %d characters", path, line, longest)
		}
	})
	if seen < 1000 {
		t.Errorf("%d files", seen)
	}
}

// tooLong returns the numbers of lines that are too long, and not because of a text.
func tooLong(src []byte) (lines []int) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	texts := map[int]bool{} // lines with a text that may not be broken
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.STRING || utf8.RuneCountInString(text) < whole {
			continue
		}
		for i := range strings.Count(text, "\n") + 1 {
			texts[file.Line(pos)+i] = true
		}
	}
	for i, line := range strings.Split(string(src), "\n") {
		if utf8.RuneCountInString(line) > longest && !texts[i+1] {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func TestTooLong(t *testing.T) {
	code := "package p\n\nvar x = " + strings.Repeat("1 + ", 30) + "1\n"
	for text, want := range map[string]int{
		code: 1, strings.Replace(code, "1 + ", "", 3): 0,
		"package p\n\n// " + strings.Repeat("a ", 59) + "\n":                                           1,
		"package p\n\n// " + strings.Repeat("a ", 58) + "b\n":                                          0,
		"package p\n\n// " + strings.Repeat("ä", 117) + "\n":                                           0,
		"package p\n\nvar x = \"" + strings.Repeat("a", 120) + "\"\n":                                  0,
		"package p\n\nvar x = `" + strings.Repeat("a", 38) + "` // " + strings.Repeat("a ", 50) + "\n": 0,
		"package p\n\nvar x = `" + strings.Repeat("a", 37) + "` // " + strings.Repeat("a ", 50) + "\n": 1,
		"package p\n\nvar x = `\n" + strings.Repeat("a", 150) + "\n`\n":                                0,
	} {
		if got := tooLong([]byte(text)); len(got) != want || want > 0 && got[0] != 3 {
			t.Errorf("%q: lines %v, want %d", text, got, want)
		}
	}
}
