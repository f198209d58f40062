package filter

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// batches is the source that a plan is made for: one stream, which comes once.
type batches struct {
	arrow  *arrow.Schema
	schema *microdata.Schema
}

func newBatches(schema *arrow.Schema) (*batches, error) {
	fields, err := arrowipc.FieldsOf("the batch", schema)
	if err != nil {
		return nil, err
	}
	return &batches{arrow: schema, schema: fields}, nil
}

func (s *batches) Schema() *microdata.Schema { return s.schema }
func (s *batches) Streams() []string         { return []string{"batches"} }
func (s *batches) Records() int64            { return -1 }
func (s *batches) Rewindable() bool          { return false }
func (s *batches) Close() error              { return nil }

// Abilities implements connectors.Source: batches cannot change, and are no files.
func (s *batches) Abilities() (none connectors.SourceAbilities) { return none }

func (s *batches) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return nil, errors.New("batches are not read again")
}

// same demands the schema of the first batch.
func (s *batches) same(schema *arrow.Schema) error {
	if schema == s.arrow || schema.NumFields() == s.arrow.NumFields() {
		equal := true
		for i, f := range s.arrow.Fields() {
			g := schema.Field(i)
			equal = equal && f.Name == g.Name && arrow.TypeEqual(f.Type, g.Type)
		}
		if equal {
			return nil
		}
	}
	return errors.New("the columns of the batch are not those of the first: all batches must have the same schema")
}

// released is the schema of what leaves.
func (s *batches) released(layout *microdata.Layout) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, o := range layout.Release {
		of := s.arrow.Field(o.Source)
		t := of.Type
		if o.Column >= 0 {
			t = arrowipc.PlainType(t)
		}
		if !arrow.TypeEqual(o.Field.Type, layout.Schema.Fields[o.Source].Type) { // a mask has made another of it
			t = o.Field.Type
		}
		if err := arrowipc.Supported(of.Type); err != nil {
			return nil, err
		}
		fields = append(fields, arrow.Field{Name: o.Field.Name, Type: t, Nullable: true})
	}
	return arrow.NewSchema(fields, nil), nil
}

// decode fills a block with what the plan reads of a batch; first is the number of its
// first record.
func (s *batches) decode(b *microdata.Block, rec arrow.RecordBatch, layout *microdata.Layout, first int64) {
	b.Reset(0, first, int(rec.NumRows()), len(layout.Read))
	for i, w := range layout.Read {
		a := arrowipc.Plain(rec.Column(w.Field))
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			if w.Measured {
				b.Columns[i].Original.Values[row] = arrowipc.Nearest(a, row)
				continue
			}
			b.Reject(row, layout.Schema.Fields[w.Field].Name, "holds a number that has more digits than masks compute with")
		}
	}
}

// encode makes the batch that leaves: masked columns anew, others out of the memory of
// the batch, without the rejected records.
func (s *batches) encode(b *microdata.Block, rec arrow.RecordBatch, layout *microdata.Layout, schema *arrow.Schema) (
	arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(layout.Release))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, o := range layout.Release {
		switch {
		case o.Column >= 0 && layout.Read[o.Column].As == microdata.Numbers:
			columns = append(columns, microdata.ToArray(b.Columns[o.Column].Out(), b.N, o.Field, b.Keep()))
			continue
		case o.Column >= 0:
			columns = append(columns, arrowipc.Exact(b.Columns[o.Column].OutArray(), b))
			continue
		}
		kept, err := keep(rec.Column(o.Source), b)
		if err != nil {
			return nil, errors.New("the records that are kept of a column cannot be put together")
		}
		columns = append(columns, kept)
	}
	return array.NewRecordBatch(schema, columns, int64(b.Kept())), nil
}

// keep is an array without the rejected records; who asks owns it.
func keep(a arrow.Array, b *microdata.Block) (arrow.Array, error) {
	if b.Whole() {
		a.Retain()
		return a, nil
	}
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for from := 0; from < b.N; {
		if b.Rejected(from) {
			from++
			continue
		}
		to := from
		for to < b.N && !b.Rejected(to) {
			to++
		}
		parts = append(parts, array.NewSlice(a, int64(from), int64(to)))
		from = to
	}
	if len(parts) == 0 {
		return array.NewSlice(a, 0, 0), nil
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}
