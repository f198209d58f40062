package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostPartitions bounds how many partitions a release has: the file of each is open until the end.
const mostPartitions = 1000

// mostPending bounds approximately how many bytes of all files are in memory.
const mostPending = 256 << 20

// partitioned writes a file for each partition of the released values.
type partitioned struct {
	sink    *sink
	content *parquet.Content
	columns []partColumn
	files   map[string]*partFile
	order   []*partFile // as their first records came
	closing *partFile   // whose end is being written
}

// partColumn is a field of the partitions.
type partColumn struct {
	field  meta.PartitionField
	of     meta.Type // of its column
	output microdata.Output
	form   microdata.Form
}

// partFile is the file of one partition.
type partFile struct {
	name   string
	values map[int]any // by the partition fields' ids
	file   publish.Part
	out    *parquet.Output
}

func (s *sink) partition(files *parquet.SinkConfig, ids map[string]int32, layout *microdata.Layout) (writer, error) {
	p := &partitioned{sink: s, files: map[string]*partFile{}}
	for _, f := range s.spec.Fields {
		if f.Source == 0 {
			return nil, fmt.Errorf("partition field %s: is made of several columns, which is not written", f.Name)
		}
		if f.Transform == meta.Void {
			return nil, fmt.Errorf("partition field %s: is no more in use (void), which is not written", f.Name)
		}
		of, _ := s.schema.ByID(f.Source)
		c := partColumn{field: f, of: of.Type}
		for _, o := range layout.Release {
			if int(ids[o.Field.Name]) == f.Source {
				c.output, c.form = o, layout.Read[o.Column].As
			}
		}
		if c.output.Field.Name == "" {
			return nil, fmt.Errorf("partition field %s: is of none of the columns", f.Name)
		}
		p.columns = append(p.columns, c)
	}
	within := files.Within(&parquet.Table{IDs: ids, Written: func(w parquet.Written) {
		w.Name = p.closing.name
		s.add(w, p.closing.values)
	}})
	var err error
	p.content, err = within.Content(layout)
	return p, err
}

// piece is the part of a block that goes into one partition.
type piece struct {
	key     string
	values  map[int]any
	encoded connectors.Encoded
}

// Encode implements writer.
func (p *partitioned) Encode(b *microdata.Block) (connectors.Encoded, error) {
	arrays := make([]arrow.Array, len(p.columns))
	for i, c := range p.columns {
		column := &b.Columns[c.output.Column]
		if arrays[i] = column.OutArray(); c.form == microdata.Numbers {
			arrays[i] = microdata.ToArray(column.Out(), b.N, c.output.Field, nil)
		}
	}
	var pieces []*piece
	at := map[string]int{}
	of := make([]int, b.N)
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		values := map[int]any{}
		for i, c := range p.columns {
			v, err := c.field.Transform.Apply(valueOf(arrays[i], row), c.of)
			if err != nil {
				return nil, &connectors.RecordError{Stream: p.sink.label, Record: b.Place(row) + 1, Column: c.output.Field.Name,
					Reason: err.Error()}
			}
			values[c.field.ID] = v
		}
		key := p.sink.spec.Key(values)
		if _, known := at[key]; !known {
			at[key] = len(pieces)
			pieces = append(pieces, &piece{key: key, values: values})
		}
		of[row] = at[key]
	}
	var part microdata.Block
	for i, one := range pieces {
		b.Part(&part, 0, b.N)
		for row := range b.N {
			if of[row] != i {
				part.LeaveOut(row)
			}
		}
		var err error
		if one.encoded, err = p.content.Encode(&part); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// Write implements writer.
func (p *partitioned) Write(ctx context.Context, e connectors.Encoded) error {
	for _, one := range e.([]*piece) {
		f := p.files[one.key]
		if f == nil {
			if len(p.order) == mostPartitions {
				return fmt.Errorf("the release has more than %d partitions", mostPartitions)
			}
			f = &partFile{name: fmt.Sprintf("part-%05d.parquet", len(p.order)), values: one.values}
			var err error
			if f.file, err = p.sink.run.dir.Create(f.name); err != nil {
				return err
			}
			p.files[one.key], p.order = f, append(p.order, f)
			if f.out, err = p.content.Begin(f.file); err != nil {
				return err
			}
		}
		if err := f.out.Append(ctx, one.encoded); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// flush writes the files that have the most in memory, until all together have little.
func (p *partitioned) flush(ctx context.Context) error {
	for {
		total, most := int64(0), p.order
		for i, f := range p.order {
			total += f.out.Pending()
			if f.out.Pending() > most[0].out.Pending() {
				most = p.order[i:]
			}
		}
		if total <= mostPending {
			return nil
		}
		if err := most[0].out.Flush(ctx); err != nil {
			return err
		}
	}
}

// Finish implements writer.
func (p *partitioned) Finish(ctx context.Context) error {
	for _, f := range p.order {
		p.closing = f
		if err := f.out.Finish(ctx); err != nil {
			return err
		}
		if err := p.sink.run.dir.Settle(f.file); err != nil {
			return err
		}
		f.file = nil
	}
	return p.sink.run.dir.Settled()
}

// Abort implements writer.
func (p *partitioned) Abort() error {
	var errs []error
	for _, f := range p.order {
		if f.file != nil {
			errs = append(errs, f.file.Close())
			f.file = nil
		}
	}
	return errors.Join(errs...)
}

// valueOf is a value for partitions, nil for null, and an empty struct, which is none, for a type by which nothing is
// partitioned.
func valueOf(a arrow.Array, row int) any {
	if a.IsNull(row) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(row)
	case *array.Int32:
		return a.Value(row)
	case *array.Int64:
		return a.Value(row)
	case *array.Date32:
		return int32(a.Value(row))
	case *array.Timestamp:
		return int64(a.Value(row))
	case *array.String:
		return a.Value(row)
	case *array.LargeString:
		return a.Value(row)
	case *array.StringView:
		return a.Value(row)
	}
	return struct{}{}
}
