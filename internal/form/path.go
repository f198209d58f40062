package form

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

// Step is one segment of a path: a name in a mapping or, without a name, an index of a list.
type Step struct {
	Name  string
	Index int
}

// kind is that of the node which has the step.
func (st Step) kind() yaml.Kind {
	if st.Name == "" {
		return yaml.SequenceNode
	}
	return yaml.MappingNode
}

// append adds the step to a path.
func (st Step) append(path string) string {
	if st.Name == "" {
		return fmt.Sprintf("%s[%d]", path, st.Index)
	}
	return Join(path, st.Name)
}

var index = regexp.MustCompile(`\[(\d+)\]`)

// Dotted writes a path with dots alone, as --set takes it: masks.0.noise.sd for
// masks[0].noise.sd.
func Dotted(path string) string { return index.ReplaceAllString(path, ".$1") }

func child(n *yaml.Node, st Step) *yaml.Node {
	if st.Name == "" {
		if st.Index < len(n.Content) {
			return n.Content[st.Index]
		}
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == st.Name {
			return n.Content[i+1]
		}
	}
	return nil
}

// Follow goes down from a node; nil where it does not lead anywhere.
func Follow(n *yaml.Node, steps ...Step) *yaml.Node {
	for _, st := range steps {
		if n == nil || n.Kind != st.kind() {
			return nil
		}
		n = child(n, st)
	}
	return n
}

// resolve follows a path along the forms; n is the file's node there, nil where
// the file has none.
func resolve(n *yaml.Node, f *Form, path []string, folded bool) (steps []Step, wrong string) {
	trail := ""
	for len(path) > 0 {
		st, next, used, wrong := resolveStep(n, f, path, trail, folded)
		if wrong != "" {
			return nil, wrong
		}
		if n != nil {
			n = child(n, st)
		}
		trail = Join(trail, strings.Join(path[:used], "."))
		steps, path, f = append(steps, st), path[used:], next
	}
	switch f.Shape {
	case List:
		return nil, fmt.Sprintf("%s is a list, and only single values can be set; set an element: %s.0", trail, trail)
	case Record, Dict:
		return nil, fmt.Sprintf("%s is a mapping, and only single values can be set; go on with a dot and a field%s", trail,
			ThereAre(f.Names()))
	}
	return steps, ""
}

// resolveStep resolves the first segment of a path, or as many as are one name; trail
// is what led to the node. next is the form of what the step leads to.
func resolveStep(n *yaml.Node, f *Form, path []string, trail string, folded bool) (st Step, next *Form, used int,
	wrong string) {
	segment := path[0]
	switch f.Shape {
	case Record:
		m := f.Member(segment)
		if m == nil {
			if what, known := f.later[segment]; known {
				return st, nil, 0, fmt.Sprintf("%s is not in this version: %s", Join(trail, segment), what)
			}
			return st, nil, 0, fmt.Sprintf("no field %q%s%s", segment, in(trail), Instead(segment, f.Names()))
		}
		if f.short != "" && n != nil && n.Kind != yaml.MappingNode && !isNull(n) {
			return st, nil, 0, fmt.Sprintf("%s is not a mapping in the file; write %s: %s there before its fields can be set",
				trail, f.short, "…")
		}
		return Step{Name: segment}, m.Form, 1, ""
	case List:
		have := 0
		if n != nil && n.Kind == yaml.SequenceNode {
			have = len(n.Content)
		}
		i, err := strconv.Atoi(segment)
		if err != nil || i < 0 || i > have {
			return st, nil, 0, fmt.Sprintf("%s is a list of %d: the next part of the path must be a number from 0 to %d, got %q",
				trail, have, have, segment)
		}
		return Step{Index: i}, f.Elem, 1, ""
	case Dict:
		name, used, wrong := dictName(n, f, path, folded)
		if wrong != "" {
			return st, nil, 0, trail + " " + wrong
		}
		return Step{Name: name}, f.Elem, used, ""
	}
	return st, nil, 0, fmt.Sprintf("%s is a single value and has no field %q", trail, segment)
}

// dictName finds how much of the path is the name in a mapping of the user's
// names, which may hold dots itself (person.income): the longest that the file
// has; where it has none, everything but what a scalar below needs.
func dictName(n *yaml.Node, f *Form, path []string, folded bool) (name string, used int, wrong string) {
	var have []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			have = append(have, n.Content[i].Value)
		}
	}
	for used := len(path); used > 0; used-- {
		want := strings.Join(path[:used], ".")
		for _, name := range have {
			if name == want || Dotted(name) == want || folded && strings.EqualFold(name, want) {
				return name, used, ""
			}
		}
	}
	used = len(path)
	if f.Elem.Shape == Record {
		used--
	}
	name = strings.Join(path[:max(used, 1)], ".")
	if folded || used == 0 {
		return "", 0, fmt.Sprintf("has no %q%s", name, Instead(name, have))
	}
	return name, used, ""
}

func in(trail string) string {
	if trail == "" {
		return ""
	}
	return " in " + trail
}

// Instead suggests the name that was probably meant, or else gives all.
func Instead(name string, names []string) string {
	if s := check.Suggest(name, names); s != "" {
		return s
	}
	return ThereAre(names)
}

// ThereAre gives all of the names.
func ThereAre(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

// Parent returns the path of what holds the value at path: "masks[1].noise" for
// "masks[1].noise.sd", "masks" for "masks[1]", "" for "masks".
func Parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Join appends a field's name to a path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
