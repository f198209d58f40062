// Package shuffle releases records in a keyed order of its own, so that nothing of
// the source's order is left in the release.
//
// Records go to one of 256 temporary files by the first byte of a keyed number, and
// each of these is put in the order of the rest of the number when all have come. A
// file of more than 64 MiB is parted further, by the next byte, so that memory is
// bounded whatever the size of the release: 64 MiB of records with 40 bytes for each of
// them, and one block for the sink. Only records of the very same number, which a key
// gives to no two but by chance, could not be parted. They become one stream, whatever
// files the source had. Where a format's records are texts (CSV, JSON Lines), these are
// what is put in order, so that the spelling of the source is kept; of other formats all
// columns are decoded and written anew.
package shuffle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Ranks gives every record of a block the number that its place in the release
// goes by. It must be a function of the record and its place alone, and is called
// concurrently.
type Ranks func(dst []uint64, b *microdata.Block)

const (
	bucketBits = 8
	buckets    = 1 << bucketBits
	batchRows  = 16 << 10 // records that are given to the sink at a time
	mostBytes  = 64 << 20 // of a bucket that is put in order in memory
)

// sink hands its records to another one in the order of their ranks.
type sink struct {
	inner    connectors.Sink
	texts    connectors.Rearranged // inner, where its records are texts; otherwise nil
	layout   *microdata.Layout
	ranks    Ranks
	dir      string
	used     []int         // indexes in Block.Columns of what is released, each once
	schema   *arrow.Schema // the columns of used or the texts, then rank, stream and place
	most     int64         // bytes of a bucket that is put in order in memory
	level    level         // by the first byte of the ranks
	returned int64         // records that have been handed on
}

// Create prepares a shuffled release into a sink. The layout must decode every
// released column. Temporary files lie beside the release, of objects in the
// system's folder for such; they are readable by their
// owner alone and have no name.
func Create(ctx context.Context, to connectors.SinkConfig, plan connectors.Plan, ranks Ranks) (connectors.Sink, error) {
	s := &sink{layout: plan.Layout, ranks: ranks, dir: os.TempDir(), most: mostBytes}
	if paths := to.Paths(); to.Abilities().Description == "" && len(paths) > 0 && paths[0] != "stdout" &&
		!objectpath.Is(paths[0]) {
		s.dir = filepath.Dir(paths[0])
	}
	var err error
	if rearranged := to.Abilities().Rearranged; rearranged != nil {
		if s.texts, err = rearranged(ctx, plan); err != nil {
			return nil, err
		}
		s.inner, s.schema = s.texts, placed(arrow.Field{Name: "text", Type: arrow.BinaryTypes.Binary})
		return s, nil
	}
	if err := s.decoded(); err != nil {
		return nil, err
	}
	plan.Source = merged{plan.Source}
	if s.inner, err = to.Create(ctx, plan); err != nil {
		return nil, err
	}
	return s, nil
}

// placed is a schema of the given columns and of what gives records their places.
func placed(columns ...arrow.Field) *arrow.Schema {
	return arrow.NewSchema(append(columns, arrow.Field{Name: "rank", Type: arrow.PrimitiveTypes.Uint64},
		arrow.Field{Name: "stream", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "place", Type: arrow.PrimitiveTypes.Int64}), nil)
}

// decoded sets the columns of a release whose records are put in order as values.
func (s *sink) decoded() error {
	var fields []arrow.Field
	for _, out := range s.layout.Release {
		if out.Column < 0 {
			return fmt.Errorf("column %s is not decoded, and cannot be shuffled", out.Field.Name)
		}
		if slices.Contains(s.used, out.Column) {
			continue
		}
		s.used = append(s.used, out.Column)
		typ := out.Field.Type
		if s.layout.Read[out.Column].As == microdata.Numbers {
			typ = arrow.PrimitiveTypes.Float64
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprint(out.Column), Type: typ, Nullable: true})
	}
	s.schema = placed(fields...)
	return nil
}

