package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

var stringType = arrow.BinaryTypes.String

// source is one or several Parquet files of one schema.
type source struct {
	root    string
	folder  bool
	set     *files.Set
	streams []*stream
	schema  *microdata.Schema
	keys    []string // partition keys: the last fields of the schema
	keep    []string // metadata keys
	records int64
}

// stream is one file.
type stream struct {
	file files.File
	*footer
	stamp files.Stamp // of before the footer was read
}

func open(ctx context.Context, set *files.Set, keep []string) (*source, error) {
	s := &source{set: set, root: set.Root, folder: set.Folder, keys: set.PartitionKeys, keep: keep}
	for _, f := range set.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := openStream(f)
		if err != nil {
			return nil, err
		}
		if len(s.streams) > 0 {
			if err := sameSchema(s.streams[0].footer, st.footer); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Label, err)
			}
		}
		s.streams = append(s.streams, st)
		s.records += st.NumRows
	}
	s.schema = &microdata.Schema{}
	for _, r := range s.streams[0].roots {
		s.schema.Fields = append(s.schema.Fields, r.field())
	}
	for i, k := range s.keys {
		null := slices.ContainsFunc(set.Files, func(f files.File) bool { return f.Partitions[i].Null })
		s.schema.Fields = append(s.schema.Fields, partitionField(k, null))
	}
	seen := map[string]bool{}
	for _, f := range s.schema.Fields {
		if seen[f.Name] {
			return nil, fmt.Errorf("%s: two columns have the name %q", set.Files[0].Label, f.Name)
		}
		seen[f.Name] = true
	}
	return s, nil
}

func openStream(file files.File) (*stream, error) {
	f, err := os.Open(file.Path)
	if err != nil {
		return nil, opening(file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, opening(file, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file; a Parquet file is read from its end", file.Label)
	}
	stamp, err := files.StampOf(f)
	if err != nil {
		return nil, opening(file, err)
	}
	ft, err := readFooter(f, stamp.Size())
	if err != nil {
		return nil, &corrupt{file: file.Label, err: err}
	}
	return &stream{file: file, footer: ft, stamp: stamp}, nil
}

// opening keeps the path out of the message: the folders of a partitioned source
// hold values.
func opening(file files.File, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", file.Label, err)
}

// reopen opens the file again, for reading or for copying, and makes sure that
// it is the one whose footer was read.
func (st *stream) reopen() (*os.File, error) {
	f, err := os.Open(st.file.Path)
	if err != nil {
		return nil, opening(st.file, err)
	}
	if err = st.stamp.Holds(f); err == nil {
		err = st.sameFooter(f)
	}
	if err != nil {
		f.Close()
		return nil, opening(st.file, err)
	}
	return f, nil
}

// Unchanged implements connectors.Watched.
func (s *source) Unchanged() error {
	for _, st := range s.streams {
		in, err := st.reopen()
		if err != nil {
			return err
		}
		if err := in.Close(); err != nil {
			return opening(st.file, err)
		}
	}
	return s.set.Unchanged(s.stamps())
}

// Changed implements connectors.Watched.
func (s *source) Changed() time.Time { return files.Latest(s.stamps()) }

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
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, f.Type)
		}
	}
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	return &reader{source: s, layout: layout, cut: cut}, nil
}

// partition returns which partition key a field of the schema is; ok is false
// for a column of the files.
func (s *source) partition(field int) (k int, ok bool) {
	k = field - len(s.streams[0].roots)
	return k, k >= 0
}
