package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/microdata"
)

var defaultAllocator = memory.DefaultAllocator

// The ids of the columns of files that delete by position, which the specification reserves.
const (
	deletedPathID = 2147483546
	deletedPosID  = 2147483545
)

// applied finds the deleted rows of all data files.
func (c *composedOf) applied(ctx context.Context, s *composed) error {
	if len(c.deletes) == 0 {
		return nil
	}
	at := map[string]int{}
	for i, e := range c.data {
		at[normal(e.File.Path)] = i
	}
	for _, e := range c.deletes {
		var err error
		switch e.File.Content {
		case meta.DeletesPositions:
			err = c.byPosition(ctx, e, s, at)
		case meta.DeletesValues:
			err = c.byValues(ctx, e, s)
		default:
			err = errors.New("is of a kind that is not known")
		}
		if err != nil {
			return fmt.Errorf("a file of deleted records: %w", err)
		}
	}
	for _, p := range s.parts {
		slices.Sort(p.gone)
		p.gone = slices.Compact(p.gone)
	}
	return nil
}

// normal is a location of which there are several forms (file:/a, file:///a): a delete that is not recognised would
// release a record that is no more.
func normal(location string) string {
	if p, err := pathOf(location); err == nil {
		return p
	}
	return location
}

// byPosition marks the rows that a file lists: by the location of their data file and their place in it. It is of files
// that are as old as it or older.
func (c *composedOf) byPosition(ctx context.Context, e meta.Entry, s *composed, at map[string]int) error {
	return c.each(ctx, e, []parquet.Column{{ID: deletedPathID, Name: "file_path"}, {ID: deletedPosID, Name: "pos"}}, nil,
		func(columns []arrow.Array, row int) error {
			paths, ok1 := columns[0].(*array.String)
			places, ok2 := columns[1].(*array.Int64)
			if !ok1 || !ok2 || paths.IsNull(row) || places.IsNull(row) {
				return errors.New("is not what the format's specification says")
			}
			i, known := at[normal(paths.Value(row))]
			if !known || c.data[i].Sequence > e.Sequence {
				return nil // of a file that is no more, or was written later under the same name
			}
			if n := places.Value(row); n < 0 || n >= s.parts[i].rows {
				return errors.New("deletes a record that its data file does not have")
			}
			s.parts[i].gone = append(s.parts[i].gone, places.Value(row))
			return nil
		})
}

// byValues marks the rows that have the values of one of a file's records in its columns, in data files of its
// partition that are older than it.
func (c *composedOf) byValues(ctx context.Context, e meta.Entry, s *composed) error {
	f := &e.File
	var columns []parquet.Column
	var types []arrow.DataType
	var names []string
	for _, id := range f.Equality {
		field, ok := c.schema.ByID(id)
		if !ok {
			return errors.New("deletes by a column that the table has no more")
		}
		if field.Type == meta.Float || field.Type == meta.Double || field.Type.Nested() {
			return fmt.Errorf("deletes by the values of %s, which is %s: what is equal there is not defined", field.Name,
				field.Type)
		}
		at := s.schema.Index(field.Name)
		if at < 0 {
			return errors.New("deletes by a column within another one")
		}
		types = append(types, s.schema.Fields[at].Type)
		columns, names = append(columns, parquet.Column{ID: int32(id), Name: field.Name}), append(names, field.Name)
	}
	if len(columns) == 0 {
		return errors.New("says of no column that it deletes by its values")
	}
	listed := map[string]bool{}
	if err := c.each(ctx, e, columns, types, func(columns []arrow.Array, row int) error {
		listed[rowKey(columns, row)] = true
		return nil
	}); err != nil {
		return err
	}
	spec := c.specOf(f.Spec)
	if spec == nil {
		return errors.New("is of a partitioning that the table's metadata do not have")
	}
	for i, p := range s.parts {
		of := c.data[i]
		if of.Sequence >= e.Sequence {
			continue
		}
		if !spec.Unpartitioned() && (of.File.Spec != f.Spec || spec.Key(of.File.Partition) != spec.Key(f.Partition)) {
			continue
		}
		if err := p.matching(ctx, s.schema, names, listed); err != nil {
			return err
		}
	}
	return nil
}