// merged is a source whose records are one stream. Of what the source is able to do it
// says what a sink has to know.
type merged struct{ connectors.Source }

func (merged) Streams() []string { return []string{"shuffled"} }

// Abilities implements connectors.Source: the release is a folder, of one file, where the source's path is one.
func (m merged) Abilities() connectors.SourceAbilities {
	from := m.Source.Abilities()
	folder := func() bool { return connectors.Folder(m.Source) }
	return connectors.SourceAbilities{Folder: folder, At: from.At, JSONText: from.JSONText, Snapshot: from.Snapshot}
}

// Encode sorts the kept records of a block into batches, one a bucket.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	ranks := make([]uint64, b.N)
	s.ranks(ranks, b)
	columns, err := s.columns(b)
	if err != nil {
		return nil, err
	}
	rank := array.NewUint64Builder(memory.DefaultAllocator)
	stream, place := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	var rows [buckets][]int
	kept := 0
	for i, r := range ranks {
		row, rejected := i, b.Rejected(i)
		if s.texts != nil {
			if row = kept; rejected { // there is no text of it
				continue
			}
		}
		rank.Append(r)
		stream.Append(int64(b.Stream))
		place.Append(b.Place(i))
		if !rejected {
			k := r >> (64 - bucketBits)
			rows[k] = append(rows[k], row)
			kept++
		}
	}
	return s.batches(append(columns, rank.NewArray(), stream.NewArray(), place.NewArray()), rows[:])
}

// columns are what the records of a block are made of: their texts, or the used columns.
func (s *sink) columns(b *microdata.Block) ([]arrow.Array, error) {
	if s.texts != nil {
		encoded, err := s.texts.Encode(b)
		if err != nil {
			return nil, err
		}
		builder := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		builder.AppendValues(s.texts.Texts(nil, encoded), nil)
		return []arrow.Array{builder.NewArray()}, nil
	}
	columns := make([]arrow.Array, len(s.used), len(s.used)+3)
	for i, c := range s.used {
		var err error
		if columns[i], err = s.whole(b, c, s.schema.Field(i).Type); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// whole is a column of a block as it is released.
func (s *sink) whole(b *microdata.Block, c int, typ arrow.DataType) (arrow.Array, error) {
	col := &b.Columns[c]
	if s.layout.Read[c].As != microdata.Numbers {
		a := col.OutArray()
		if a == nil || a.Len() != b.N || !arrow.TypeEqual(a.DataType(), typ) {
			return nil, errors.New("a column does not have the type that its source declared, and cannot be shuffled")
		}
		return a, nil
	}
	out := col.Out()
	builder := array.NewFloat64Builder(memory.DefaultAllocator)
	builder.Reserve(b.N)
	for i, v := range out.Values {
		if out.Valid.Has(i) {
			builder.Append(v)
		} else {
			builder.AppendNull()
		}
	}
	return builder.NewArray(), nil
}

// take returns the values at the given rows, in their order. Rows that follow one
// another are one piece.
func take(rows []int, at func(row int) (arrow.Array, int)) (arrow.Array, error) {
	var pieces []arrow.Array
	for i := 0; i < len(rows); {
		a, first := at(rows[i])
		n := 1
		for i+n < len(rows) {
			if next, row := at(rows[i+n]); next != a || row != first+n {
				break
			}
			n++
		}
		pieces = append(pieces, array.NewSlice(a, int64(first), int64(first+n)))
		i += n
	}
	return array.Concatenate(pieces, memory.DefaultAllocator)
}

// Write appends batches to their files.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.write(&s.level, e.([]arrow.RecordBatch))
}

// Finish hands the records on, one bucket after another.
func (s *sink) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.pass(ctx, &s.level, 1); err != nil {
		return err
	}
	return s.inner.Finish(ctx)
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	to := s.inner.Abilities()
	return connectors.SinkAbilities{Content: to.Content, Labels: to.Labels}
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error { return s.inner.Commit() }

// Abort implements connectors.Sink.
func (s *sink) Abort() error { return errors.Join(s.level.close(), s.inner.Abort()) }
