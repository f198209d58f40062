package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Schema is the JSON Schema (draft 2020-12) of a configuration file, for
// editors: what --set and ${…} can do to a value is beyond it, and so is what
// must hold across fields, which validate checks. config/sdlfilter.schema.json
// is this.
func Schema() ([]byte, error) {
	s := schemaOf(root())
	s.Version = jsonschema.Version
	s.Title = "sdlfilter pipeline"
	s.Description = "Configuration of the statistical disclosure limitation filter sdlfilter."
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

// reflector turns Go's own types into schemas; what is particular to a
// configuration is said by its mapper.
var reflector = &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: written}

// written gives the types that are written otherwise than their Go kind.
func written(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[transform.Amount]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "number", Minimum: "0"},
			{Type: "string", Pattern: `^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%?\s*$`},
		}}
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`}
	case reflect.TypeFor[parquet.Size]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "1"},
			{Type: "string", Pattern: `^[0-9]+( *([kKMGT]|[KMGT]i)?B)?$`},
		}}
	case reflect.TypeFor[Sample]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "1"},
			{Type: "string", Pattern: `^(all|[1-9][0-9]*)$`},
		}}
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func schemaOf(f *form) *jsonschema.Schema {
	switch f.shape {
	case list:
		return &jsonschema.Schema{Type: "array", Items: schemaOf(f.elem)}
	case dict:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: schemaOf(f.elem)}
	case record:
		return recordSchema(f)
	}
	s := reflector.ReflectFromType(f.typ)
	s.Version, s.Definitions = "", nil
	if s.Type == "string" {
		return s
	}
	// In a file any scalar may be a ${…}, which is text until it is expanded.
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "string", Pattern: referencePattern}}}
}

func recordSchema(f *form) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, m := range f.members {
		property := schemaOf(m.form)
		if f.typ == reflect.TypeFor[Axis]() && m.form.typ == amountType {
			property.AnyOf[0].OneOf[0].Minimum = "" // not every parameter is at least 0
		}
		property.Description = m.doc
		if m.allowed.words != nil {
			words(property, m.allowed.words)
		}
		if m.allowed.share != "" {
			share(property)
		}
		if m.fallback != "" {
			property.Default = fallback(m)
		}
		s.Properties.Set(m.name, property)
		if m.required {
			s.Required = append(s.Required, m.name)
		}
		if m.choice {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{m.name}})
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
		allowed.Enum = append(allowed.Enum, w)
	}
	s.Type, s.AnyOf = "", []*jsonschema.Schema{allowed, {Type: "string", Pattern: referencePattern}}
}

// share lets a number be a percentage too.
func share(s *jsonschema.Schema) {
	s.AnyOf = append([]*jsonschema.Schema{{Type: "string", Pattern: `^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%\s*$`}}, s.AnyOf...)
}

func fallback(m member) any {
	var v any
	if err := m.fallbackNode().Decode(&v); err != nil {
		panic(fmt.Sprintf("config: default of %s: %v", m.name, err))
	}
	return v
}
