package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/schemadoc"
)

// Schema returns the JSON Schema of a report, made from the Go types. The file
// report.schema.json beside this one is kept equal to it by a test.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous:     true,
		Mapper:        mapType,
		LookupComment: schemadoc.Of,
	}
	s := r.Reflect(&Report{})
	s.ID = "sdlfilter.report.schema.json"
	s.Title = "Report of one run of sdlfilter"
	columns := r.Reflect(&assess.ColumnMeasures{})
	for name, definition := range columns.Definitions {
		if s.Definitions[name] == nil {
			s.Definitions[name] = definition
		}
	}
	schemadoc.Define(s)
	if err := addAttack(s); err != nil {
		return nil, fmt.Errorf("report schema: %w", err)
	}
	s.Definitions["Report"].Description = "the account of one run, or of a stream so far; confidential"
	s.Definitions["Correlation"].Description = "Pearson correlations over pairwise complete records"
	if rule, ok := s.Definitions["RuleVerdict"].Properties.Get("measure"); ok {
		rule.Description = strings.Join(assess.Limits, ", ") + ", max_quarantined, min_released or inversion"
	}
	if head, ok := s.Definitions["Report"].Properties.Get("schema"); ok {
		head.Const = SchemaName
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("report schema: %w", err)
	}
	return append(text, '\n'), nil
}

// attackDefinition names the schema of an attack within that of a report.
const attackDefinition = "Attack"

// addAttack puts the definitions of an attack's own schema beside the report's.
func addAttack(s *jsonschema.Schema) error {
	text, err := attack.JSONSchema()
	if err != nil {
		return err
	}
	var of jsonschema.Schema
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("attack schema: %w", err)
	}
	for name, definition := range of.Definitions {
		if of.Ref == "#/$defs/"+name {
			name = attackDefinition
		}
		if s.Definitions[name] != nil && !schemadoc.Shared(name) {
			return fmt.Errorf("two definitions are called %s", name)
		}
		s.Definitions[name] = definition
	}
	return nil
}

// mapType gives the schema of types whose JSON form is their own.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[assess.Float]():
		return schemadoc.Number()
	case reflect.TypeFor[Columns]():
		return &jsonschema.Schema{Type: "object", Description: "by column, in the order of the release",
			AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/ColumnMeasures"}}
	case reflect.TypeFor[attack.Result]():
		return &jsonschema.Schema{Ref: "#/$defs/" + attackDefinition}
	case reflect.TypeFor[Ordered[any]]():
		return &jsonschema.Schema{Type: "object", Description: "parameters by their names in the configuration"}
	case reflect.TypeFor[Ordered[assess.Float]]():
		return &jsonschema.Schema{Type: "object", Description: "in the column's unit",
			AdditionalProperties: schemadoc.Number()}
	}
	return nil
}
