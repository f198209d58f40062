package avro

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	avro "github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader holds the columns, and the matching of the fields of each schema that messages
// were written with.
type reader struct {
	client       *registry.Client
	dropUnlisted bool
	schema       microdata.Schema
	fields       []startField
	listed       []bool // by column
	columns      map[string]int
	aliases      map[string]int
	latest       []*written // of the topics, without repetition
	subjects     []string   // of the topics

	known sync.Map // schema number → *written, or the *schemaError with the reason why it is not usable
}

// startField is the definition of a column in the schemas at the start.
type startField struct {
	definition avro.SchemaField
	node       *node
	cyclic     bool
}

// written is a schema that messages were written with.
type written struct {
	id       uint32
	record   *record
	column   []int // by field; -1: not listed
	field    []int // by column; -1: the schema has no such field
	unlisted []string
}

// newReader determines the columns of the topics.
func newReader(ctx context.Context, req message.Request) (*reader, error) {
	r := &reader{client: req.Registry, dropUnlisted: req.DropUnlisted, columns: map[string]int{},
		aliases: map[string]int{}}
	listed := make(map[string]bool, len(req.Columns))
	for _, c := range req.Columns {
		listed[c.Name] = true
	}
	var ids []uint32
	var records []*record
	for i, topic := range req.Topics {
		subject := r.client.Subject(topic)
		r.subjects = append(r.subjects, subject)
		s, err := r.client.Latest(ctx, subject)
		if registry.IsNotFound(err) {
			return nil, fmt.Errorf("topic %s: subject %s, which must hold its schema, does not exist in the registry", topic,
				subject)
		}
		if err != nil {
			return nil, fmt.Errorf("topic %s: %w", topic, err)
		}
		rec, err := parse(ctx, r.client, s)
		if err != nil {
			return nil, fmt.Errorf("topic %s, subject %s: %w", topic, subject, err)
		}
		if err := r.add(topic, rec, i == 0); err != nil {
			return nil, err
		}
		ids, records = append(ids, s.ID), append(records, rec)
	}
	for _, f := range r.fields {
		i := r.columns[f.definition.Name]
		r.listed = append(r.listed, listed[f.definition.Name])
		for _, alias := range f.definition.Aliases {
			if other, taken := r.aliases[alias]; taken && other != i {
				i = -1 // two columns have this alias, so it is used for neither
			}
			r.aliases[alias] = i
			i = r.columns[f.definition.Name]
		}
	}
	for i, id := range ids {
		w := r.match(id, records[i])
		if _, seen := r.known.LoadOrStore(id, w); !seen {
			r.latest = append(r.latest, w)
		}
	}
	return r, nil
}

// add adds the fields of a topic's latest schema.
func (r *reader) add(topic string, rec *record, first bool) error {
	here := make(map[int]bool)
	for i, f := range rec.node.fields {
		value, _, _ := f.node.value()
		nullable := f.node.nullable()
		k, known := r.columns[f.name]
		if !known {
			k = len(r.fields)
			r.columns[f.name] = k
			r.fields = append(r.fields, startField{definition: rec.root.Fields[i], node: f.node, cyclic: value.cyclic()})
			r.schema.Fields = append(r.schema.Fields,
				microdata.Field{Name: f.name, Type: value.arrow, Nullable: nullable || !first})
		} else {
			have := &r.schema.Fields[k]
			if !arrow.TypeEqual(have.Type, value.arrow) {
				return fmt.Errorf(
					"topic %s: field %s has type %s, and in the topics before it %s; topics that are read together must agree", topic,
					f.name, value.arrow, have.Type)
			}
			have.Nullable = have.Nullable || nullable
		}
		here[k] = true
	}
	for k := range r.fields {
		if !here[k] {
			r.schema.Fields[k].Nullable = true
		}
	}
	return nil
}

// match matches the fields of a schema to the columns.
func (r *reader) match(id uint32, rec *record) *written {
	w := &written{id: id, record: rec, column: make([]int, len(rec.node.fields)), field: make([]int, len(r.fields))}
	for k := range w.field {
		w.field[k] = -1
	}
	for i, f := range rec.node.fields {
		w.column[i] = -1
		if k, ok := r.columns[f.name]; ok {
			w.column[i], w.field[k] = k, i
		}
	}
	for i, f := range rec.node.fields {
		// A field with an earlier name, if the schema has none with the present name.
		if k, ok := r.aliases[f.name]; ok && w.column[i] < 0 && k >= 0 && w.field[k] < 0 {
			w.column[i], w.field[k] = k, i
		}
	}
	for i := range rec.node.fields {
		if k := w.column[i]; k < 0 || !r.listed[k] {
			w.unlisted = append(w.unlisted, fmt.Sprintf("field %d", i+1))
		}
	}
	return w
}

// Schema implements message.Reader.
func (r *reader) Schema() *microdata.Schema { return &r.schema }

// lookup returns the schema of a number. A *schemaError means that messages of this
// schema are malformed; any other error that the registry does not answer.
func (r *reader) lookup(ctx context.Context, id uint32) (*written, error) {
	if known, ok := r.known.Load(id); ok {
		if w, ok := known.(*written); ok {
			return w, nil
		}
		return nil, known.(*schemaError)
	}
	s, err := r.client.ByID(ctx, id)
	if registry.IsNotFound(err) {
		return nil, errUnknown // not cached: the registry may get this schema later
	}
	if err != nil {
		return nil, err
	}
	rec, err := parse(ctx, r.client, s)
	var bad *schemaError
	if errors.As(err, &bad) {
		r.known.Store(id, bad)
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	known, _ := r.known.LoadOrStore(id, r.match(id, rec))
	return known.(*written), nil
}

var errUnknown = &schemaError{"the registry has no schema of the number in its frame"}
