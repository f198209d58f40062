package statfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one file.
type source struct {
	*files.Watch
	config  *SourceConfig
	file    files.File
	stamp   files.Stamp
	columns []column
	schema  *microdata.Schema
	records int64
}

func open(ctx context.Context, c *SourceConfig) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	set, err := files.Find(ctx, c.Path, extensions[c.program]...)
	if err != nil {
		return nil, err
	}
	if set.Folder || len(set.Files) != 1 {
		return nil, fmt.Errorf("%s: must be one file: each file of a statistical package has labels of its own", c.Path)
	}
	s := &source{config: c, file: set.Files[0]}
	in, stamp, err := s.file.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s.stamp = stamp
	if err := s.describe(ctx, in); err != nil {
		return nil, err
	}
	s.Watch = files.Watching(set, []files.Stamp{stamp}, func(int) (files.Handle, error) { return s.reopen() })
	return s, nil
}

func (s *source) reopen() (files.Handle, error) { return s.file.Reopen(s.stamp, nil) }

// input is the file for the library.
func (s *source) input(in files.Handle) readstat.Input {
	return readstat.Input{Kind: s.config.kind(), From: in, Size: s.stamp.Size(), Encoding: s.config.Encoding}
}

// describe finds the columns.
func (s *source) describe(ctx context.Context, in files.Handle) error {
	f, err := s.input(in).Describe(ctx)
	if err != nil {
		return s.named(err)
	}
	if err := s.whole(in, f); err != nil {
		return s.named(err)
	}
	s.records = f.Records
	s.schema = &microdata.Schema{}
	program := s.config.program
	for _, v := range f.Variables {
		c := column{Variable: v}
		if !v.Type.Text() {
			c.clock = clockOf(program, v.Format)
		}
		c.field = microdata.Field{Name: v.Name, Type: fieldType(program, v, c.clock), Nullable: true}
		c.field.Described = describe(program, v, f.Labels[v.Set], v.Index == f.Weight)
		if c.clock.unit == 0 {
			c.field.Missing = missing(c.field.Described)
		}
		s.columns = append(s.columns, c)
		s.schema.Fields = append(s.schema.Fields, c.field)
	}
	if len(s.columns) == 0 {
		return s.named(errors.New("has no columns"))
	}
	if a, b := s.schema.Twice(); b > 0 {
		return s.named(fmt.Errorf("columns %d and %d have the same name", a, b))
	}
	return nil
}

// end is what a file of Stata 13 and later ends in, behind all that the library reads.
const end = "</stata_dta>"

func (s *source) whole(in files.Handle, f *readstat.File) error {
	if s.config.kind() != readstat.DTA || f.Version < 117 {
		return nil
	}
	var last [len(end) + 2]byte // some programs write a line end behind it
	if _, err := in.ReadAt(last[:], max(s.stamp.Size()-int64(len(last)), 0)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasSuffix(bytes.TrimRight(last[:], "\r\n"), []byte(end)) {
		return errors.New("is truncated: it does not end as a file of Stata does")
	}
	return nil
}

// named is an error of the file, with its name.
func (s *source) named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", s.file.Label, err)
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Streams() []string         { return []string{s.file.Label} }
func (s *source) Records() int64            { return s.records }
func (s *source) Rewindable() bool          { return true }
func (s *source) Close() error              { return nil }

// Read implements connectors.Source.
func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, w := range layout.Read {
		if f := s.schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
	}
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	in, err := s.reopen()
	if err != nil {
		return nil, err
	}
	return newReader(ctx, s, in, layout, cut), nil
}
