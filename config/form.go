package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/transform"
)

// shape is how a value is written.
type shape uint8

const (
	scalar shape = iota // a single value
	list                // a sequence
	dict                // a mapping from names of the user's choice
	record              // a mapping from names that are declared
)

// form is how values of one Go type are written in a configuration. Decoder,
// --set, JSON Schema and canonical text all walk forms, so they cannot disagree.
type form struct {
	shape   shape
	typ     reflect.Type
	elem    *form             // of list and dict
	nameAt  int               // dict kept as a slice: index of the element's field that holds its name; -1: a Go map
	members []member          // of record
	later   map[string]string // names that are not members in this version, and what they will be
	scold   string            // what to say instead of "must be a mapping" of a value that is not one
}

// member is one declared name of a record.
type member struct {
	name, doc        string
	allowed          allowed
	fallback         string // from the default tag: text as it is, all else as YAML
	required, choice bool
	form             *form
	// bind returns where the member's value goes, making room for it.
	bind func(owner reflect.Value) reflect.Value
	// peek returns the member's value; given is false where there is none.
	peek func(owner reflect.Value) (v reflect.Value, given bool)
}

// fallbackNode is the default as the file would have it.
func (m *member) fallbackNode() *yaml.Node {
	if m.form.shape == scalar && m.form.typ.Kind() == reflect.String {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: m.fallback}
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(m.fallback), &n); err != nil {
		panic(fmt.Sprintf("config: default of %s: %v", m.name, err))
	}
	return n.Content[0]
}

func (f *form) member(name string) *member {
	for i := range f.members {
		if f.members[i].name == name {
			return &f.members[i]
		}
	}
	return nil
}

func (f *form) names() []string {
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.name
	}
	return names
}

func (f *form) choices() []string {
	var names []string
	for _, m := range f.members {
		if m.choice {
			names = append(names, m.name)
		}
	}
	return names
}

// root is the form of a whole configuration.
var root = sync.OnceValue(func() *form { return formOf(reflect.TypeFor[Pipeline]()) })

var specType = reflect.TypeFor[transform.Spec]()

var unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// formOf derives the form of a type. The types of a configuration are not
// recursive.
func formOf(t reflect.Type) *form {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f := &form{typ: t, nameAt: -1, later: later[t], scold: scolds[t]}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
	case t == reflect.TypeFor[Source]():
		f.shape, f.members = record, sourceMembers()
	case t == reflect.TypeFor[Sink]():
		f.shape, f.members = record, sinkMembers()
	case t == specType:
		f.shape, f.members = record, maskMembers()
	case t.Kind() == reflect.Struct:
		f.shape, f.members = record, fieldMembers(t)
	case t.Kind() == reflect.Slice:
		f.shape, f.elem = list, formOf(t.Elem())
		if at := nameField(t.Elem()); at >= 0 {
			f.shape, f.nameAt = dict, at
		}
	case t.Kind() == reflect.Map:
		f.shape, f.elem = dict, formOf(t.Elem())
	}
	return f
}

// nameField finds the field that is tagged as the holder of a mapping's key.
func nameField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == ",name" {
			return i
		}
	}
	return -1
}

func fieldMembers(t reflect.Type) []member {
	var members []member
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case options == "inline":
			for _, m := range fieldMembers(field.Type) {
				members = append(members, m.from(func(owner reflect.Value) reflect.Value { return owner.Field(i) }))
			}
			continue
		case !field.IsExported(), name == "", name == "-":
			continue
		}
		m := member{
			name: name, doc: field.Tag.Get("doc"), fallback: field.Tag.Get("default"),
			required: field.Tag.Get("required") == "true", choice: field.Tag.Get("choice") == "true",
			form: formOf(field.Type),
			bind: func(owner reflect.Value) reflect.Value { return owner.Field(i) },
		}
		m.allowed.share = field.Tag.Get("share")
		if words := field.Tag.Get("enum"); words != "" {
			m.allowed.words = strings.Split(words, ",")
		}
		// A zero where the default is something else, or where the field must be
		// given, was given as such. What has choices may hold more than they, and is
		// given where one of them is.
		choice := field.Type.Kind() == reflect.Struct && hasChoices(m.form)
		m.peek = func(owner reflect.Value) (reflect.Value, bool) {
			v := owner.Field(i)
			if choice {
				return v, slices.ContainsFunc(m.form.members, func(c member) bool {
					_, given := c.peek(v)
					return given
				})
			}
			return v, !v.IsZero() || m.fallback != "" || m.required && m.form.shape == scalar
		}
		members = append(members, m)
	}
	return members
}

// from is the member as one of an outer owner, which inner finds the owner in.
func (m member) from(inner func(reflect.Value) reflect.Value) member {
	bind, peek := m.bind, m.peek
	m.bind = func(owner reflect.Value) reflect.Value { return bind(inner(owner)) }
	m.peek = func(owner reflect.Value) (reflect.Value, bool) { return peek(inner(owner)) }
	return m
}

// maskMembers gives an entry of masks: one kind with its parameters, and a name
// that may stand beside the kind or among the parameters.
func maskMembers() []member {
	name := member{
		name: "name", doc: "the mask's name, for messages and the map; also what its random draws depend on",
		form: formOf(reflect.TypeFor[string]()),
		bind: func(spec reflect.Value) reflect.Value { return spec.FieldByName("Name") },
		peek: func(spec reflect.Value) (reflect.Value, bool) {
			v := spec.FieldByName("Name")
			return v, !v.IsZero()
		},
	}
	members := []member{name}
	for _, k := range transform.Kinds {
		params := reflect.TypeOf(k.New()).Elem()
		within := name
		within.peek = func(reflect.Value) (reflect.Value, bool) { return reflect.Value{}, false } // written beside the kind
		f := &form{shape: record, typ: params, nameAt: -1, members: []member{within}}
		for _, m := range fieldMembers(params) {
			// Masks mask columns: Params.Check demands them, and so does the schema.
			m.required = m.name == "columns"
			f.members = append(f.members, m.from(func(spec reflect.Value) reflect.Value {
				return spec.FieldByName("Params").Elem().Elem()
			}))
		}
		members = append(members, member{
			name: k.Name, doc: k.Doc, choice: true, form: f,
			bind: func(spec reflect.Value) reflect.Value {
				spec.FieldByName("Params").Set(reflect.ValueOf(k.New()))
				return spec
			},
			peek: func(spec reflect.Value) (reflect.Value, bool) {
				p := spec.FieldByName("Params")
				return spec, !p.IsNil() && p.Elem().Type().Elem() == params
			},
		})
	}
	return members
}

// tableMembers gives a source or a sink: one entry of its table. The owner has
// the fields Kind and Config.
func tableMembers(n int, entry func(i int) (name, doc string, fresh func() any)) []member {
	members := make([]member, n)
	for i := range members {
		name, doc, fresh := entry(i)
		t := reflect.TypeOf(fresh())
		if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			panic(fmt.Sprintf("config: table entry %s gives a %s, not a pointer to a struct", name, t))
		}
		members[i] = member{
			name: name, doc: doc, choice: true, form: formOf(t),
			bind: func(owner reflect.Value) reflect.Value {
				config := reflect.ValueOf(fresh())
				owner.FieldByName("Kind").SetString(name)
				owner.FieldByName("Config").Set(config)
				return config.Elem()
			},
			peek: func(owner reflect.Value) (reflect.Value, bool) {
				if owner.FieldByName("Kind").String() != name {
					return reflect.Value{}, false
				}
				return owner.FieldByName("Config").Elem().Elem(), true
			},
		}
	}
	return members
}
