package readstat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Out is a column to be written.
type Out struct {
	Variable
	Labels []Label
	Weight bool
}

// Target is a file to be written: its rows must be known beforehand.
type Target struct {
	Kind       Kind
	Version    int // 0: the library's own
	Compressed int // of SPSS: 1 rows, 2 blocks (.zsav)
	Rows       int64
	Columns    []Out
}

// ColumnError is an error of one column of a release.
type ColumnError struct {
	Column string
	Err    error
}

func (e *ColumnError) Error() string { return "column " + e.Column + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ColumnError) Unwrap() error { return e.Err }

// Writer writes one file: Refs, then Rows, then End. Close ends it in any case.
type Writer struct {
	*instance
	target Target
	failed uint64 // where the library says at which value it failed
}

// NewWriter declares the columns. The header is written with the first rows.
func NewWriter(ctx context.Context, out io.Writer, target Target) (_ *Writer, err error) {
	if target.Rows > math.MaxInt32 {
		return nil, fmt.Errorf("the format holds no more than %d records", math.MaxInt32)
	}
	i, err := start(ctx, &calls{write: func(p []byte) error { _, err := out.Write(p); return err }})
	if err != nil {
		return nil, err
	}
	i.fails = fmt.Errorf("the library that writes it fails over it; perhaps it %w", errRoom)
	w := &Writer{instance: i, target: target}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := w.do(ctx, "begin"); err != nil {
		return nil, err
	}
	if w.failed, err = w.put(ctx, make([]byte, 8)); err != nil {
		return nil, err
	}
	places := make([]uint64, len(target.Columns))
	for k, c := range target.Columns {
		if places[k], err = w.column(ctx, c); err != nil {
			return nil, &ColumnError{c.Name, err}
		}
	}
	for k, c := range target.Columns {
		if c.Weight {
			if err := w.do(ctx, "column_weight", places[k]); err != nil {
				return nil, &ColumnError{c.Name, err}
			}
		}
	}
	if err := w.do(ctx, "head", uint64(target.Kind), uint64(target.Version), uint64(target.Compressed),
		uint64(target.Rows)); err != nil {
		return nil, err
	}
	for k, c := range target.Columns {
		if err := w.do(ctx, "valid", places[k]); err != nil {
			return nil, &ColumnError{c.Name, err}
		}
	}
	return w, nil
}

// column declares a column.
func (w *Writer) column(ctx context.Context, c Out) (at uint64, err error) {
	put := func(s string) uint64 { // for the life of the instance: the library keeps what it gets of some texts
		p, e := w.putText(ctx, s)
		err = errors.Join(err, e)
		return p
	}
	set := uint64(0)
	if len(c.Labels) > 0 {
		of := Double
		switch {
		case c.Type.Text():
			of = String
		case w.target.Kind == DTA:
			of = Int32
		}
		if set, err = w.call(ctx, "set", uint64(of), put(c.Set)); err != nil {
			return 0, err
		}
		for _, l := range c.Labels {
			label := put(l.Label)
			switch {
			case l.Tag != 0:
				_, err = w.call(ctx, "set_tag", set, uint64(l.Tag), label)
			case of == String:
				_, err = w.call(ctx, "set_text", set, put(l.Text), label)
			case of == Int32:
				_, err = w.call(ctx, "set_integer", set, uint64(uint32(int32(l.Number))), label)
			default:
				_, err = w.call(ctx, "set_number", set, math.Float64bits(l.Number), label)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	at, e := w.call(ctx, "column", put(c.Name), uint64(c.Type), uint64(c.Width), uint64(c.Display), uint64(c.Measure),
		uint64(c.Alignment), put(c.Label), put(c.Format), set)
	if err = errors.Join(err, e); err != nil {
		return 0, err
	}
	if at == 0 {
		return 0, errors.New("cannot be declared")
	}
	for _, m := range c.Missing {
		if c.Type.Text() {
			err = w.do(ctx, "column_missing_text", at, put(m.Text))
		} else {
			err = w.do(ctx, "column_missing", at, math.Float64bits(m.From), math.Float64bits(m.To))
		}
		if err != nil {
			return 0, err
		}
	}
	return at, nil
}

// Ref declares the next text of the columns of type StringRef, in the order of rows, then columns.
func (w *Writer) Ref(ctx context.Context, s []byte) error {
	at, err := w.putText(ctx, string(s))
	if err != nil {
		return err
	}
	return errors.Join(w.do(ctx, "ref", at), w.free(ctx, at))
}

// Rows appends the rows of a chunk, which begin with record first of the release.
func (w *Writer) Rows(ctx context.Context, chunk []byte, first int64) error {
	at, err := w.put(ctx, chunk)
	if err != nil {
		return err
	}
	code, err := w.call(ctx, "rows", at, w.failed)
	if err != nil {
		return err
	}
	if code == 0 {
		return w.free(ctx, at)
	}
	err = w.explain(ctx, code)
	place, _ := w.module.Memory().Read(uint32(w.failed), 8)
	if k := int(int32(binary.LittleEndian.Uint32(place[4:]))); k >= 0 && k < len(w.target.Columns) {
		err = &ColumnError{w.target.Columns[k].Name, err}
	}
	return fmt.Errorf("record %d of the release: %w", first+int64(binary.LittleEndian.Uint32(place))+1, err)
}

// End writes what is left.
func (w *Writer) End(ctx context.Context) error { return w.do(ctx, "end") }

// Close ends the library.
func (w *Writer) Close() error { return w.close() }
