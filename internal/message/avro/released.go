package avro

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	avro "github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// release describes how records of one schema are converted to records of the released
// one.
type release struct {
	header []byte // header with the released schema's number
	steps  []step
	absent []int // masked outputs, in Layout.Release, without a field in the released schema
}

// step copies consecutive fields, or writes a masked value.
type step struct {
	from, to int // fields of the source's record, if output is -1
	output   int // in Layout.Release
	target   target
}

// releaseOf returns the released form of a schema that messages were written with: the
// schema without the fields that are not released. If wide is true, every masked column
// has a field, with the latest schema's type and nullable.
func (s *splicer) releaseOf(ctx context.Context, w *written, wide bool) (*release, error) {
	root := *w.record.root
	rel, fields, puts := s.steps(w, wide)
	root.Fields = fields
	schema, err := root.Schema()
	if err != nil {
		return nil, fmt.Errorf("topic %s: the released form of schema %d is not valid: %w", s.topic, w.id, err)
	}
	rec, err := newRecord(schema)
	if err != nil {
		return nil, fmt.Errorf("topic %s: the released form of schema %d: %w", s.topic, w.id, err)
	}
	if err := s.unchanged(w, rec); err != nil {
		return nil, err
	}
	for _, p := range puts {
		rel.steps[p.step].target = newTarget(rec.node.fields[p.field].node)
	}
	id, err := s.client.Register(ctx, s.subject, registry.Schema{Type: registry.Avro, Text: schema.String()})
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", s.topic, err)
	}
	rel.header = registry.AppendHeader(nil, id)
	return rel, nil
}

// put is a step that writes a masked value, and its field in the released schema.
type put struct{ step, field int }

// steps returns the steps that copy fields and write masked values, and the fields of
// the resulting schema.
func (s *splicer) steps(w *written, wide bool) (rel *release, fields []avro.SchemaField, puts []put) {
	rel = &release{}
	left := make(map[int]bool) // outputs that the schema has
	for i, definition := range w.record.root.Fields {
		o := -1
		if k := w.column[i]; k >= 0 {
			o = s.outputs[k]
		}
		if o < 0 {
			continue
		}
		left[o] = true
		out := s.layout.Release[o]
		if !out.Masked {
			fields = append(fields, definition)
			if n := len(rel.steps); n > 0 && rel.steps[n-1].output < 0 && rel.steps[n-1].to == i {
				rel.steps[n-1].to++
			} else {
				rel.steps = append(rel.steps, step{from: i, to: i + 1, output: -1})
			}
			continue
		}
		value, _, _ := w.record.node.fields[i].node.value()
		if start := &s.reader.fields[out.Source]; wide || !arrow.TypeEqual(value.arrow, out.Field.Type) {
			definition = retyped(definition, start.definition, wide)
		}
		puts = append(puts, put{len(rel.steps), len(fields)})
		rel.steps = append(rel.steps, step{output: o})
		fields = append(fields, definition)
	}
	for o, out := range s.layout.Release {
		if !out.Masked || left[o] {
			continue
		}
		if !wide {
			rel.absent = append(rel.absent, o)
			continue
		}
		puts = append(puts, put{len(rel.steps), len(fields)})
		rel.steps = append(rel.steps, step{output: o})
		fields = append(fields, nullableField(s.reader.fields[out.Source].definition))
	}
	return rel, fields, puts
}

// unchanged returns an error unless the copied fields have the types that their bytes
// were written with: a schema can define only one of two types with the same name.
func (s *splicer) unchanged(w *written, rec *record) error {
	now := make(map[string]*node, len(rec.node.fields))
	for _, f := range rec.node.fields {
		now[f.name] = f.node
	}
	for i, f := range w.record.node.fields {
		k := w.column[i]
		if k < 0 || s.outputs[k] < 0 || s.layout.Release[s.outputs[k]].Masked {
			continue
		}
		if n := now[f.name]; n == nil || !same(f.node, n, map[[2]*node]bool{}) {
			return fmt.Errorf(
				"topic %s: field %s of schema %d cannot be released as it is: it holds records of the message's own type, with fields that are withheld or masked, or a type of the same name is defined differently in the latest schema", s.topic, f.name, w.id)
		}
	}
	return nil
}

// same reports whether values of two types are encoded in the same way.
func same(a, b *node, seen map[[2]*node]bool) bool {
	pair := [2]*node{a, b}
	if a == b || seen[pair] {
		return true
	}
	seen[pair] = true
	if a.kind != b.kind || a.size != b.size || !slices.Equal(a.symbols, b.symbols) || len(a.branches) != len(b.branches) ||
		len(a.fields) != len(b.fields) {
		return false
	}
	if a.elem != nil && !same(a.elem, b.elem, seen) {
		return false
	}
	for i := range a.branches {
		if !same(a.branches[i], b.branches[i], seen) {
			return false
		}
	}
	for i := range a.fields {
		if a.fields[i].name != b.fields[i].name || !same(a.fields[i].node, b.fields[i].node, seen) {
			return false
		}
	}
	return true
}

// retyped returns a masked field with the type of its column, if messages were written
// with another type, because a masked value has the column's type.
func retyped(f, start avro.SchemaField, wide bool) avro.SchemaField {
	f.Props = nil // these belong to the old type, for example a logical type
	if wide {
		wider := nullableField(start)
		f.Type, f.Default, f.HasDefault = wider.Type, nil, true
		return f
	}
	of := valueType(start.Type)
	if f.Type.Type != "union" {
		f.Type = of
	} else {
		branches := make([]avro.SchemaNode, len(f.Type.Branches))
		for i, b := range f.Type.Branches {
			if branches[i] = b; b.Type != "null" {
				branches[i] = of
			}
		}
		f.Type.Branches = branches
	}
	if f.HasDefault && f.Default != nil {
		f.Default, f.HasDefault = nil, false // a value of the old type
	}
	return f
}

// valueType returns a field's type without null.
func valueType(t avro.SchemaNode) avro.SchemaNode {
	if t.Type != "union" {
		return t
	}
	for _, b := range t.Branches {
		if b.Type != "null" {
			return b
		}
	}
	return t
}

// nullableField returns f with the type ["null", T] and default null.
func nullableField(f avro.SchemaField) avro.SchemaField {
	f.Type = avro.SchemaNode{Type: "union", Branches: []avro.SchemaNode{{Type: "null"}, valueType(f.Type)}}
	f.Default, f.HasDefault = nil, true
	return f
}
