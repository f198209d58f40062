package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON Schema (draft 2020-12) of documents of a form, for editors: what
// --set and ${…} can do to a value is beyond it, and so is what must hold across
// fields.
func (d *Dialect) Schema(f *Form, title, description string) ([]byte, error) {
	s := d.schemaOf(f, nil)
	s.Version = jsonschema.Version
	s.Title, s.Description = title, description
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return b.Bytes(), nil
}

// reference in a scalar that is not text: expanded, it may be anything.
const referencePattern = `\$\{.+\}`

// scalar is the schema of a single value within a record of the type owner.
func (d *Dialect) scalar(owner, t reflect.Type) *jsonschema.Schema {
	// What is particular to a type is said by the mapper.
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if d.Written != nil {
			if s := d.Written(owner, t); s != nil {
				return s
			}
		}
		if reflect.PointerTo(t).Implements(unmarshaler) {
			return &jsonschema.Schema{Type: "string"}
		}
		return nil
	}}
	s := r.ReflectFromType(t)
	s.Version, s.Definitions = "", nil
	return s
}

func (d *Dialect) schemaOf(f *Form, owner reflect.Type) *jsonschema.Schema {
	switch f.Shape {
	case List:
		return &jsonschema.Schema{Type: "array", Items: d.schemaOf(f.Elem, owner)}
	case Dict:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: d.schemaOf(f.Elem, owner)}
	case Record:
		if f.short != "" {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{d.schemaOf(f.Member(f.short).Form, f.Type), d.recordSchema(f)}}
		}
		return d.recordSchema(f)
	}
	s := d.scalar(owner, f.Type)
	if s.Type == "string" {
		return s
	}
	// In a file any scalar may be a ${…}, which is text until it is expanded.
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "string", Pattern: referencePattern}}}
}

func (d *Dialect) recordSchema(f *Form) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, m := range f.Members {
		property := d.schemaOf(m.Form, f.Type)
		property.Description = m.Doc
		if m.allowed.words != nil {
			words(property, m.allowed.words)
		}
		if m.allowed.share != "" {
			share(property)
		}
		if m.fallback != "" {
			property.Default = fallback(m)
		}
		s.Properties.Set(m.Name, property)
		if m.Required {
			s.Required = append(s.Required, m.Name)
		}
		if m.Choice {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{m.Name}})
		}
	}
	return s
}

// words restricts text, or the elements of a list of text, to the given words.
func words(s *jsonschema.Schema, enum []string) {
	if s.Items != nil {
		words(s.Items, enum)
		return
	}
	allowed := &jsonschema.Schema{}
	for _, w := range enum {
		if allowed.Enum = append(allowed.Enum, w); w == "null" {
			allowed.Enum = append(allowed.Enum, nil) // as YAML reads it
		}
	}
	s.Type, s.AnyOf = "", []*jsonschema.Schema{allowed, {Type: "string", Pattern: referencePattern}}
}

// share lets a number be a percentage too.
func share(s *jsonschema.Schema) {
	s.AnyOf = append(
		[]*jsonschema.Schema{{Type: "string", Pattern: `^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%\s*$`}},
		s.AnyOf...)
}

func fallback(m Member) any {
	var v any
	if err := m.fallbackNode().Decode(&v); err != nil {
		panic(fmt.Sprintf("form: default of %s: %v", m.Name, err))
	}
	return v
}
