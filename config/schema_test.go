package config

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

const schemaFile = "sdlfilter.schema.json"

func TestSchemaIsCurrent(t *testing.T) { checkCurrent(t, schemaFile, Schema) }

// checkCurrent compares a schema in the repository with the one generated from the types.
func checkCurrent(t *testing.T, file string, schema func() ([]byte, error)) {
	t.Helper()
	want, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the schema of the types; run go test ./config -update", file)
	}
}

func compiled(t *testing.T) *jsonschema.Schema { return compile(t, schemaFile, Schema) }

// compile makes a validator from a schema generated from the types.
func compile(t *testing.T, file string, schema func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(file, document); err != nil {
		t.Fatal(err)
	}
	validator, err := compiler.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return validator
}

func instance(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	plainTimes(&n)
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// plainTimes converts times to text, as in YAML 1.2 and in editors.
func plainTimes(n *yaml.Node) {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		plainTimes(c)
	}
}

func TestGoodFilesFitTheSchema(t *testing.T) {
	schema := compiled(t)
	for _, name := range append(corpus(t, "testdata/*.good.yaml"), corpus(t, "../examples/*/pipeline.yaml")...) {
		if err := schema.Validate(instance(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An editor with the schema reports the same structural errors of a file.
func TestMisshapenFilesDoNotFitTheSchema(t *testing.T) {
	schema := compiled(t)
	for _, name := range []string{
		"unknown-field", "unknown-section", "misspelt-required", "misspelt-column-field", "misspelt-mask",
		"misspelt-parameter",
		"misspelt-source", "misspelt-connector-field", "missing-everything", "missing-role", "missing-version",
		"version-text",
		"list-for-scalar", "scalar-for-list", "scalar-for-mapping", "mapping-for-list", "list-for-mapping", "number-for-text",
		"text-for-number", "fraction-for-whole", "amount", "duration", "sample", "role", "unlisted", "key-inline",
		"key-twice",
		"key-empty", "key-inline-field", "kafka-until", "kafka-delivery", "kafka-password-inline", "kafka-two-formats",
		"kafka-format-word", "kafka-no-brokers", "emit-http", "map-axes", "map-strategies", "intruder-words",
		"intruder-prior-numbers", "two-sources", "no-source", "two-masks-in-one", "quarantine-nowhere", "many",
	} {
		if err := schema.Validate(instance(t, "testdata/"+name+".bad.yaml")); err == nil {
			t.Errorf("%s.bad.yaml must not fit the schema", name)
		}
	}
}

// Descriptions are shown by editors: every field has one.
func TestEveryFieldIsDescribed(t *testing.T) {
	var walk func(f *form.Form, path string)
	walk = func(f *form.Form, path string) {
		for _, m := range f.Members {
			if m.Doc == "" {
				t.Errorf("%s has no description", form.Join(path, m.Name))
			}
			walk(m.Form, form.Join(path, m.Name))
		}
		if f.Elem != nil {
			walk(f.Elem, path+"[]")
		}
	}
	walk(root(), "")
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "the columns that may be released") {
		t.Error("descriptions must be in the schema")
	}
}
