package config

import (
	"fmt"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

// decode reads a node as a value of the form into v, and notes every problem and
// the place of everything that is given.
func (l *loader) decode(f *form, n *yaml.Node, path string, v reflect.Value, may allowed) {
	l.values[path] = n
	if l.failed[n] {
		l.broken[path] = true
		return
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch f.shape {
	case scalar:
		if n.Kind != yaml.ScalarNode {
			l.unreadable(path, "must be a single value, got %s", l.describe(n))
			return
		}
		if wrong := l.decodeScalar(n, v, may); wrong != "" {
			l.unreadable(path, "%s", wrong)
		}
	case list:
		l.decodeList(f, n, path, v, may)
	case dict:
		l.decodeDict(f, n, path, v)
	case record:
		l.decodeRecord(f, n, path, v)
	}
}

func (l *loader) decodeList(f *form, n *yaml.Node, path string, v reflect.Value, may allowed) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode && f.elem.shape == scalar && !isNull(n) {
			hint = "; write it in brackets: [" + l.text(n) + "]"
		}
		l.unreadable(path, "must be a list, got %s%s", l.describe(n), hint)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		l.decode(f.elem, c, fmt.Sprintf("%s[%d]", path, i), v.Index(i), may)
	}
}

// pairs calls visit for each name and value of a mapping, and reports names that
// are no names or are repeated.
func (l *loader) pairs(n *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" || key.Value == "" {
			l.errs = append(l.errs, l.at(key).error(path, fmt.Sprintf("a field's name must be a word, got %s", l.describe(key))))
			continue
		}
		within := join(path, key.Value)
		if before := first[key.Value]; before != nil {
			l.errs = append(l.errs, l.at(key).error(within, fmt.Sprintf("is given twice, first in line %d; remove one", before.Line)))
			continue
		}
		first[key.Value] = key
		l.keys[within] = key
		visit(key, value)
	}
}

func (l *loader) decodeDict(f *form, n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		l.unreadable(path, "must be a mapping (name: value), got %s", l.describe(n))
		return
	}
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	} else {
		v.Set(reflect.MakeSlice(v.Type(), 0, len(n.Content)/2))
	}
	l.pairs(n, path, func(key, value *yaml.Node) {
		elem := reflect.New(v.Type().Elem()).Elem()
		if f.nameAt >= 0 {
			elem.Field(f.nameAt).SetString(key.Value)
		}
		l.decode(f.elem, value, join(path, key.Value), elem, allowed{})
		if v.Kind() == reflect.Map {
			v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), elem)
		} else {
			v.Set(reflect.Append(v, elem))
		}
	})
}

func (l *loader) decodeRecord(f *form, n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		switch {
		case f.scold != "":
			l.unreadable(path, "%s", f.scold)
		case path == "" && n.Kind == yaml.ScalarNode && !isNull(n):
			// What is no configuration at all may be data, taken for one by mistake.
			l.unreadable(path, "must be a mapping%s, got a single value; is this the configuration?", fields(f))
		default:
			l.unreadable(path, "must be a mapping%s, got %s", fields(f), l.describe(n))
		}
		return
	}
	given := make(map[string]bool, len(f.members))
	var chosen []*member
	l.pairs(n, path, func(key, value *yaml.Node) {
		m := f.member(key.Value)
		within := join(path, key.Value)
		if m == nil {
			l.strange[path] = append(l.strange[path], key.Value)
			text := "is not a field here" + instead(key.Value, f.names())
			if what, known := f.later[key.Value]; known {
				text = "is not in this version: " + what
			}
			l.errs = append(l.errs, l.at(key).error(within, text))
			return
		}
		given[m.name] = true
		if m.choice {
			if chosen = append(chosen, m); len(chosen) > 1 {
				l.errs = append(l.errs, l.at(key).error(within, fmt.Sprintf("must not stand beside %s: exactly one of %s is allowed", chosen[0].name, strings.Join(f.choices(), ", "))))
				return
			}
		}
		l.decode(m.form, value, within, m.bind(v), m.allowed)
	})
	if choices := f.choices(); len(choices) > 0 && len(chosen) == 0 && len(l.strange[path]) == 0 {
		l.wrong(path, "must have %s, got none of them", oneOf(choices))
	}
	for i := range f.members {
		m := &f.members[i]
		if given[m.name] {
			continue
		}
		if m.required && !l.misspelt(path, m.name) {
			l.wrongAt(path, join(path, m.name), "is required: %s", m.doc)
		}
		if !m.choice {
			l.fill(m, v)
		}
	}
}

// misspelt reports whether an unknown name in the mapping at path was probably
// meant to be name: one error is enough then.
func (l *loader) misspelt(path, name string) bool {
	for _, strange := range l.strange[path] {
		if check.Suggest(strange, []string{name}) != "" {
			return true
		}
	}
	return false
}

// fill gives a member that the file leaves out its default, and what stands
// below it theirs.
func (l *loader) fill(m *member, owner reflect.Value) {
	if m.fallback == "" && (m.form.shape != record || hasChoices(m.form)) {
		return
	}
	v := m.bind(owner)
	if v.Kind() == reflect.Pointer {
		return
	}
	if m.fallback == "" {
		for i := range m.form.members {
			l.fill(&m.form.members[i], v)
		}
		return
	}
	aside := newLoader(l.file, l.lookup)
	if aside.decode(m.form, m.fallbackNode(), m.name, v, m.allowed); len(aside.errs) > 0 {
		panic(fmt.Sprintf("config: default of %s: %v", m.name, aside.errs))
	}
}

func hasChoices(f *form) bool { return len(f.choices()) > 0 }

func fields(f *form) string {
	if c := f.choices(); len(c) > 0 {
		return " with " + oneOf(c)
	}
	return " of " + strings.Join(f.names(), ", ")
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "exactly one of " + strings.Join(words, ", ")
}
