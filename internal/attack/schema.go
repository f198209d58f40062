package attack

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/schemadoc"
)

// JSONSchema returns the JSON Schema of an attack's JSON, made from the Go types. The
// file attack.schema.json beside this one is kept equal to it by a test.
func JSONSchema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true,
		Namer:     schemaName,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch {
			case t.Kind() == reflect.Float64:
				return schemadoc.Number()
			case t == reflect.TypeFor[linkage.Distance]():
				s := &jsonschema.Schema{Type: "string"}
				for d := linkage.Standardised; d <= linkage.Ranks; d++ {
					s.Enum = append(s.Enum, d.String())
				}
				return s
			}
			return nil
		},
		LookupComment: schemadoc.Of,
	}
	s := r.Reflect(&Result{})
	s.ID = "sdlfilter.attack.schema.json"
	s.Title = "What an intruder finds in a release, by sdlfilter"
	schemadoc.Define(s)
	result := s.Definitions[schemaName(reflect.TypeFor[Result]())]
	result.Description = "what an intruder finds in a release; parts that were not asked for are absent; confidential"
	if head, ok := result.Properties.Get("schema"); ok {
		head.Const = Schema
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("attack schema: %w", err)
	}
	return append(out, '\n'), nil
}

// schemaName returns a distinct name for each type, because the results of all parts
// are called Result.
func schemaName(t reflect.Type) string {
	folder := path.Base(t.PkgPath())
	if folder == "." || folder == "attack" || t.Name() == "" {
		return t.Name()
	}
	return strings.ToUpper(folder[:1]) + folder[1:] + t.Name()
}
