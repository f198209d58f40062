package iceberg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	iceberg "github.com/apache/iceberg-go"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Open implements connectors.SourceConfig.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	t, err := c.open(ctx)
	if err == nil && t == nil {
		err = errors.New("there is no such table")
	}
	var src connectors.Source
	if err == nil {
		src, err = c.read(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", c.name(), err)
	}
	return src, nil
}

// snapshotOf is the configured snapshot.
func (c *SourceConfig) snapshotOf(t *table) (*snapshot, error) {
	switch {
	case c.Snapshot != 0:
		if s := t.snapshot(c.Snapshot); s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("has no snapshot %d, or has it no more", c.Snapshot)
	case c.AsOf != "":
		when, err := time.Parse(time.RFC3339, c.AsOf)
		if err != nil {
			return nil, err
		}
		if s := t.at(when); s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("had no snapshot at %s, or has it no more", c.AsOf)
	}
	if s := t.current(); s != nil {
		return s, nil
	}
	return nil, errors.New("has no snapshot: nothing was written to it yet")
}

func (c *SourceConfig) read(ctx context.Context, t *table) (connectors.Source, error) {
	s, err := c.snapshotOf(t)
	if err != nil {
		return nil, err
	}
	schema := t.schema()
	if (c.Snapshot != 0 || c.AsOf != "") && s.Schema != nil { // what an earlier time is read with is the schema of that time
		if schema = t.schemaOf(*s.Schema); schema == nil {
			return nil, errors.New("the schema of the snapshot is not in the table's metadata")
		}
	}
	root, err := pathOf(t.Location)
	if err != nil {
		return nil, err
	}
	paths, err := dataFiles(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return emptyOf(schema, "table "+c.name(), root, s)
	}
	set, err := files.Listed(ctx, root, paths)
	if err != nil {
		return nil, err
	}
	var columns []parquet.Column
	for _, f := range schema.Fields() {
		if f.ID < 1 || f.ID > math.MaxInt32 {
			return nil, errors.New("a column's id is none")
		}
		columns = append(columns, parquet.Column{ID: int32(f.ID), Name: f.Name})
	}
	src, err := parquet.OpenTable(ctx, set, columns)
	if errors.Is(err, parquet.ErrEvolved) {
		err = fmt.Errorf("%w, and files of different columns are not read together: rewrite them (rewrite_data_files), or read an earlier snapshot", err)
	}
	if err != nil {
		return nil, err
	}
	if err := sameTypes(src, schema, len(t.Schemas) > 1); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &source{Files: parquet.FilesOf(src), root: root}, nil
}

// sameTypes holds the columns of the files against the table's.
func sameTypes(src connectors.Source, schema *iceberg.Schema, evolved bool) error {
	for i, f := range src.Schema().Fields {
		of := schema.Field(i)
		if _, nested := of.Type.(iceberg.NestedType); nested {
			if evolved {
				return fmt.Errorf("column %s consists of several, and the table's columns were changed: such columns are not followed", f.Name)
			}
			continue
		}
		want, err := arrowType(of.Type)
		if err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		if !alike(want, f.Type) {
			return fmt.Errorf("column %s is %s in the table and %s in its files: they were written when it had another type; rewrite them (rewrite_data_files)", f.Name, of.Type, f.Type)
		}
	}
	return nil
}

