package form

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// setting is one scalar that the command line or the environment puts over the
// file.
type setting struct {
	path   []string // names and indexes: masks, 0, noise, sd
	value  string
	origin string // for messages: "--set masks.0.noise.sd"
	folded bool   // names of the user's choice match in any case, and none is created
}

// flagSetting reads the PATH=VALUE of a --set.
func flagSetting(text string) (setting, *Error) {
	path, value, found := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	s := setting{value: value, origin: "--set " + path, path: strings.Split(Dotted(path), ".")}
	if !found || path == "" {
		return s, &Error{Text: "must be path.to.field=value", File: "--set " + text}
	}
	return s, nil
}

// FlagPath is the path, with dots only, that a --set sets; ok is false if it is not a path.
func FlagPath(flag string) (path string, ok bool) {
	s, wrong := flagSetting(flag)
	return strings.Join(s.path, "."), wrong == nil
}

// environment reads settings from variables: the dialect's prefix and the path in
// upper case, with two underscores for each dot (PREFIX_SOURCE__PARQUET__PATH).
// Variables that the file itself refers to by name are its own business and no
// settings.
func (d *Dialect) environment(environ []string, file string) []setting {
	if d.Prefix == "" {
		return nil
	}
	var settings []setting
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, d.Prefix) || slices.Contains(d.NoSettings, name) || mentions(file, name) {
			continue
		}
		path := strings.Split(strings.ToLower(strings.TrimPrefix(name, d.Prefix)), "__")
		settings = append(settings, setting{path: path, value: value, origin: "environment " + name, folded: true})
	}
	// Elements of a list are appended in order, the tenth after the second.
	slices.SortFunc(settings, func(a, b setting) int { return slices.CompareFunc(a.path, b.path, compareSegments) })
	return settings
}

func compareSegments(a, b string) int {
	i, err1 := strconv.Atoi(a)
	j, err2 := strconv.Atoi(b)
	if err1 == nil && err2 == nil {
		return i - j
	}
	return strings.Compare(a, b)
}

// mentions reports whether the whole word name is in text.
func mentions(text, name string) bool {
	return regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(name) + `(\W|$)`).MatchString(text)
}

// set puts a setting over the file's nodes. It creates fields, names and the
// next element of a list on its way; nothing is changed where the path does not
// lead to a scalar, and the words say why.
func (r *Reading) set(document *yaml.Node, s setting) (wrong string) {
	if !utf8.ValidString(s.value + s.origin) {
		return "must be UTF-8 text"
	}
	steps, wrong := resolve(document, r.form, s.path, s.folded)
	if wrong != "" {
		return wrong
	}
	n, path := document, ""
	for _, st := range steps {
		if isNull(n) {
			*n = yaml.Node{Kind: st.kind(), Line: n.Line, Column: n.Column}
			r.origin[n] = s.origin
		}
		if n.Kind != st.kind() {
			return "" // the file is wrong here, and decoding says so with its place
		}
		path = st.append(path)
		next := child(n, st)
		if next == nil {
			next = r.grow(n, st, path, s.origin)
		}
		n = next
	}
	r.note(steps, n, s)
	*n = yaml.Node{Kind: yaml.ScalarNode, Value: s.value}
	n.Tag = n.ShortTag()
	r.origin[n] = s.origin
	return ""
}

// grow adds what a step leads to, which the node does not have, and path names.
func (r *Reading) grow(n *yaml.Node, st Step, path, origin string) *yaml.Node {
	next := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	r.origin[next] = origin
	if n.Kind == yaml.SequenceNode {
		r.grown[path] = true
	} else {
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: st.Name}
		r.origin[key] = origin
		n.Content = append(n.Content, key)
	}
	n.Content = append(n.Content, next)
	return next
}
