package form

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

// decode reads a node as a value of the form into v, and notes every problem and
// the place of everything that is given.
func (r *Reading) decode(f *Form, n *yaml.Node, path string, v reflect.Value, may allowed) {
	r.values[path] = n
	if r.failed[n] {
		r.broken[path] = true
		return
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch f.Shape {
	case Scalar:
		if n.Kind != yaml.ScalarNode {
			r.unreadable(path, "must be a single value, got %s", r.describe(n))
			return
		}
		if wrong := r.decodeScalar(n, v, may); wrong != "" {
			r.unreadable(path, "%s", wrong)
		}
	case List:
		r.decodeList(f, n, path, v, may)
	case Dict:
		r.decodeDict(f, n, path, v)
	case Record:
		r.decodeRecord(f, n, path, v)
	}
}

func (r *Reading) decodeList(f *Form, n *yaml.Node, path string, v reflect.Value, may allowed) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode && (f.Elem.Shape == Scalar || f.Elem.short != "") && !isNull(n) {
			hint = "; write it in brackets: [" + r.text(n) + "]"
		}
		r.unreadable(path, "must be a list, got %s%s", r.describe(n), hint)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		r.decode(f.Elem, c, fmt.Sprintf("%s[%d]", path, i), v.Index(i), may)
	}
}

// pairs calls visit for each name and value of a mapping, and reports names that
// are no names or are repeated.
func (r *Reading) pairs(n *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" || key.Value == "" {
			r.errs = append(r.errs, r.at(key).error(path, fmt.Sprintf("a field's name must be a word, got %s", r.describe(key))))
			continue
		}
		within := Join(path, key.Value)
		if before := first[key.Value]; before != nil {
			r.errs = append(r.errs,
				r.at(key).error(within, fmt.Sprintf("is given twice, first in line %d; remove one", before.Line)))
			continue
		}
		first[key.Value] = key
		r.keys[within] = key
		visit(key, value)
	}
}

func (r *Reading) decodeDict(f *Form, n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.unreadable(path, "must be a mapping (name: value), got %s", r.describe(n))
		return
	}
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	} else {
		v.Set(reflect.MakeSlice(v.Type(), 0, len(n.Content)/2))
	}
	r.pairs(n, path, func(key, value *yaml.Node) {
		elem := reflect.New(v.Type().Elem()).Elem()
		if f.nameAt >= 0 {
			elem.Field(f.nameAt).SetString(key.Value)
		}
		r.decode(f.Elem, value, Join(path, key.Value), elem, allowed{})
		if v.Kind() == reflect.Map {
			v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), elem)
		} else {
			v.Set(reflect.Append(v, elem))
		}
	})
}

// afterComma reports whether a key is the decimals of a number that was written with a decimal
// comma between braces: {sd: 90,5} is sd: 90 and a field named 5.
func afterComma(n, key *yaml.Node) bool {
	digits := strings.TrimSuffix(key.Value, "%")
	if n.Style&yaml.FlowStyle == 0 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	at := slices.Index(n.Content, key)
	return at > 1 && isNull(n.Content[at+1]) && n.Content[at-1].Tag == "!!int"
}

func (r *Reading) decodeRecord(f *Form, n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		if f.short != "" && !isNull(n) {
			m := f.Member(f.short)
			r.decode(m.Form, n, path, m.Bind(v), m.allowed)
			for i := range f.Members {
				if at := &f.Members[i]; at.Name != f.short && !at.Choice {
					r.fill(at, v)
				}
			}
			return
		}
		switch {
		case f.notAMapping != "":
			r.unreadable(path, "%s", f.notAMapping)
		case path == "" && n.Kind == yaml.ScalarNode && !isNull(n):
			// A file that is not a configuration may contain data, given by mistake.
			r.unreadable(path, "must be a mapping%s, got a single value; is this the configuration?", fields(f))
		default:
			r.unreadable(path, "must be a mapping%s, got %s", fields(f), r.describe(n))
		}
		return
	}
	given := make(map[string]bool, len(f.Members))
	var chosen []*Member
	r.pairs(n, path, func(key, value *yaml.Node) {
		m := f.Member(key.Value)
		within := Join(path, key.Value)
		if m == nil {
			r.strange[path] = append(r.strange[path], key.Value)
			text := "is not a field here" + Instead(key.Value, f.Names())
			if afterComma(n, key) {
				text = "is not a field here: a comma ends a value; write the decimals of a number behind a point"
			}
			if what, known := f.later[key.Value]; known {
				text = "is not in this version: " + what
			}
			r.errs = append(r.errs, r.at(key).error(within, text))
			return
		}
		given[m.Name] = true
		if m.Choice {
			if chosen = append(chosen, m); len(chosen) > 1 {
				r.errs = append(r.errs,
					r.at(key).error(within,
						fmt.Sprintf("must not stand beside %s: exactly one of %s is allowed", chosen[0].Name,
							strings.Join(f.Choices(), ", "))))
				return
			}
		}
		r.decode(m.Form, value, within, m.Bind(v), m.allowed)
	})
	if choices := f.Choices(); len(choices) > 0 && len(chosen) == 0 && len(r.strange[path]) == 0 {
		r.Wrong(path, "must have %s, got none of them", oneOf(choices))
	}
	for i := range f.Members {
		m := &f.Members[i]
		if given[m.Name] {
			continue
		}
		if m.Required && !r.Misspelt(path, m.Name) {
			r.WrongAt(path, Join(path, m.Name), "is required: %s", m.Doc)
		}
		if !m.Choice {
			r.fill(m, v)
		}
	}
}

// HasStrange reports whether the mapping at path has names that are no fields.
func (r *Reading) HasStrange(path string) bool { return len(r.strange[path]) > 0 }

// Misspelt reports whether an unknown name in the mapping at path was probably
// meant to be name: one error is enough then.
func (r *Reading) Misspelt(path, name string) bool {
	for _, strange := range r.strange[path] {
		if check.Suggest(strange, []string{name}) != "" {
			return true
		}
	}
	return false
}

// fill gives a member that the file leaves out its default, and what stands
// below it theirs.
func (r *Reading) fill(m *Member, owner reflect.Value) {
	if m.fallback == "" && (m.Form.Shape != Record || hasChoices(m.Form)) {
		return
	}
	v := m.Bind(owner)
	if v.Kind() == reflect.Pointer {
		return
	}
	if m.fallback == "" {
		for i := range m.Form.Members {
			r.fill(&m.Form.Members[i], v)
		}
		return
	}
	aside := newReading(r.dialect, r.file, r.lookup)
	if aside.decode(m.Form, m.fallbackNode(), m.Name, v, m.allowed); len(aside.errs) > 0 {
		panic(fmt.Sprintf("form: default of %s: %v", m.Name, aside.errs))
	}
}

func hasChoices(f *Form) bool { return len(f.Choices()) > 0 }

func fields(f *Form) string {
	if c := f.Choices(); len(c) > 0 {
		return " with " + oneOf(c)
	}
	return " of " + strings.Join(f.Names(), ", ")
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "exactly one of " + strings.Join(words, ", ")
}
