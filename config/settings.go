package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

const (
	envPrefix = "SDLFILTER_"
	// KeyVariable is the customary name for key: {env: …}. It is never a setting.
	KeyVariable = "SDLFILTER_KEY"
)

// setting is one scalar that the command line or the environment puts over the
// file.
type setting struct {
	path   []string // names and indexes: masks, 0, noise, sd
	value  string
	origin string // for messages: "--set masks.0.noise.sd"
	folded bool   // names of the user's choice match in any case, and none is created
}

var index = regexp.MustCompile(`\[(\d+)\]`)

// flagSetting reads the PATH=VALUE of a --set.
func flagSetting(text string) (setting, error) {
	path, value, found := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	s := setting{value: value, origin: "--set " + path, path: strings.Split(index.ReplaceAllString(path, ".$1"), ".")}
	if !found || path == "" {
		return s, Error{Text: "must be path.to.field=value", File: "--set " + text}
	}
	return s, nil
}

// environmentSettings reads settings from variables: SDLFILTER_ and the path in
// upper case, with two underscores for each dot
// (SDLFILTER_SOURCE__PARQUET__PATH). Variables that the file itself refers to by
// name are its own business and no settings.
func environmentSettings(environ []string, file string) []setting {
	var settings []setting
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || name == KeyVariable || mentions(file, name) {
			continue
		}
		path := strings.Split(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "__")
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

// step is one segment of a setting's path, resolved: a name in a mapping, or an
// index of a list.
type step struct {
	name  string
	index int
	form  *form // of what the step leads to
}

// set puts a setting over the file's nodes. It creates fields, names and the
// next element of a list on its way; nothing is changed where the path does not
// lead to a scalar, and the words say why.
func (l *loader) set(document *yaml.Node, s setting) (wrong string) {
	if !utf8.ValidString(s.value + s.origin) {
		return "must be UTF-8 text"
	}
	steps, wrong := resolve(document, root(), s.path, s.folded)
	if wrong != "" {
		return wrong
	}
	n, path := document, ""
	for _, st := range steps {
		kind := yaml.MappingNode
		if st.name == "" {
			kind = yaml.SequenceNode
		}
		if isNull(n) {
			*n = yaml.Node{Kind: kind, Line: n.Line, Column: n.Column}
			l.origin[n] = s.origin
		}
		if n.Kind != kind {
			return "" // the file is wrong here, and decoding says so with its place
		}
		next := child(n, st)
		if st.name == "" {
			path += fmt.Sprintf("[%d]", st.index)
		} else {
			path = join(path, st.name)
		}
		if next == nil {
			if kind == yaml.SequenceNode {
				l.grown[path] = true
			}
			next = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
			l.origin[next] = s.origin
			if kind == yaml.MappingNode {
				key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: st.name}
				l.origin[key] = s.origin
				n.Content = append(n.Content, key)
			}
			n.Content = append(n.Content, next)
		}
		n = next
	}
	l.note(steps, n, s)
	*n = yaml.Node{Kind: yaml.ScalarNode, Value: s.value}
	n.Tag = n.ShortTag()
	l.origin[n] = s.origin
	return ""
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func child(n *yaml.Node, st step) *yaml.Node {
	if st.name == "" {
		if st.index < len(n.Content) {
			return n.Content[st.index]
		}
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == st.name {
			return n.Content[i+1]
		}
	}
	return nil
}

// resolve follows a path along the forms; n is the file's node there, nil where
// the file has none.
func resolve(n *yaml.Node, f *form, path []string, folded bool) (steps []step, wrong string) {
	trail := ""
	for len(path) > 0 {
		segment := path[0]
		st := step{name: segment}
		used := 1
		switch f.shape {
		case scalar:
			return nil, fmt.Sprintf("%s is a single value and has no field %q", trail, segment)
		case record:
			m := f.member(segment)
			if m == nil {
				if what, known := f.later[segment]; known {
					return nil, fmt.Sprintf("%s is not in this version: %s", join(trail, segment), what)
				}
				return nil, fmt.Sprintf("no field %q%s%s", segment, in(trail), instead(segment, f.names()))
			}
			st.form = m.form
		case list:
			have := 0
			if n != nil && n.Kind == yaml.SequenceNode {
				have = len(n.Content)
			}
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i > have {
				return nil, fmt.Sprintf("%s is a list of %d: the next part of the path must be a number from 0 to %d, got %q", trail, have, have, segment)
			}
			st = step{index: i, form: f.elem}
		case dict:
			st.name, used, wrong = dictName(n, f, path, folded)
			if wrong != "" {
				return nil, trail + " " + wrong
			}
			st.form = f.elem
		}
		if n != nil {
			n = child(n, st)
		}
		trail = join(trail, strings.Join(path[:used], "."))
		steps, path, f = append(steps, st), path[used:], st.form
	}
	switch f.shape {
	case list:
		return nil, fmt.Sprintf("%s is a list, and only single values can be set; set an element: %s.0", trail, trail)
	case record, dict:
		return nil, fmt.Sprintf("%s is a mapping, and only single values can be set; go on with a dot and a field%s", trail, known(f.names()))
	}
	return steps, ""
}

// dictName finds how much of the path is the name in a mapping of the user's
// names, which may hold dots itself (person.income): the longest that the file
// has; where it has none, everything but what a scalar below needs.
func dictName(n *yaml.Node, f *form, path []string, folded bool) (name string, used int, wrong string) {
	var have []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			have = append(have, n.Content[i].Value)
		}
	}
	for used := len(path); used > 0; used-- {
		want := strings.Join(path[:used], ".")
		for _, name := range have {
			if name == want || index.ReplaceAllString(name, ".$1") == want || folded && strings.EqualFold(name, want) {
				return name, used, ""
			}
		}
	}
	used = len(path)
	if f.elem.shape == record {
		used--
	}
	name = strings.Join(path[:max(used, 1)], ".")
	if folded || used == 0 {
		return "", 0, fmt.Sprintf("has no %q%s", name, instead(name, have))
	}
	return name, used, ""
}

func in(trail string) string {
	if trail == "" {
		return ""
	}
	return " in " + trail
}

// instead suggests the name that was probably meant, or else gives all.
func instead(name string, names []string) string {
	if s := check.Suggest(name, names); s != "" {
		return s
	}
	return known(names)
}

func known(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}
