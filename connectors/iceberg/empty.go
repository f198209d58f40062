package iceberg

import (
	"context"
	"io"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// empty is a snapshot without records.
type empty struct {
	schema *microdata.Schema
	label  string
	root   string
	since  time.Time
}

func emptyOf(schema *meta.Schema, label, root string, s *snapshot) (*empty, error) {
	e := &empty{schema: &microdata.Schema{}, label: label, root: root, since: time.UnixMilli(s.Timestamp)}
	for _, f := range schema.Fields {
		t, err := arrowType(f.Type)
		if err != nil {
			return nil, err
		}
		e.schema.Fields = append(e.schema.Fields, microdata.Field{Name: f.Name, Type: t, Nullable: !f.Required})
	}
	return e, nil
}

func (e *empty) Schema() *microdata.Schema { return e.schema }
func (e *empty) Streams() []string         { return []string{e.label} }
func (e *empty) Records() int64            { return 0 }
func (e *empty) Rewindable() bool          { return true }
func (e *empty) Close() error              { return nil }

func (e *empty) Read(ctx context.Context, _ *microdata.Layout, _ connectors.Cut) (connectors.Reader, error) {
	return e, ctx.Err()
}

// Next implements connectors.Reader.
func (e *empty) Next(context.Context) (connectors.Raw, error) { return nil, io.EOF }

// Abilities implements connectors.Source.
func (e *empty) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{
		Unchanged: func() error { return nil }, Changed: func() time.Time { return e.since },
		At:            func(path string) (bool, error) { return within(e.root, path), nil },
		PartitionKeys: func() []string { return nil }, Folder: func() bool { return true },
	}
}