// dataFiles lists the paths of a snapshot's data files, by their locations' order. Deletes are refused: a file that is read without them has
// records that are no more.
func dataFiles(ctx context.Context, s *snapshot) ([]string, error) {
	entries, err := entriesOf(ctx, s)
	if err != nil {
		return nil, err
	}
	var locations []string
	for _, e := range entries {
		f := e.DataFile()
		if f.ContentType() != iceberg.EntryContentData {
			return nil, errors.New("the snapshot has records that were deleted by separate files (merge-on-read), which are not applied here; rewrite the data files first (rewrite_data_files with delete-file-threshold 1)")
		}
		if f.FileFormat() != iceberg.ParquetFile {
			return nil, fmt.Errorf("the snapshot has data files in %s, and only Parquet is read", f.FileFormat())
		}
		locations = append(locations, f.FilePath())
	}
	slices.Sort(locations)
	if n := len(locations); len(slices.Compact(slices.Clone(locations))) != n {
		return nil, errors.New("the snapshot has a data file twice")
	}
	var paths []string
	for _, l := range locations {
		p, err := pathOf(l)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// manifestsOf reads the list of a snapshot's manifests.
func manifestsOf(ctx context.Context, s *snapshot) ([]iceberg.ManifestFile, error) {
	if s.Manifests == "" {
		return nil, errors.New("the snapshot has no list of manifests, as early tables of version 1; rewrite its manifests (rewrite_manifests)")
	}
	text, err := readAll(ctx, s.Manifests, "the list of the snapshot's manifests")
	if err != nil {
		return nil, err
	}
	list, err := iceberg.ReadManifestList(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("the list of the snapshot's manifests is damaged")
	}
	return list, nil
}

// liveEntries reads the entries of a manifest, without those of files that were removed.
func liveEntries(ctx context.Context, m iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	text, err := readAll(ctx, m.FilePath(), "a manifest of the snapshot")
	if err != nil {
		return nil, err
	}
	entries, err := iceberg.ReadManifest(m, bytes.NewReader(text), true)
	if err != nil {
		return nil, errors.New("a manifest of the snapshot is damaged")
	}
	return entries, nil
}

// entriesOf reads the live entries of all manifests of a snapshot.
func entriesOf(ctx context.Context, s *snapshot) ([]iceberg.ManifestEntry, error) {
	manifests, err := manifestsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []iceberg.ManifestEntry
	for _, m := range manifests {
		entries, err := liveEntries(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// source is the data files of one snapshot.
type source struct {
	parquet.Files
	root string // the table's folder
}

// Abilities implements connectors.Source. The snapshot is what it is whatever becomes of the table; its files are watched as others are. A
// release takes the source's place wherever it would lie in the table: its metadata have values of the source (bounds, partitions), and so
// have its earlier snapshots.
func (s *source) Abilities() connectors.SourceAbilities {
	can := s.Files.Abilities()
	of := can.At
	can.At = func(path string) (bool, error) {
		if within(s.root, path) {
			return true, nil
		}
		return of(path)
	}
	can.Divisible = nil // shards find their files by a path
	can.PartitionKeys = func() []string { return nil }
	return can
}

// within reports whether a path lies in a folder, or is it.
func within(root, path string) bool {
	if objectpath.Is(root) || objectpath.Is(path) {
		root, path = strings.TrimRight(objectpath.Clean(root), "/"), strings.TrimRight(objectpath.Clean(path), "/")
		return root == path || strings.HasPrefix(path, root+"/")
	}
	rel, err := filepath.Rel(resolved(root), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for at, rest := abs, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
	}
}

// arrowType is the type in which a column of a table is read.
func arrowType(t iceberg.Type) (arrow.DataType, error) {
	switch t := t.(type) {
	case iceberg.BooleanType:
		return arrow.FixedWidthTypes.Boolean, nil
	case iceberg.Int32Type:
		return arrow.PrimitiveTypes.Int32, nil
	case iceberg.Int64Type:
		return arrow.PrimitiveTypes.Int64, nil
	case iceberg.Float32Type:
		return arrow.PrimitiveTypes.Float32, nil
	case iceberg.Float64Type:
		return arrow.PrimitiveTypes.Float64, nil
	case iceberg.DateType:
		return arrow.FixedWidthTypes.Date32, nil
	case iceberg.TimeType:
		return arrow.FixedWidthTypes.Time64us, nil
	case iceberg.TimestampType:
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	case iceberg.TimestampTzType:
		return arrow.FixedWidthTypes.Timestamp_us, nil
	case iceberg.StringType:
		return arrow.BinaryTypes.String, nil
	case iceberg.BinaryType:
		return arrow.BinaryTypes.Binary, nil
	case iceberg.UUIDType:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}, nil
	case iceberg.FixedType:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.Len()}, nil
	case iceberg.DecimalType:
		return &arrow.Decimal128Type{Precision: int32(t.Precision()), Scale: int32(t.Scale())}, nil
	}
	return nil, fmt.Errorf("is of type %s, which is not read", t)
}

// tableType is the type that a released column has in a table.
func tableType(t arrow.DataType) (iceberg.Type, error) {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return iceberg.PrimitiveTypes.Bool, nil
	case *arrow.Int32Type:
		return iceberg.PrimitiveTypes.Int32, nil
	case *arrow.Int64Type:
		return iceberg.PrimitiveTypes.Int64, nil
	case *arrow.Float32Type:
		return iceberg.PrimitiveTypes.Float32, nil
	case *arrow.Float64Type:
		return iceberg.PrimitiveTypes.Float64, nil
	case *arrow.Date32Type:
		return iceberg.PrimitiveTypes.Date, nil
	case *arrow.Time64Type:
		if t.Unit == arrow.Microsecond {
			return iceberg.PrimitiveTypes.Time, nil
		}
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond {
			if t.TimeZone == "" {
				return iceberg.PrimitiveTypes.Timestamp, nil
			}
			return iceberg.PrimitiveTypes.TimestampTz, nil
		}
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return iceberg.PrimitiveTypes.String, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return iceberg.PrimitiveTypes.Binary, nil
	case *arrow.FixedSizeBinaryType:
		return iceberg.FixedTypeOf(t.ByteWidth), nil
	case arrow.DecimalType:
		if p, s := t.GetPrecision(), t.GetScale(); p <= 38 && s >= 0 {
			return iceberg.DecimalTypeOf(int(p), int(s)), nil
		}
	case *arrow.DictionaryType:
		return tableType(t.ValueType)
	}
	return nil, fmt.Errorf("is of type %s, which a table of Iceberg does not have; withhold it (role: identifier), or read it as another type", t)
}

// alike reports whether two types are the same, decimals of any width included.
func alike(a, b arrow.DataType) bool {
	x, dx := a.(arrow.DecimalType)
	y, dy := b.(arrow.DecimalType)
	if dx && dy {
		return cmp.Compare(x.GetPrecision(), y.GetPrecision()) == 0 && x.GetScale() == y.GetScale()
	}
	return arrow.TypeEqual(a, b)
}
