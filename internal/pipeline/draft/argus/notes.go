package argus

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Note is what the user must know of one line.
type Note struct {
	File  string
	Line  int // 0: of the file as a whole
	Text  string
	Wrong bool // an error: nothing is written
}

// String has the place first.
func (n Note) String() string {
	if n.Line == 0 {
		return fmt.Sprintf("%s: %s", n.File, n.Text)
	}
	return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Text)
}

// notes collects what is said of one file.
type notes struct {
	file string
	list *[]Note
}

func (n notes) wrong(line int, format string, args ...any) {
	*n.list = append(*n.list, Note{n.file, line, fmt.Sprintf(format, args...), true})
}

func (n notes) warn(line int, format string, args ...any) {
	*n.list = append(*n.list, Note{n.file, line, fmt.Sprintf(format, args...), false})
}

// unquoted is a text without the quotes around it.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	return strings.TrimSpace(s)
}

// cut splits a text at a separator that stands outside of quotes, and trims the fields.
func cut(text string, separator byte) (fields []string) {
	quoted, from := false, 0
	for i := range len(text) {
		switch text[i] {
		case '"':
			quoted = !quoted
		case separator:
			if !quoted {
				fields, from = append(fields, strings.TrimSpace(text[from:i])), i+1
			}
		}
	}
	return append(fields, strings.TrimSpace(text[from:]))
}

// words splits a line at spaces, and before and behind what stands in quotes, of which the quotes are taken.
func words(text string) (fields []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := strings.IndexAny(text, " \t\"")
		if text[0] == '"' {
			if end = strings.IndexByte(text[1:], '"'); end < 0 {
				return append(fields, strings.TrimSpace(text[1:]))
			}
			fields, text = append(fields, strings.TrimSpace(text[1:end+1])), text[end+2:]
			continue
		}
		if end < 0 {
			end = len(text)
		}
		fields, text = append(fields, text[:end]), text[end:]
	}
	return fields
}

// beside is the path of a file that another file names: one without a folder lies beside it. Windows' separators are
// those of paths, too.
func beside(file, name string) string {
	name = strings.ReplaceAll(name, "\\", "/")
	if filepath.IsAbs(name) || len(name) > 1 && name[1] == ':' {
		return name
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
}
