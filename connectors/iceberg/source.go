package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
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
	if s.Key != nil {
		return nil, errors.New("the snapshot is encrypted (key-id), and such snapshots are not read")
	}
	schema := t.schema()
	// what an earlier time is read with is the schema of that time
	if (c.Snapshot != 0 || c.AsOf != "") && s.Schema != nil {
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
	columns, err := t.columnsOf(schema)
	if err != nil {
		return nil, err
	}
	composed := &composedOf{table: t, schema: schema, columns: columns, root: root, set: set, data: data,
		deletes: deletes}
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
		return nil, errors.Join(errors.New("the data files have another number of records than the table's metadata say"),
			src.Close())
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

// sameTypes reports whether the columns of the files have the table's types. Whether those of a column that consists of
// several are the same is not looked at where the table's columns were never changed.
func sameTypes(src connectors.Source, schema *meta.Schema, evolved bool) (bool, error) {
	same := true
	for i, f := range src.Schema().Fields {
		of := schema.Fields[i]
		if of.Type.Nested() {
			if evolved {
				return false,
					fmt.Errorf("column %s consists of several, and the table's columns were changed: such columns are not followed",
						f.Name)
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
func filesOf(ctx context.Context, s *snapshot) (data, deletes []meta.Entry, err error) {
	entries, err := entriesOf(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if e.File.Format == meta.Puffin {
			return nil, nil, errors.New(
				"has deletion vectors (version 3 of the format), which are not read; rewrite its files without deleted records (rewrite_data_files)")
		}
		if e.File.Format != meta.Parquet {
			return nil, nil, errors.New("the snapshot has files that are not Parquet, which alone is read")
		}
		if e.File.Content == meta.Data {
			data = append(data, e)
		} else {
			deletes = append(deletes, e)
		}
	}
	location := func(e meta.Entry) string { return e.File.Path }
	slices.SortFunc(data, func(a, b meta.Entry) int { return strings.Compare(location(a), location(b)) })
	for i := 1; i < len(data); i++ {
		if location(data[i]) == location(data[i-1]) {
			return nil, nil, errors.New("the snapshot has a data file twice")
		}
	}
	return data, deletes, nil
}

// rowsOf is how many records data files are said to have.
func rowsOf(data []meta.Entry) (n int64) {
	for _, e := range data {
		n += e.File.Records
	}
	return n
}

// listed finds the files of entries, in their order.
func listed(ctx context.Context, root string, entries []meta.Entry) (*files.Set, error) {
	var paths []string
	for _, e := range entries {
		p, err := pathOf(e.File.Path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return files.Listed(ctx, root, paths)
}

// manifestsOf reads the list of a snapshot's manifests.
func manifestsOf(ctx context.Context, s *snapshot) ([]meta.Manifest, error) {
	if s.Manifests == "" {
		return nil,
			errors.New(
				"the snapshot has no list of manifests, as early tables of version 1; rewrite its manifests (rewrite_manifests)")
	}
	text, err := readAll(ctx, s.Manifests, "the list of the snapshot's manifests")
	if err != nil {
		return nil, err
	}
	list, err := meta.ReadList(text)
	if err != nil {
		return nil, fmt.Errorf("the list of the snapshot's manifests %w", err)
	}
	return list, nil
}

// liveEntries reads the entries of a manifest, without those of files that were removed.
func liveEntries(ctx context.Context, m *meta.Manifest) ([]meta.Entry, error) {
	text, err := readAll(ctx, m.Path, "a manifest of the snapshot")
	if err != nil {
		return nil, err
	}
	entries, err := m.Read(text)
	if err != nil {
		return nil, fmt.Errorf("a manifest of the snapshot %w", err)
	}
	return entries, nil
}

// entriesOf reads the live entries of all manifests of a snapshot.
func entriesOf(ctx context.Context, s *snapshot) ([]meta.Entry, error) {
	manifests, err := manifestsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []meta.Entry
	for i := range manifests {
		entries, err := liveEntries(ctx, &manifests[i])
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

// Abilities implements connectors.Source. The snapshot is what it is whatever becomes of the table; its files are
// watched as others are. A release takes the source's place wherever it would lie in the table: its metadata have
// values of the source (bounds, partitions), and so have its earlier snapshots.
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

// arrowTypes are the types in which columns of a table are read, of those without parameters.
var arrowTypes = map[meta.Type]arrow.DataType{
	meta.Boolean: arrow.FixedWidthTypes.Boolean, meta.Int: arrow.PrimitiveTypes.Int32,
	meta.Long:  arrow.PrimitiveTypes.Int64,
	meta.Float: arrow.PrimitiveTypes.Float32, meta.Double: arrow.PrimitiveTypes.Float64,
	meta.Date: arrow.FixedWidthTypes.Date32,
	meta.Time: arrow.FixedWidthTypes.Time64us, meta.Timestamp: &arrow.TimestampType{Unit: arrow.Microsecond},
	meta.TimestampTZ: arrow.FixedWidthTypes.Timestamp_us,
	meta.String:      arrow.BinaryTypes.String, meta.Binary: arrow.BinaryTypes.Binary,
	meta.UUID: &arrow.FixedSizeBinaryType{ByteWidth: 16},
}

// arrowType is the type in which a column of a table is read.
func arrowType(t meta.Type) (arrow.DataType, error) {
	if known, ok := arrowTypes[t]; ok {
		return known, nil
	}
	if n, ok := t.Width(); ok {
		return &arrow.FixedSizeBinaryType{ByteWidth: n}, nil
	}
	if precision, scale, ok := t.Digits(); ok && precision <= 38 {
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
	}
	return nil, fmt.Errorf("is of type %s, which is not read", t)
}

// tableType is the type that a released column has in a table.
func tableType(t arrow.DataType) (meta.Type, error) {
	switch t := t.(type) {
	case *arrow.LargeStringType, *arrow.StringViewType:
		return meta.String, nil
	case *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return meta.Binary, nil
	case *arrow.FixedSizeBinaryType:
		return meta.Fixed(t.ByteWidth), nil
	case arrow.DecimalType:
		if p, s := t.GetPrecision(), t.GetScale(); p <= 38 && s >= 0 {
			return meta.Decimal(int(p), int(s)), nil
		}
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond && t.TimeZone != "" {
			return meta.TimestampTZ, nil
		}
	case *arrow.DictionaryType:
		return tableType(t.ValueType)
	}
	for name, known := range arrowTypes {
		if arrow.TypeEqual(known, t) {
			return name, nil
		}
	}
	return "",
		fmt.Errorf(
			"is of type %s, which a table of Iceberg does not have; withhold it (role: identifier), or read it as another type",
			t)
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