func (c *composedOf) specOf(id int) *meta.PartitionSpec {
	for i := range c.table.Specs {
		if c.table.Specs[i].ID == id {
			return &c.table.Specs[i]
		}
	}
	return nil
}

// matching marks the rows of a data file whose values are listed.
func (p *part) matching(ctx context.Context, schema *microdata.Schema, names []string, listed map[string]bool) error {
	layout := &microdata.Layout{Schema: p.source.Schema()}
	for _, name := range names {
		if at := p.columns[schema.Index(name)]; at >= 0 {
			layout.Read = append(layout.Read, microdata.Want{Field: at, As: microdata.Array})
		}
	}
	return eachRow(ctx, p.source, layout, func(found []arrow.Array, n int, first int64) error {
		columns := make([]arrow.Array, len(names))
		k := 0
		for i, name := range names {
			if p.columns[schema.Index(name)] >= 0 {
				columns[i] = found[k]
				k++
			} // nil: all are null
		}
		for row := range n {
			if listed[rowKey(columns, row)] {
				p.gone = append(p.gone, first+int64(row))
			}
		}
		return nil
	})
}

// rowKey tells the values of records apart. A value has one text whichever type of those that promote to one another it
// has.
func rowKey(columns []arrow.Array, row int) string {
	var key strings.Builder
	for _, a := range columns {
		if a == nil || a.IsNull(row) {
			key.WriteString("-;")
			continue
		}
		text := a.ValueStr(row)
		fmt.Fprintf(&key, "%d:%s;", len(text), text)
	}
	return key.String()
}

// each reads the records of a file of deleted ones. Its columns must have the types of the table's, if these are given:
// values of other types have other texts, and a record that is deleted by them would be there again.
func (c *composedOf) each(ctx context.Context, e meta.Entry, columns []parquet.Column, types []arrow.DataType,
	take func(columns []arrow.Array, row int) error) error {
	set, err := listed(ctx, c.root, []meta.Entry{e})
	if err != nil {
		return err
	}
	src, err := parquet.OpenTable(ctx, set, columns)
	if err != nil {
		return err
	}
	defer src.Close()
	if n := e.File.Records; src.Records() != n {
		return errors.New("has another number of records than the table's metadata say")
	}
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, want := range types {
		if f := src.Schema().Fields[i]; !alike(want, f.Type) && !promotes(f.Type, want) {
			return fmt.Errorf("column %s is %s in the file and %s in the table", f.Name, f.Type, want)
		}
	}
	for i := range columns {
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
	}
	return eachRow(ctx, src, layout, func(columns []arrow.Array, n int, _ int64) error {
		for row := range n {
			if err := take(columns, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachRow reads a file block by block.
func eachRow(ctx context.Context, src connectors.Source, layout *microdata.Layout,
	take func(columns []arrow.Array, n int, first int64) error) error {
	pass, err := src.Read(ctx, layout, connectors.Cut{})
	if err != nil {
		return err
	}
	defer pass.Close()
	for {
		raw, err := pass.Next(ctx)
		if err == io.EOF {
			return nil
		}
		var b microdata.Block
		if err == nil {
			err = raw.Decode(&b)
		}
		if err == nil && len(b.Rejects) > 0 {
			err = errors.New("has values that cannot be read")
		}
		if err != nil {
			return err
		}
		columns := make([]arrow.Array, len(b.Columns))
		for i := range columns {
			columns[i] = b.Columns[i].Array
		}
		if err := take(columns, b.N, b.First); err != nil {
			return err
		}
	}
}
