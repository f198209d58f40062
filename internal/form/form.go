package form

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	yaml "go.yaml.in/yaml/v3"
)

// Shape is how a value is written.
type Shape uint8

// The shapes of values.
const (
	Scalar Shape = iota // a single value
	List                // a sequence
	Dict                // a mapping from names of the user's choice
	Record              // a mapping from names that are declared
)

// Dialect is what a family of documents says of its types beyond their tags. The zero
// value says nothing.
type Dialect struct {
	// Begin is the first line of a new document: "version: 1".
	Begin string
	// Prefix is the prefix of the environment variables that are settings: "SDLFILTER_". If it is
	// empty, there are none.
	Prefix string
	// NoSettings are variables with the prefix that are no settings.
	NoSettings []string
	// Records are the types whose members are not their Go fields, or more than they.
	Records map[reflect.Type]func(*Dialect) []Member
	// Later are fields that the format has and this version does not, and what to say
	// of them, so that a document which uses one is told so instead of being called
	// misspelt.
	Later map[reflect.Type]map[string]string
	// NotAMapping says what to write where a record's value is not a mapping and
	// the value itself must not be repeated.
	NotAMapping map[reflect.Type]string
	// Synonyms are words of other tools, in lower case, for words of an enum.
	Synonyms map[string]string
	// Written gives the JSON Schema of types that are written otherwise than their Go
	// kind, within a record of the type owner; nil for the others.
	Written func(owner, t reflect.Type) *jsonschema.Schema
}

// Form is how values of one Go type are written. Decoder, --set, JSON Schema and
// canonical text all walk forms, so they cannot disagree.
type Form struct {
	Shape   Shape
	Type    reflect.Type
	Elem    *Form    // of list and dict
	Members []Member // of record

	short       string            // the member that a record's value is for, where it is not a mapping; "": it must be one
	nameAt      int               // dict kept as a slice: index of the element's field that holds its name; -1: a Go map
	later       map[string]string // names that are not members in this version, and what they will be
	notAMapping string            // what to say instead of "must be a mapping" of a value that is not one
}

// Member is one declared name of a record.
type Member struct {
	Name, Doc        string
	Required, Choice bool
	Form             *Form
	// Bind returns where the member's value goes, making room for it.
	Bind func(owner reflect.Value) reflect.Value
	// Peek returns the member's value; given is false where there is none.
	Peek func(owner reflect.Value) (v reflect.Value, given bool)

	allowed  allowed
	fallback string // from the default tag: text as it is, all else as YAML
}

// fallbackNode is the default as the file would have it.
func (m *Member) fallbackNode() *yaml.Node {
	if m.Form.Shape == Scalar && m.Form.Type.Kind() == reflect.String {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: m.fallback}
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(m.fallback), &n); err != nil {
		panic(fmt.Sprintf("form: default of %s: %v", m.Name, err))
	}
	return n.Content[0]
}

// Member returns the member of that name, nil where there is none.
func (f *Form) Member(name string) *Member {
	for i := range f.Members {
		if f.Members[i].Name == name {
			return &f.Members[i]
		}
	}
	return nil
}

// Names are the names of a record's members, in order.
func (f *Form) Names() []string {
	names := make([]string, len(f.Members))
	for i, m := range f.Members {
		names[i] = m.Name
	}
	return names
}

// Choices are the names of the members of which exactly one must be given.
func (f *Form) Choices() []string {
	var names []string
	for _, m := range f.Members {
		if m.Choice {
			names = append(names, m.Name)
		}
	}
	return names
}

var unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// Of derives the form of a type, which must not be recursive.
func (d *Dialect) Of(t reflect.Type) *Form {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f := &Form{Type: t, nameAt: -1, later: d.Later[t], notAMapping: d.NotAMapping[t]}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
	case d.Records[t] != nil:
		f.Shape, f.Members = Record, d.Records[t](d)
	case t.Kind() == reflect.Struct:
		f.Shape, f.Members, f.short = Record, d.Fields(t), shortField(t)
	case t.Kind() == reflect.Slice:
		f.Shape, f.Elem = List, d.Of(t.Elem())
		if at := nameField(t.Elem()); at >= 0 {
			f.Shape, f.nameAt = Dict, at
		}
	case t.Kind() == reflect.Map:
		f.Shape, f.Elem = Dict, d.Of(t.Elem())
	}
	return f
}

// OfMembers is the form of a record of the type with members of its own.
func OfMembers(t reflect.Type, members ...Member) *Form {
	return &Form{Shape: Record, Type: t, Members: members, nameAt: -1}
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

// shortField finds the member of a struct whose value may be written instead of the mapping.
func shortField(t reflect.Type) string {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("short") == "true" {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			return name
		}
	}
	return ""
}

// Fields are the members that the Go fields of a struct declare by their tags.
func (d *Dialect) Fields(t reflect.Type) []Member {
	var members []Member
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case options == "inline":
			for _, m := range d.Fields(field.Type) {
				members = append(members, m.Within(func(owner reflect.Value) reflect.Value { return owner.Field(i) }))
			}
			continue
		case !field.IsExported(), name == "", name == "-":
			continue
		}
		m := Member{
			Name: name, Doc: field.Tag.Get("doc"), fallback: field.Tag.Get("default"),
			Required: field.Tag.Get("required") == "true", Choice: field.Tag.Get("choice") == "true",
			Form: d.Of(field.Type),
			Bind: func(owner reflect.Value) reflect.Value { return owner.Field(i) },
		}
		m.allowed.share = field.Tag.Get("share")
		if words := field.Tag.Get("enum"); words != "" {
			m.allowed.words = strings.Split(words, ",")
		}
		// A zero where the default is something else, or where the field must be
		// given, was given as such. What has choices may hold more than they, and is
		// given where one of them is.
		choice := field.Type.Kind() == reflect.Struct && hasChoices(m.Form)
		m.Peek = func(owner reflect.Value) (reflect.Value, bool) {
			v := owner.Field(i)
			if choice {
				return v, slices.ContainsFunc(m.Form.Members, func(c Member) bool {
					_, given := c.Peek(v)
					return given
				})
			}
			return v, !v.IsZero() || m.fallback != "" || m.Required && m.Form.Shape == Scalar
		}
		members = append(members, m)
	}
	return members
}

// Within is the member as one of an outer owner, which inner finds the owner in.
func (m Member) Within(inner func(reflect.Value) reflect.Value) Member {
	bind, peek := m.Bind, m.Peek
	m.Bind = func(owner reflect.Value) reflect.Value { return bind(inner(owner)) }
	m.Peek = func(owner reflect.Value) (reflect.Value, bool) { return peek(inner(owner)) }
	return m
}

// Share reports whether the number is a share, which may be written as a percentage.
func (m *Member) Share() bool { return m.allowed.share != "" }
