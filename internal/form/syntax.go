package form

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration and what ${file:…} brings into it. Both are
// written by people; a larger one is a mistaken path.
const maxFile = 1 << 20

// maxRefusals bounds the errors about one kind of mistake, which a file can hold
// hundreds of thousands of.
const maxRefusals = 20

// parse turns the text of one YAML document into nodes. Anchors, aliases, merge
// keys and tags are refused: a configuration is short, its reader should see what
// it says where it says it, and without aliases a file cannot grow when it is
// read. The errors are final: nothing behind them has a meaning.
func (d *Dialect) parse(file string, text []byte) (*yaml.Node, Errors) {
	at := func(line, column int, format string, args ...any) Errors {
		return Errors{place{file, line, column}.error("", fmt.Sprintf(format, args...))}
	}
	if len(text) > maxFile {
		return nil, at(1, 1, "must be at most %d bytes long, got %d: is this a configuration?", maxFile, len(text))
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if line, column, what := unreadable(text); what != "" {
		return nil, at(line, column, "%s", what)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case err == io.EOF:
		return nil, at(1, 1, "is empty%s", d.beginning())
	case err != nil:
		line, column, what := locate(err, string(text))
		return nil, at(line, column, "%s", what)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, at(second.Line, second.Column, "must be the only document of the file, but a second one begins here")
	case err != io.EOF:
		line, column, what := locate(err, string(text))
		return nil, at(line, column, "%s", what)
	}
	if errs := refuse(file, document.Content[0], nil); len(errs) > 0 {
		return nil, errs
	}
	return document.Content[0], nil
}

// beginning says how a configuration begins.
func (d *Dialect) beginning() string {
	if d.Begin == "" {
		return ""
	}
	return fmt.Sprintf("; a configuration begins with %q", d.Begin)
}

// unreadable finds the first byte that is not UTF-8 or is a control character
// that YAML does not allow.
func unreadable(text []byte) (line, column int, what string) {
	line, column = 1, 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			return line, column, fmt.Sprintf("must be UTF-8 text, found the byte 0x%02x", text[0])
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return line, column, fmt.Sprintf("must not hold control characters, found U+%04X", r)
		}
		column++
		text = text[size:]
	}
	return 0, 0, ""
}

// refuse reports every use of YAML that a configuration does without.
func refuse(file string, n *yaml.Node, errs Errors) Errors {
	if len(errs) >= maxRefusals {
		return errs
	}
	at := place{file, n.Line, n.Column}
	switch {
	case n.Kind == yaml.AliasNode:
		return append(errs, at.error("", fmt.Sprintf("aliases are not supported; write out what *%s stands for", n.Value)))
	case n.Anchor != "":
		errs = append(errs, at.error("", fmt.Sprintf("anchors are not supported; remove &%s", n.Anchor)))
	case n.Style&yaml.TaggedStyle != 0:
		errs = append(errs, at.error("", fmt.Sprintf("tags are not supported; remove %s", n.Tag)))
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; key.Tag == "!!merge" {
				errs = append(errs,
					place{file, key.Line, key.Column}.error("", "merge keys (<<) are not supported; write the fields out"))
			}
		}
	}
	for _, c := range n.Content {
		errs = refuse(file, c, errs)
	}
	return errs
}

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	inFlow   = regexp.MustCompile(`[\[{,:] *\$\{`)
	alias    = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// locate turns an error of the YAML library, which knows at most a line, into a
// place and words that say what would be right.
func locate(err error, text string) (line, column int, what string) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 1, 1, "is not YAML"
	}
	line, _ = strconv.Atoi(m[1])
	what = m[2]
	// The library's parser counts lines from 0 where its scanner counts from 1,
	// and both leave out a line that they count as 0.
	if line == 0 || strings.HasPrefix(what, "did not find expected") {
		line++
	}
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	line = min(line, len(lines))
	if a := alias.FindStringSubmatch(what); a != nil {
		for i, l := range lines {
			if before, _, found := strings.Cut(l, "*"+a[1]); found {
				return i + 1, width(before) + 1, fmt.Sprintf("aliases are not supported; write out what *%s stands for", a[1])
			}
		}
	}
	if l, c := tabbed(lines, line); c > 0 &&
		(strings.Contains(what, "tab") || strings.Contains(what, "cannot start any token")) {
		return l, c, "must be indented with spaces, found a tab"
	}
	l := lines[line-1]
	column = width(l) - width(strings.TrimLeft(l, " ")) + 1
	switch {
	case inFlow.MatchString(l) && strings.HasPrefix(what, "did not find expected"):
		at := inFlow.FindStringIndex(l)
		column = width(l[:at[1]]) - 1
		what = "is not YAML: within braces and brackets write \"${NAME}\" in quotes"
	case strings.Contains(what, "mapping values are not allowed"):
		if i := strings.LastIndex(l, ": "); i >= 0 {
			column = width(l[:i]) + 1
		}
		what = "is not YAML: a second \": \" in one line, or wrong indentation; a value that holds \": \" needs quotes"
	case strings.Contains(what, "cannot start any token"):
		if i := strings.IndexAny(l, "@`%"); i >= 0 {
			column = width(l[:i]) + 1
		}
		what = "is not YAML: a value that begins with @, ` or % needs quotes"
	case strings.Contains(what, "unexpected end of stream"):
		what = "is not YAML: a quote that was opened is not closed before the end"
	case strings.Contains(what, "did not find expected ',' or"):
		what = "is not YAML: the list or mapping that begins here has a missing comma or is not closed"
	case strings.Contains(what, "did not find expected key"), strings.Contains(what, "did not find expected '-'"):
		what = "is not YAML: the indentation does not fit what stands above or below"
	default:
		what = "is not YAML: " + what
	}
	return line, column, what
}

// tabbed finds a tab in the indentation of a line, or after a list's dash, at or
// next to the line that the YAML library names.
func tabbed(lines []string, near int) (line, column int) {
	for _, i := range []int{near, near + 1, near - 1} {
		if i < 1 || i > len(lines) {
			continue
		}
		l := lines[i-1]
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t-"))]
		if at := strings.IndexByte(indent, '\t'); at >= 0 {
			return i, at + 1
		}
	}
	return 0, 0
}

func width(s string) int { return utf8.RuneCountInString(s) }

// errTooLarge is what ReadLimited returns for a file that is larger than maxFile.
var errTooLarge = errors.New("is larger than a configuration may be")

// ReadLimited reads at most maxFile bytes.
func ReadLimited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errTooLarge
	}
	return text, err
}

// Reason is an error of the file system, or of ReadLimited, without the path, in words.
func Reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read: permission denied"
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return "cannot be read: " + err.Error()
}
