package arrowipc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one or several inputs of one schema.
type source struct {
	*files.Watch // nil for standard input
	streams      []*stream
	arrow        *arrow.Schema     // of the first stream
	schema       *microdata.Schema // dictionaries as the type of their values, partition keys last
	pipe         bool              // standard input: one pass
	passed       bool              // the pipe has been read
	open         []*fileBatches    // that may still be read
}

// stream is one input.
type stream struct {
	file   files.File // for standard input only the label
	format string
	stamp  files.Stamp       // taken before the schema was read
	footer [sha256.Size]byte // of a file; zero: not read yet
	rows   int64             // -1: not known without reading
	schema *arrow.Schema
	batch  []fileBatch // of a file
	piped  *streamBatches
}

// fileBatch is a record batch of a file.
type fileBatch struct{ rows, size int64 }

func open(ctx context.Context, set *files.Set, format string) (*source, error) {
	s := new(source)
	for _, f := range set.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := openStream(f, format)
		if err != nil {
			return nil, err
		}
		if err := s.add(st); err != nil {
			return nil, err
		}
	}
	s.Watch = files.Watching(set, s.stamps(), func(i int) (files.Handle, error) { return s.streams[i].reopen() })
	return s, s.describe(set.PartitionFields())
}

func openPipe(ctx context.Context, in io.Reader) (*source, error) {
	st := &stream{file: files.File{Label: "standard input"}, format: formatStream, rows: -1}
	err := interruptible(ctx, func() (err error) {
		st.piped, err = newStreamBatches(st, in, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	st.schema = st.piped.reader.Schema()
	s := &source{pipe: true}
	if err := s.add(st); err != nil {
		return nil, err
	}
	return s, s.describe(nil)
}

// interruptible runs f, which may wait for a pipe for ever, and returns early when the
// context is done. A read of a pipe cannot be interrupted: f's goroutine then continues
// until the other side writes or closes.
func interruptible(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer bug.Guard()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func openStream(f files.File, format string) (*stream, error) {
	in, stamp, err := f.Open()
	if errors.Is(err, files.ErrNotRegular) {
		err = fmt.Errorf("%w; read a pipe as -, standard input", err)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	st := &stream{file: f, format: format, stamp: stamp, rows: -1}
	if st.format == "" {
		if st.format, err = sniff(in); err != nil {
			return nil, f.Err(err)
		}
	}
	if st.format == formatFile {
		return st, st.index(in)
	}
	b, err := newStreamBatches(st, in, nil)
	if err != nil {
		return nil, err
	}
	st.schema = b.reader.Schema()
	return st, nil
}

// sniff determines the format: a file begins with ARROW1, a stream with the length of
// its first message.
func sniff(in io.ReaderAt) (string, error) {
	var head [6]byte
	if n, err := in.ReadAt(head[:], 0); err != nil && !(errors.Is(err, io.EOF) && n > 0) {
		if errors.Is(err, io.EOF) {
			return "", errors.New("the file is empty, not even an Arrow schema is in it")
		}
		return "", err
	}
	switch {
	case string(head[:]) == magic:
		return formatFile, nil
	case string(head[:4]) == "FEA1":
		return "", errors.New("is Feather version 1, which is not Arrow IPC; write the file again as version 2")
	}
	return formatStream, nil
}

// reopen opens the stream's file for a pass and makes sure that it is the one that was
// examined before; in the file format, that it has the same footer.
func (st *stream) reopen() (files.Handle, error) {
	return st.file.Reopen(st.stamp, func(in io.ReaderAt) error {
		if st.format != formatFile {
			return nil
		}
		_, _, err := st.blocks(in)
		return err
	})
}

func (s *source) stamps() []files.Stamp {
	stamps := make([]files.Stamp, len(s.streams))
	for i, st := range s.streams {
		stamps[i] = st.stamp
	}
	return stamps
}

// add appends a stream, which must have the fields of the first.
func (s *source) add(st *stream) error {
	if err := checkZones(st.file.Label, st.schema.Fields()); err != nil {
		return err
	}
	s.streams = append(s.streams, st)
	if s.arrow == nil {
		s.arrow = st.schema
		return nil
	}
	a, b := s.arrow.Fields(), st.schema.Fields()
	if len(a) != len(b) {
		return fmt.Errorf("%s: has %d columns, and %s has %d", st.file.Label, len(b), s.streams[0].file.Label, len(a))
	}
	for i := range a {
		if a[i].Name != b[i].Name || !arrow.TypeEqual(plainType(a[i].Type), plainType(b[i].Type)) {
			what := "type"
			if a[i].Name != b[i].Name {
				what = "name"
			}
			return fmt.Errorf("%s: column %d has another %s than in %s", st.file.Label, i+1, what, s.streams[0].file.Label)
		}
	}
	return nil
}

// describe sets the schema for the rest of the program.
func (s *source) describe(partitions []microdata.Field) error {
	s.schema = &microdata.Schema{}
	for i, f := range s.arrow.Fields() {
		nullable := slices.ContainsFunc(s.streams, func(st *stream) bool { return st.schema.Field(i).Nullable })
		s.schema.Fields = append(s.schema.Fields, microdata.Field{Name: f.Name, Type: plainType(f.Type), Nullable: nullable})
	}
	s.schema.Fields = append(s.schema.Fields, partitions...)
	if a, b := s.schema.Twice(); b > 0 {
		return fmt.Errorf("%s: columns %d and %d have the same name", s.streams[0].file.Label, a, b)
	}
	return nil
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Rewindable() bool          { return !s.pipe }

func (s *source) Streams() []string {
	names := make([]string, len(s.streams))
	for i, st := range s.streams {
		names[i] = st.file.Label
	}
	return names
}

// Close closes files some of whose batches were never read.
func (s *source) Close() error {
	var errs []error
	for _, f := range s.open {
		errs = append(errs, f.abandon())
	}
	s.open = nil
	return errors.Join(errs...)
}

func (s *source) Records() int64 {
	total := int64(0)
	for _, st := range s.streams {
		if st.rows < 0 {
			return -1
		}
		total += st.rows
	}
	return total
}

// Read starts a pass. Columns in Numbers form must be numeric.
func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, w := range layout.Read {
		f := s.schema.Fields[w.Field]
		if w.As == microdata.Numbers && !f.Numeric() && f.Type.ID() != arrow.FLOAT16 {
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
	}
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	if s.pipe {
		if s.passed {
			return nil, errors.New("standard input can be read once")
		}
		s.passed = true
	}
	return newReader(s, layout, cut), nil
}
