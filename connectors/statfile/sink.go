package statfile

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// target says what is written.
type target struct {
	program    string
	kind       readstat.Kind
	path       string
	labels     labels.Choice
	version    int
	compressed int
}

// sink spools the records: how many there are, how wide texts are and which codes occur stands at the
// beginning of the file.
type sink struct {
	target
	layout  *microdata.Layout
	carries bool
	notes   []note
	records int64
	spool   *os.File
	buffer  *bufio.Writer
	file    *publish.File
	ended   bool
}

func create(ctx context.Context, ps check.Problems, t target, plan connectors.Plan) (_ connectors.Sink, err error) {
	if len(ps) > 0 {
		return nil, ps[0]
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := connectors.Spare(plan.Source, t.path); err != nil {
		return nil, err
	}
	s := &sink{target: t, layout: plan.Layout, carries: readBy(plan.Source, t.program)}
	for _, o := range plan.Layout.Release {
		if !storable(o.Field) {
			return nil,
				fmt.Errorf("%s: column %s is %s, which files of %s cannot hold", t.path, o.Field.Name,
					microdata.TypeName(o.Field.Type), t.program)
		}
		s.notes = append(s.notes, note{lo: math.NaN(), hi: math.NaN(), codes: microdata.NewOccurring(o.Field.Described)})
	}
	// What is wrong with the columns, their names above all, is found before any record is read.
	header, err := s.header()
	if err == nil {
		err = s.early()
	}
	if err != nil {
		return nil, s.named(err)
	}
	w, err := readstat.NewWriter(ctx, io.Discard, header)
	if err != nil {
		return nil, s.named(err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Abort())
		}
	}()
	if s.spool, err = os.CreateTemp("", ".sdlfilter-*"); err != nil {
		return nil, err
	}
	if err := os.Remove(s.spool.Name()); err != nil {
		return nil, err
	}
	s.buffer = bufio.NewWriterSize(s.spool, 1<<18)
	s.file, err = publish.Create(t.path, publish.Public)
	return s, err
}

func (s *sink) named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, enc connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := enc.(*encoded)
	if e.rows == 0 {
		return nil
	}
	s.records += int64(e.rows)
	for i := range s.notes {
		s.notes[i].merge(e.notes[i])
	}
	_, err := s.buffer.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(e.chunk))))
	if err == nil {
		_, err = s.buffer.Write(e.chunk)
	}
	return s.named(err)
}

// chunks calls f for each chunk of the spool.
func (s *sink) chunks(ctx context.Context, f func(chunk []byte) error) error {
	if _, err := s.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.spool, 1<<18)
	var size [8]byte
	var chunk []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(in, size[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint64(size[:]))
		if cap(chunk) < n {
			chunk = make([]byte, n)
		}
		chunk = chunk[:n]
		if _, err := io.ReadFull(in, chunk); err != nil {
			return err
		}
		if err := f(chunk); err != nil {
			return err
		}
	}
}

// Finish implements connectors.Sink: it writes the file.
func (s *sink) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ended {
		return nil
	}
	if err := s.buffer.Flush(); err != nil {
		return s.named(err)
	}
	if err := s.write(ctx); err != nil {
		return s.named(err)
	}
	s.ended = true
	return s.file.Finish()
}

func (s *sink) write(ctx context.Context) (err error) {
	header, err := s.header()
	if err != nil {
		return err
	}
	for _, c := range header.Columns {
		if s.program == spss && c.Width > spssText {
			return &readstat.ColumnError{
				Column: c.Name, Err: fmt.Errorf("has a text of more than the %d bytes that SPSS holds", spssText)}
		}
	}
	if s.version == 117 {
		if err := oldLabels(header.Columns); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(s.file, 1<<18)
	w, err := readstat.NewWriter(ctx, out, header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := s.refs(ctx, w, header); err != nil {
		return err
	}
	at := int64(0)
	err = s.chunks(ctx, func(chunk []byte) error {
		err := w.Rows(ctx, chunk, at)
		at += int64(binary.LittleEndian.Uint32(chunk))
		return err
	})
	if err != nil {
		return err
	}
	if err := w.End(ctx); err != nil {
		return err
	}
	return out.Flush()
}

// oldLabels is oldText of all labels.
func oldLabels(columns []readstat.Out) (err error) {
	for i := range columns {
		c := &columns[i]
		if c.Label, err = oldText(c.Label); err != nil {
			return &readstat.ColumnError{Column: c.Name, Err: fmt.Errorf("its label: %w", err)}
		}
		for k := range c.Labels {
			if c.Labels[k].Label, err = oldText(c.Labels[k].Label); err != nil {
				return &readstat.ColumnError{Column: c.Name, Err: fmt.Errorf("the label of a value: %w", err)}
			}
		}
	}
	return nil
}

// refs declares the long texts of Stata.
func (s *sink) refs(ctx context.Context, w *readstat.Writer, header readstat.Target) error {
	var texts []bool
	long := false
	for _, c := range header.Columns {
		texts = append(texts, c.Type.Text())
		long = long || c.Type == readstat.StringRef
	}
	if !long {
		return nil
	}
	return s.chunks(ctx, func(chunk []byte) error {
		columns, rows, err := readstat.ReadChunk(chunk, texts)
		if err != nil {
			return err
		}
		for row := range rows {
			for i, c := range header.Columns {
				if c.Type != readstat.StringRef || len(columns[i].Text(row)) == 0 {
					continue
				}
				if err := w.Ref(ctx, columns[i].Text(row)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: s.file.Content, Labels: s.released}
}

// released is what the release says of its columns.
func (s *sink) released() (list []microdata.Said) {
	for i, o := range s.layout.Release {
		list = labels.Append(list, s.labels, o.Field, s.notes[i].codes, s.holds(isText(o.Field.Type)))
	}
	return list
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error {
	if !s.ended {
		return errors.New("a release that is not finished cannot be committed")
	}
	return errors.Join(s.file.Commit(), s.drop())
}

// Abort implements connectors.Sink.
func (s *sink) Abort() error {
	err := s.drop()
	if s.file != nil {
		err = errors.Join(err, s.file.Abort())
	}
	return err
}

// drop ends the spool, which has no name.
func (s *sink) drop() error {
	if s.spool == nil {
		return nil
	}
	err := s.spool.Close()
	s.spool = nil
	return err
}
