package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Column is a column of a table whose metadata lie outside of its files: the files have it under the id of its
// field, whatever its name was when they were written.
type Column struct {
	ID       int32
	Name     string // now
	Optional bool   // is left out where the files do not have it
	// Names are those under which files have it whose columns have no ids; nil: such files are refused.
	Names []string
}

// ErrEvolved is the error of files of a table that do not all have its columns as they are now.
var ErrEvolved = errors.New("was written when the table had other columns")

// OpenTable opens data files of a table. The source has the listed columns, in their order, with their present names.
// It returns ErrEvolved if a file lacks one of them, or stores them otherwise than the first file.
func OpenTable(ctx context.Context, set *files.Set, columns []Column) (connectors.Source, error) {
	s, err := open(ctx, set, nil, nil, func(f *footer) error { return f.project(columns) })
	if err != nil {
		return nil, err
	}
	first := s.streams[0].roots
	for _, st := range s.streams[1:] {
		for i, r := range st.roots {
			if r.leaves[0].index != first[i].leaves[0].index {
				return nil, fmt.Errorf("%s: %w", st.file.Label, ErrEvolved)
			}
		}
	}
	return s, nil
}

// project leaves the columns with the ids, under their present names.
func (f *footer) project(columns []Column) error {
	byID := map[int32]*node{}
	with := 0
	for _, r := range f.roots {
		if id := r.elements[0].FieldID; id.Valid {
			with++
			if byID[id.V] != nil {
				return errors.New("has two columns with one id")
			}
			byID[id.V] = r
		}
	}
	if with < len(f.roots) {
		var err error
		if byID, err = f.byNames(columns, with); err != nil {
			return err
		}
	}
	var roots []*node
	for _, c := range columns {
		r := byID[c.ID]
		if r == nil && c.Optional {
			continue
		}
		if r == nil {
			return ErrEvolved
		}
		named := *r
		named.name = c.Name
		roots = append(roots, &named)
	}
	f.roots = roots
	return nil
}

// byNames finds columns without ids.
func (f *footer) byNames(columns []Column, with int) (map[int32]*node, error) {
	mapped := false
	ids := map[string]int32{}
	for _, c := range columns {
		mapped = mapped || c.Names != nil
		for _, name := range c.Names {
			ids[name] = c.ID
		}
	}
	if !mapped || with > 0 {
		return nil, errors.New("has columns without the ids of their fields, by which a table knows them")
	}
	found := map[int32]*node{}
	for _, r := range f.roots {
		id, known := ids[r.name]
		if known && found[id] != nil {
			return nil, errors.New("has two columns that are one of the table by its names")
		}
		if known {
			found[id] = r
		}
	}
	return found, nil
}

// sourceOf is the source of Parquet files that src is, or consists of; nil if it is none.
func sourceOf(src connectors.Source) *source {
	if s, ok := src.(interface{ parquet() *source }); ok {
		return s.parquet()
	}
	return nil
}

func (s *source) parquet() *source { return s }

// Files is an open source of Parquet files, for another source to be made of it: what embeds it can be carried as it
// can.
type Files struct{ *source }

// FilesOf is the source of Parquet files that src is, which must be one.
func FilesOf(src connectors.Source) Files { return Files{sourceOf(src)} }

// Table is where the files of a release are written that is part of a table: the ids of its columns are written into
// them, and what the table's metadata say of a file is told.
type Table struct {
	Dir     *publish.Dir // nil: for Content, whose files others create
	IDs     map[string]int32
	Written func(Written) // is called at the end of each file, by the goroutine that writes
}

// Written describes a complete file of a release.
type Written struct {
	Name           string // in Dir; "": of Content
	Records, Bytes int64
	Columns        map[int32]Stats // by the columns' ids
}

// Stats describes the released values of a column of a file. Min and Max are as Parquet stores them, and nil where
// there is no value, or the type has no order that readers agree on, or a text is too long.
type Stats struct {
	Values, Nulls, Bytes int64
	Min, Max             []byte
}

// Within is the same sink for files of a table.
func (c *SinkConfig) Within(t *Table) *SinkConfig {
	within := *c
	within.table = t
	return &within
}

// number writes the id of a column into its part of the schema.
func (t *Table) number(elements []schemaElement) error {
	if t == nil {
		return nil
	}
	if len(elements) != 1 {
		return fmt.Errorf(
			"column %s: consists of several, which has no place in a table here; withhold it (role: identifier)",
			elements[0].Name)
	}
	id, known := t.IDs[elements[0].Name]
	if !known {
		return fmt.Errorf("column %s is none of the table's", elements[0].Name)
	}
	elements[0].FieldID = some(id)
	return nil
}

// tells returns what hands on the description of a complete file.
func (s *sink) tells(name string) func(*fileMetaData, int64) {
	return func(m *fileMetaData, size int64) {
		w := Written{Name: name, Records: m.NumRows, Bytes: size, Columns: map[int32]Stats{}}
		all := make([]pageStats, len(s.leaves))
		columns := make([]Stats, len(s.leaves))
		for g := range m.RowGroups {
			rg := &m.RowGroups[g]
			for i, l := range s.leaves {
				c := &rg.Columns[i].MetaData.V
				columns[i].Values += c.NumValues
				columns[i].Bytes += c.TotalCompressedSize
				st := &c.Statistics
				if !st.Valid || !st.V.NullCount.Valid {
					all[i].without = true
					continue
				}
				part := pageStats{min: st.V.MinValue, max: st.V.MaxValue, nulls: st.V.NullCount.V}
				part.without = part.min == nil && part.nulls < c.NumValues
				all[i].merge(l, part)
			}
		}
		for i, l := range s.leaves {
			columns[i].Nulls = all[i].nulls
			if !all[i].without {
				columns[i].Min, columns[i].Max = all[i].min, all[i].max
			}
			w.Columns[l.elem.FieldID.V] = columns[i]
		}
		s.cfg.table.Written(w)
	}
}
