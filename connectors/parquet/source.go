package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one or several Parquet files of one schema.
type source struct {
	*files.Watch
	streams []*stream
	schema  *microdata.Schema
	keep    []string // metadata keys
	records int64
	part    *connectors.Part // nil: all of it
}

// stream is one file.
type stream struct {
	file files.File
	*footer
	stamp    files.Stamp // taken before the footer was read
	unopened bool        // it is not read, and footer is that of the first stream
}

// open reads the footers of the first file and of the needed ones; needed nil: all. project, which may be nil,
// chooses and names the columns of each of them.
func open(ctx context.Context, set *files.Set, keep []string, needed func(stream int) bool,
	project func(*footer) error) (*source, error) {
	s := &source{keep: keep, streams: make([]*stream, len(set.Files))}
	opens := func(i int) bool { return i == 0 || needed == nil || needed(i) }
	if err := files.Each(len(set.Files), func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if opens(i) {
			s.streams[i], err = openStream(set.Files[i])
		}
		if err == nil && s.streams[i] != nil && project != nil {
			if err = project(s.streams[i].footer); err != nil {
				err = fmt.Errorf("%s: %w", set.Files[i].Label, err)
			}
		}
		return err
	}); err != nil {
		return nil, err
	}
	first := s.streams[0]
	for i, f := range set.Files {
		if !opens(i) {
			s.streams[i] = &stream{file: f, footer: first.footer, unopened: true}
			continue
		}
		if err := sameSchema(first.footer, s.streams[i].footer); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Label, err)
		}
		s.records += s.streams[i].NumRows
	}
	s.schema = &microdata.Schema{}
	for _, r := range s.streams[0].roots {
		s.schema.Fields = append(s.schema.Fields, r.field())
	}
	s.schema.Fields = append(s.schema.Fields, set.PartitionFields()...)
	if a, b := s.schema.Twice(); b > 0 {
		return nil, fmt.Errorf("%s: columns %d and %d have the same name", set.Files[0].Label, a, b)
	}
	s.Watch = files.Watching(set, s.stamps(), func(i int) (files.Handle, error) { return s.streams[i].reopen() })
	return s, nil
}

func openStream(file files.File) (*stream, error) {
	f, stamp, err := file.Open()
	if errors.Is(err, files.ErrNotRegular) {
		err = fmt.Errorf("%w; a Parquet file is read from its end", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ft, err := readFooter(f, stamp.Size())
	if err != nil {
		return nil, &corrupt{file: file.Label, err: err}
	}
	return &stream{file: file, footer: ft, stamp: stamp}, nil
}

// reopen opens the file again, for reading or for copying, and makes sure that
// it is the one whose footer was read.
func (st *stream) reopen() (files.Handle, error) {
	if st.unopened {
		return nil, st.file.Err(files.ErrNotOpened)
	}
	return st.file.Reopen(st.stamp, st.sameFooter)
}

func (s *source) stamps() []files.Stamp {
	stamps := make([]files.Stamp, len(s.streams))
	for i, st := range s.streams {
		stamps[i] = st.stamp
	}
	return stamps
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Records() int64            { return s.records }
func (s *source) Rewindable() bool          { return true }
func (s *source) Close() error              { return nil }

func (s *source) Abilities() connectors.SourceAbilities {
	can := s.Watch.Abilities()
	can.Folder, can.Divisible = s.Folder, s
	return can
}

func (s *source) Streams() []string {
	names := make([]string, len(s.streams))
	for i, st := range s.streams {
		names[i] = st.file.Label
	}
	return names
}

// Read starts a pass. Columns in Numbers form must be numeric.
func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, w := range layout.Read {
		f := s.schema.Fields[w.Field]
		if w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
	}
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	r := &reader{source: s, layout: layout, cut: cut}
	r.stream, r.group, r.row, r.last, r.until = s.bounds()
	return r, nil
}

// partition returns the index of the partition key that a field of the schema is; ok is
// false for a column of the files.
func (s *source) partition(field int) (k int, ok bool) {
	k = field - len(s.streams[0].roots)
	return k, k >= 0
}
