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
	data, deletes, err := filesOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return emptyOf(schema, "table "+c.name(), root, s)
	}
	set, err := listed(ctx, root, data)
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
	composed := &composedOf{table: t, schema: schema, root: root, set: set, data: data, deletes: deletes}
	if len(deletes) > 0 {
		return composed.open(ctx)
	}
	src, err := parquet.OpenTable(ctx, set, columns)
	if errors.Is(err, parquet.ErrEvolved) {
		return composed.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	if n := rowsOf(data); src.Records() != n {
		return nil, errors.Join(errors.New("the data files have another number of records than the table's metadata say"), src.Close())
	}
	same, err := sameTypes(src, schema, len(t.Schemas) > 1)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	if !same {
		return composed.open(ctx)
	}
	return &source{Files: parquet.FilesOf(src), root: root}, nil
}

// sameTypes reports whether the columns of the files have the table's types. Whether those of a column that consists of several are the same is
// not looked at where the table's columns were never changed.
func sameTypes(src connectors.Source, schema *iceberg.Schema, evolved bool) (bool, error) {
	same := true
	for i, f := range src.Schema().Fields {
		of := schema.Field(i)
		if _, nested := of.Type.(iceberg.NestedType); nested {
			if evolved {
				return false, fmt.Errorf("column %s consists of several, and the table's columns were changed: such columns are not followed", f.Name)
			}
			continue
		}
		want, err := arrowType(of.Type)
		if err != nil {
			return false, fmt.Errorf("column %s: %w", f.Name, err)
		}
		same = same && alike(want, f.Type)
	}
	return same, nil
}

// filesOf lists a snapshot's data files, by their locations' order, and the files that say what of them is deleted.
func filesOf(ctx context.Context, s *snapshot) (data, deletes []iceberg.ManifestEntry, err error) {
	entries, err := entriesOf(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if f := e.DataFile(); f.FileFormat() != iceberg.ParquetFile {
			return nil, nil, fmt.Errorf("the snapshot has files in %s, and only Parquet is read", f.FileFormat())
		}
		if e.DataFile().ContentType() == iceberg.EntryContentData {
			data = append(data, e)
		} else {
			deletes = append(deletes, e)
		}
	}
	location := func(e iceberg.ManifestEntry) string { return e.DataFile().FilePath() }
	slices.SortFunc(data, func(a, b iceberg.ManifestEntry) int { return strings.Compare(location(a), location(b)) })
	for i := 1; i < len(data); i++ {
		if location(data[i]) == location(data[i-1]) {
			return nil, nil, errors.New("the snapshot has a data file twice")
		}
	}
	return data, deletes, nil
}

// rowsOf is how many records data files are said to have.
func rowsOf(data []iceberg.ManifestEntry) (n int64) {
	for _, e := range data {
		n += e.DataFile().Count()
	}
	return n
}

// listed finds the files of entries, in their order.
func listed(ctx context.Context, root string, entries []iceberg.ManifestEntry) (*files.Set, error) {
	var paths []string
	for _, e := range entries {
		p, err := pathOf(e.DataFile().FilePath())
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return files.Listed(ctx, root, paths)
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
