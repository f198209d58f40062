package protobuf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// schema is a compiled schema of the registry.
type schema struct {
	registry.Schema
	file protoreflect.FileDescriptor
	refs map[string]registry.Resolved // by import path
}

// mainFile is the name under which a schema is compiled; no import has it.
const mainFile = "sdlfilter-schema.proto"

// builtin holds the imports that registries accept without a reference, besides those
// of google/protobuf, which the compiler has.
var builtin = map[string]string{
	"confluent/meta.proto": `syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
`,
	"confluent/type/decimal.proto": `syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
`,
}

// errSchema reports that a schema is not of this format. It is final for this schema,
// and not an error of the registry.
type errSchema struct{ text string }

func (e *errSchema) Error() string { return e.text }

func unusable(format string, args ...any) error { return &errSchema{fmt.Sprintf(format, args...)} }

// compile compiles a schema of the registry. The error is an *errSchema or that of the
// registry.
func compile(ctx context.Context, client *registry.Client, s registry.Schema) (*schema, error) {
	if s.Type != registry.Protobuf {
		return nil, unusable("schema %d is of type %s, and not %s", s.ID, s.Type, registry.Protobuf)
	}
	resolved, err := client.Resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &schema{Schema: s, refs: map[string]registry.Resolved{}}
	for _, r := range resolved {
		out.refs[r.Name] = r
	}
	out.file, err = compileText(ctx, s.Text, func(path string) (string, bool) {
		r, ok := out.refs[path]
		return r.Text, ok
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unusable("schema %d cannot be compiled: %v", s.ID, err)
	}
	return out, nil
}

// compileText compiles a schema's text.
func compileText(ctx context.Context, text string, imported func(path string) (string, bool)) (
	file protoreflect.FileDescriptor, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("the compiler failed")
		}
	}()
	c := protocompile.Compiler{
		MaxParallelism: 1,
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) {
				t, ok := text, path == mainFile
				if !ok {
					t, ok = imported(path)
				}
				if !ok {
					t, ok = builtin[path]
				}
				if !ok {
					return nil, errors.New("there is no reference of this name")
				}
				return io.NopCloser(strings.NewReader(t)), nil
			}}),
	}
	files, err := c.Compile(ctx, mainFile)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// maxNesting is the greatest nesting depth of message types.
const maxNesting = 32

// messageAt returns the message type with the indexes of a header, nil if there is
// none.
func messageAt(file protoreflect.FileDescriptor, indexes []int) protoreflect.MessageDescriptor {
	var m protoreflect.MessageDescriptor
	in := file.Messages()
	for _, i := range indexes {
		if i >= in.Len() {
			return nil
		}
		m = in.Get(i)
		in = m.Messages()
	}
	return m
}

// indexesOf returns the indexes of a message type in its file.
func indexesOf(m protoreflect.MessageDescriptor) []int {
	var out []int
	for d := protoreflect.Descriptor(m); ; d = d.Parent() {
		if _, ok := d.(protoreflect.MessageDescriptor); !ok {
			return out
		}
		out = append([]int{d.Index()}, out...)
	}
}

// findMessage returns a message type by its full name, or the first one if the name is
// "".
func findMessage(file protoreflect.FileDescriptor, name string) (protoreflect.MessageDescriptor, error) {
	if name == "" {
		if file.Messages().Len() == 0 {
			return nil, errors.New("it has no message type")
		}
		return file.Messages().Get(0), nil
	}
	var find func(protoreflect.MessageDescriptors) protoreflect.MessageDescriptor
	find = func(in protoreflect.MessageDescriptors) protoreflect.MessageDescriptor {
		for i := range in.Len() {
			m := in.Get(i)
			if string(m.FullName()) == name {
				return m
			}
			if m := find(m.Messages()); m != nil {
				return m
			}
		}
		return nil
	}
	if m := find(file.Messages()); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("it has no message type %s", name)
}
