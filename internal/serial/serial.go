// Package serial has what sources of files share that can be read only from their first record to their last: by a
// library that hands over the rows, or as one document.
//
// A Format says how such a file is read. Everything else is here: which files there are, a pass in a goroutine of its
// own for each file, blocks, and errors that name file and record. A file that does not have the records that it says
// is an error at its end.
package serial

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Piece is a run of consecutive records of one file, as its format has them. The zero value has none.
type Piece[P any] interface {
	Len() int
	Part(from, to int) P // the records from ≤ i < to
	Size() int64         // in memory, bytes
}

// File is a file while it is read.
type File struct {
	Index   int    // among the files of the source
	Label   string // its name for messages
	Records int64  // that it says it has; −1: not known
	Size    int64  // bytes
	In      io.ReaderAt
}

// Format reads the files of one source. Errors of Describe and Scan get the file's name.
type Format[P Piece[P]] interface {
	// Describe looks at the next file, and returns how many records it has; −1 if it does not say so.
	Describe(ctx context.Context, f File) (records int64, err error)
	// Schema returns the columns of all files, or an error that names a file which does not agree with the others.
	Schema() (*microdata.Schema, error)
	// Scan calls yield with the records of a file, in pieces of at most so many rows.
	Scan(ctx context.Context, f File, layout *microdata.Layout, rows int, yield func(P) error) error
	// Decode fills a block, which is reset, with the records of pieces. It is for concurrent use.
	Decode(b *microdata.Block, layout *microdata.Layout, pieces []P) error
}

// CheckPath reports a path that is none of files.
func CheckPath(ps *check.Problems, path string) {
	switch path {
	case "":
		ps.Addf("path", "must name a file")
	case "-":
		ps.Addf("path", "must name a file: this format cannot be read from or written to a pipe")
	}
	objectpath.Check(ps, "path", path)
}

// Source is the files of a path.
type Source[P Piece[P]] struct {
	*files.Watch
	format  Format[P]
	set     *files.Set
	stamps  []files.Stamp
	counts  []int64 // records of each file; −1: not known
	schema  *microdata.Schema
	records int64
}

// Open looks at the files of a path: a file, folder or glob.
func Open[P Piece[P]](ctx context.Context, path string, extensions []string, format Format[P]) (*Source[P], error) {
	set, err := files.Find(ctx, path, extensions...)
	if err != nil {
		return nil, err
	}
	if len(set.PartitionKeys) > 0 {
		return nil, fmt.Errorf("%s: folders of the form key=value are not read in this format", path)
	}
	s := &Source[P]{format: format, set: set}
	for i, f := range set.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.describe(ctx, i, f); err != nil {
			return nil, err
		}
	}
	for _, n := range s.counts {
		if n < 0 {
			s.records = -1
			break
		}
		s.records += n
	}
	if s.schema, err = format.Schema(); err != nil {
		return nil, err
	}
	s.Watch = files.Watching(set, s.stamps, s.reopen)
	return s, nil
}

// describe looks at file i.
func (s *Source[P]) describe(ctx context.Context, i int, f files.File) (err error) {
	in, stamp, err := f.Open()
	if errors.Is(err, files.ErrNotRegular) {
		err = fmt.Errorf("%w; this format cannot be read from a pipe", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var mark [4]byte
	n, err := in.ReadAt(mark[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return s.named(i, err)
	}
	if c := compress.Sniff(mark[:n]); c != compress.None {
		return s.named(i, fmt.Errorf("is compressed (%s); decompress it first", c))
	}
	records, err := s.format.Describe(ctx, File{i, f.Label, -1, stamp.Size(), in})
	if err != nil {
		return s.named(i, err)
	}
	s.stamps, s.counts = append(s.stamps, stamp), append(s.counts, records)
	return nil
}

func (s *Source[P]) reopen(i int) (files.Handle, error) {
	return s.set.Files[i].Reopen(s.stamps[i], nil)
}

// named is an error of file i, with its name.
func (s *Source[P]) named(i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", s.set.Files[i].Label, err)
}

// Schema implements connectors.Source.
func (s *Source[P]) Schema() *microdata.Schema { return s.schema }

// Streams implements connectors.Source.
func (s *Source[P]) Streams() []string {
	names := make([]string, len(s.set.Files))
	for i, f := range s.set.Files {
		names[i] = f.Label
	}
	return names
}

// Records implements connectors.Source.
func (s *Source[P]) Records() int64 { return s.records }

// Rewindable implements connectors.Source.
func (s *Source[P]) Rewindable() bool { return true }

// Close implements connectors.Source.
func (s *Source[P]) Close() error { return nil }

// Read implements connectors.Source.
func (s *Source[P]) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := text.CheckLayout(layout, s.schema); err != nil {
		return nil, err
	}
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	return &reader[P]{Source: s, layout: layout, cut: cut, ctx: context.WithoutCancel(ctx)}, nil
}
