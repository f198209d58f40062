package form

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

var (
	reference = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z0-9_]*)(:-.*)?|file:(.+))$`)
	quoted    = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
)

// expand replaces ${NAME}, ${NAME:-default} and ${file:PATH} in the scalars
// below n. It works on parsed nodes, so what it inserts is never read as YAML: a
// value cannot bring in a field. Afterwards a scalar has the type that its new
// text would have had in the file; one in quotes stays text. Names of fields are
// not expanded, nor is what an expansion brings in, nor what came from --set or
// the environment.
func (r *Reading) expand(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.expand(n.Content[i+1], Join(path, n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			r.expand(c, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.ScalarNode:
		if _, set := r.origin[n]; set || !strings.Contains(n.Value, "${") {
			return
		}
		text, err := r.replace(n.Value)
		if err != "" {
			r.errs = append(r.errs, r.at(n).error(path, err))
			r.failed[n] = true
			return
		}
		r.written[n] = n.Value
		n.Value = text
		if n.Style&quoted == 0 {
			n.Tag = ""
			n.Tag = n.ShortTag()
		}
	}
}

// replace expands one scalar's text; what is wrong with it is returned in words.
func (r *Reading) replace(text string) (expanded, wrong string) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), ""
		}
		if escaped, is := strings.CutSuffix(before, "$"); is {
			b.WriteString(escaped + "${")
			text = rest
			continue
		}
		b.WriteString(before)
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", "has a ${ without its }; write $${ where ${ itself is meant"
		}
		m := reference.FindStringSubmatch(inner)
		switch {
		case m == nil:
			return "",
				fmt.Sprintf(
					"must refer to ${NAME}, ${NAME:-default} or ${file:PATH}, got ${%s}; write $${ where ${ itself is meant", inner)
		case m[3] != "":
			content, err := readReference(m[3])
			if err != "" {
				return "", fmt.Sprintf("refers to ${%s}, but the file %s", inner, err)
			}
			b.WriteString(content)
		default:
			value, set := r.lookup(m[1])
			switch {
			case m[2] != "" && value == "":
				value = strings.TrimPrefix(m[2], ":-")
			case !set:
				return "", fmt.Sprintf("refers to the environment variable %s, which is not set; set it, or write ${%s:-default}",
					m[1], m[1])
			case !utf8.ValidString(value):
				return "", fmt.Sprintf("refers to the environment variable %s, which is not UTF-8 text", m[1])
			}
			b.WriteString(value)
		}
		text = after
	}
}

// readReference reads the file of a ${file:PATH}, without the line ends at its
// end. What is wrong is said without anything of its content.
func readReference(path string) (content, wrong string) {
	f, err := os.Open(path)
	if err != nil {
		return "", Reason(err)
	}
	defer f.Close()
	text, err := ReadLimited(f)
	switch {
	case err != nil:
		return "", Reason(err)
	case !utf8.Valid(text):
		return "", "is not UTF-8 text"
	}
	return strings.TrimRight(string(text), "\r\n"), ""
}
