package schemadoc

import (
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// TestOf: a member has the description of its own field's tag, also for an embedded struct. Without
// a tag there is no description.
func TestOf(t *testing.T) {
	type inner struct {
		Deep int `json:"deep" doc:"what lies within"`
	}
	type outer struct {
		inner
		One float64 `json:"first" doc:"of several"`
		Two int     `json:"second"`
	}
	for field, want := range map[string]string{"One": "of several", "Two": "", "Deep": "what lies within", "first": "",
		"": ""} {
		if got := Of(reflect.TypeFor[outer](), field); got != want {
			t.Errorf("field %q is described as %q, want %q", field, got, want)
		}
	}
	if got := Of(reflect.TypeFor[float64](), "One"); got != "" {
		t.Errorf("a number's field is described as %q", got)
	}
	r := &jsonschema.Reflector{LookupComment: Of, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t.Kind() == reflect.Float64 {
			return Number()
		}
		return nil
	}}
	s := r.Reflect(&outer{})
	Define(s)
	p, _ := s.Definitions["outer"].Properties.Get("first")
	if p == nil || p.Description != "of several" || s.Definitions[strings.TrimPrefix(p.Ref, "#/$defs/")] == nil {
		t.Errorf("the member of the schema is %+v, want its description beside a reference to what is defined", p)
	}
}
