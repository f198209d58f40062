package config

import (
	"fmt"
	"maps"
	"reflect"
	"sync"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/transform"
)

// KeyVariable is the customary name for key: {env: …}. It is never a setting.
const KeyVariable = "SDLFILTER_KEY"

// root is the form of a whole configuration.
var root = sync.OnceValue(func() *form.Form { return dialect().Of(reflect.TypeFor[Pipeline]()) })

// dialect is what a pipeline file says of its types beyond their tags.
var dialect = sync.OnceValue(func() *form.Dialect { return dialectWith(nil) })

// dialectWith has the types of another kind of configuration besides.
func dialectWith(others map[reflect.Type]func(*form.Dialect) []form.Member) *form.Dialect {
	records := maps.Clone(others)
	if records == nil {
		records = map[reflect.Type]func(*form.Dialect) []form.Member{}
	}
	records[reflect.TypeFor[Source]()] = sourceMembers
	records[reflect.TypeFor[Sink]()] = sinkMembers
	records[specType] = maskMembers
	return &form.Dialect{
		Begin:      "version: 1",
		Prefix:     "SDLFILTER_",
		NoSettings: []string{KeyVariable, objectpath.SSEVariable, objectpath.KMSVariable},
		Records:    records,
		Later: map[reflect.Type]map[string]string{
			reflect.TypeFor[Emit](): {"http": "it comes with a later one; use jsonl, log or kafka"}},
		NotAMapping: keptElsewhere,
		Synonyms:    synonyms,
		Written:     written,
	}
}

// keptElsewhere is for what must not be repeated where it was written itself.
var keptElsewhere = map[reflect.Type]string{
	reflect.TypeFor[Secret]():            "must be {file: PATH} or {env: NAME}: a key is never written into the configuration itself",
	reflect.TypeFor[connectors.Secret](): "must be {file: PATH} or {env: NAME}: a password is never written into the configuration itself",
}

// synonyms are the words of other tools and texts for those of a configuration.
var synonyms = map[string]string{
	"quasi-identifier": "key", "quasi identifier": "key", "quasi_identifier": "key", "quasiidentifier": "key",
	"quasi": "key", "qi": "key",
	"confidential": "sensitive", "target": "sensitive", "direct-identifier": "identifier",
	"direct identifier": "identifier",
	"direct_identifier": "identifier", "insensitive": "other", "non-sensitive": "other", "nonsensitive": "other",
	"not sensitive": "other",
}

// Schema is the JSON Schema (draft 2020-12) of a configuration file, for editors. It does not
// cover what --set and ${…} can do to a value, nor conditions across fields, which validate
// checks. config/sdlfilter.schema.json is this.
func Schema() ([]byte, error) {
	return dialect().Schema(root(), "sdlfilter pipeline",
		"Configuration of the statistical disclosure limitation filter sdlfilter.")
}

// written gives the types that are written otherwise than their Go kind.
func written(owner, t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[transform.Amount]():
		amount := &jsonschema.Schema{Type: "number", Minimum: "0"}
		if owner == reflect.TypeFor[Axis]() {
			amount.Minimum = "" // not every parameter is at least 0
		}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			amount,
			{Type: "string", Pattern: `^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%?\s*$`},
		}}
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`}
	case reflect.TypeFor[connectors.Size]():
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
	return nil
}

var specType = reflect.TypeFor[transform.Spec]()

// maskMembers gives an entry of masks: one kind with its parameters, and a name
// that may stand beside the kind or among the parameters.
func maskMembers(d *form.Dialect) []form.Member {
	name := form.Member{
		Name: "name", Doc: "the mask's name, for messages and the map; the mask's random draws depend on it",
		Form: d.Of(reflect.TypeFor[string]()),
		Bind: func(spec reflect.Value) reflect.Value { return spec.FieldByName("Name") },
		Peek: func(spec reflect.Value) (reflect.Value, bool) {
			v := spec.FieldByName("Name")
			return v, !v.IsZero()
		},
	}
	members := []form.Member{name}
	for _, k := range transform.Kinds() {
		params := reflect.TypeOf(k.New()).Elem()
		within := name
		within.Peek = func(reflect.Value) (reflect.Value, bool) { return reflect.Value{}, false } // written beside the kind
		f := form.OfMembers(params, within)
		for _, m := range d.Fields(params) {
			// Masks mask columns: Params.Check demands them, and so does the schema.
			m.Required = m.Name == transform.ColumnsField(k.New())
			f.Members = append(f.Members, m.Within(func(spec reflect.Value) reflect.Value {
				return spec.FieldByName("Params").Elem().Elem()
			}))
		}
		members = append(members, form.Member{
			Name: k.Name, Doc: k.Doc, Choice: true, Form: f,
			Bind: func(spec reflect.Value) reflect.Value {
				spec.FieldByName("Params").Set(reflect.ValueOf(k.New()))
				return spec
			},
			Peek: func(spec reflect.Value) (reflect.Value, bool) {
				p := spec.FieldByName("Params")
				return spec, !p.IsNil() && p.Elem().Type().Elem() == params
			},
		})
	}
	return members
}

// tableMembers gives a source or a sink: one entry of its table. The owner has
// the fields Kind and Config.
func tableMembers(d *form.Dialect, n int, entry func(i int) (name, doc string, fresh func() any)) []form.Member {
	members := make([]form.Member, n)
	for i := range members {
		name, doc, fresh := entry(i)
		t := reflect.TypeOf(fresh())
		if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			panic(fmt.Sprintf("config: table entry %s gives a %s, not a pointer to a struct", name, t))
		}
		members[i] = form.Member{
			Name: name, Doc: doc, Choice: true, Form: d.Of(t),
			Bind: func(owner reflect.Value) reflect.Value {
				config := reflect.ValueOf(fresh())
				owner.FieldByName("Kind").SetString(name)
				owner.FieldByName("Config").Set(config)
				return config.Elem()
			},
			Peek: func(owner reflect.Value) (reflect.Value, bool) {
				if owner.FieldByName("Kind").String() != name {
					return reflect.Value{}, false
				}
				return owner.FieldByName("Config").Elem().Elem(), true
			},
		}
	}
	return members
}
