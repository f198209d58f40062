// Package schemadoc is what the JSON Schemas of the program's results share: the
// description of a member, which stands at its field as a doc tag, and the form of a
// number that may be infinite.
package schemadoc

import (
	"reflect"

	"github.com/invopop/jsonschema"
)

// Of returns the doc tag of a struct's field, "" where there is none: what
// jsonschema.Reflector.LookupComment asks for. A type itself has no tag.
func Of(t reflect.Type, field string) string {
	if t.Kind() != reflect.Struct || field == "" {
		return ""
	}
	f, _ := t.FieldByName(field)
	return f.Tag.Get("doc")
}

// numberName names the definition that Number refers to.
const numberName = "Number"

// Number refers to the form of a number that may be infinite or missing. The schema
// that uses it needs Define.
func Number() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + numberName} }

// Define adds the definition that Number refers to.
func Define(s *jsonschema.Schema) {
	s.Definitions[numberName] = &jsonschema.Schema{
		Description: "a number; infinite values are words, what is not a number is null",
		OneOf:       []*jsonschema.Schema{{Type: "number"}, {Enum: []any{"Infinity", "-Infinity"}}, {Type: "null"}}}
}

// Shared says whether schemas that are put together all have the definition.
func Shared(name string) bool { return name == numberName }
