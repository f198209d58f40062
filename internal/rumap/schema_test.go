package rumap_test

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/internal/schemadoc"
)

// jsonSchema returns the JSON Schema of map.json, made from the Go types. The file
// map.schema.json beside this one is kept equal to it by a test.
func jsonSchema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t != reflect.TypeFor[assess.Float]() {
				return nil
			}
			return schemadoc.Number()
		},
		LookupComment: schemadoc.Of,
	}
	s := r.Reflect(&rumap.Map{})
	s.ID = "sdlfilter.map.schema.json"
	s.Title = "R-U confidentiality map of one column, by sdlfilter"
	schemadoc.Define(s)
	s.Definitions["Map"].Description =
		"an R-U confidentiality map on data; R and U are in 1/(unit of the column)²; confidential"
	properties := s.Definitions["Map"].Properties
	if head, ok := properties.Get("schema"); ok {
		head.Const = rumap.Schema
	}
	if recommended, ok := properties.Get("recommended"); ok {
		reference := *recommended
		properties.Set("recommended", &jsonschema.Schema{Description: reference.Description,
			OneOf: []*jsonschema.Schema{{Ref: reference.Ref}, {Type: "null"}}})
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("map schema: %w", err)
	}
	return append(out, '\n'), nil
}
