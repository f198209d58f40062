package readstat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kind is a format.
type Kind uint64

// The formats, with the numbers of wasm/glue.c.
const (
	SAV Kind = iota
	DTA
	XPT
	SAS7BDAT
)

// Type is how a column is stored.
type Type uint64

// The types, with the numbers of the library.
const (
	String Type = iota
	Int8
	Int16
	Int32
	Float
	Double
	StringRef // Stata's strL
)

// Text reports whether the values are texts.
func (t Type) Text() bool { return t == String || t == StringRef }

// Variable is a column as the file describes it.
type Variable struct {
	Index, Width, Display, Measure, Alignment int
	Type                                      Type
	Name, Label, Format, Set                  string
	Missing                                   []Range
}

// Range are codes declared as missing: numbers, or one text.
type Range struct {
	From, To float64
	Text     string
}

// Label is a label of a value. Tag is the letter of a tagged missing value, 1 for the plain one.
type Label struct {
	Set         string
	IsText      bool
	Tag         byte
	Number      float64
	Text, Label string
}

// File is what a file says of itself, without its values. Notes, file label, times and users are left out:
// nobody has declared them.
type File struct {
	Records   int64 // -1: not known
	Version   int
	Encoding  string
	Variables []Variable
	Labels    map[string][]Label // by set
	Weight    int                // index of the column of weights; -1: none
}

// Input is a file to be read.
type Input struct {
	Kind     Kind
	From     io.ReaderAt
	Size     int64
	Encoding string // of texts, where the file does not say it or says it wrongly
}

// The bounds of what a file says of itself.
const (
	maxVariables = 1 << 17
	maxLabels    = 1 << 21
	maxText      = 64 << 20 // of names and labels, bytes: many labels can name one text
	// maxDense is how many records each byte of a file can stand for: a compressed byte for no more than 1032 bytes, each
	// of which holds a value.
	maxDense = 1032
)

// Describe reads what a file says of itself.
func (in Input) Describe(ctx context.Context) (*File, error) {
	f := &File{Records: -1, Weight: -1, Labels: map[string][]Label{}}
	labels, size := 0, 0
	c := &calls{}
	said := func(texts ...string) bool {
		for _, s := range texts {
			size += len(s)
		}
		if size > maxText {
			c.fail(fmt.Errorf("%w: it has more than %d MiB of names and labels", ErrMalformed, maxText>>20))
		}
		return size <= maxText
	}
	c.metadata = func(rows int64, version int, encoding string) {
		f.Records, f.Version, f.Encoding = rows, version, encoding
		if rows > maxDense*in.Size {
			c.fail(fmt.Errorf("%w: it says that it has more records than a file of its size can hold", ErrMalformed))
		}
	}
	c.variable = func(v Variable) bool {
		if len(f.Variables) >= maxVariables {
			c.fail(fmt.Errorf("%w: it has more than %d columns", ErrMalformed, maxVariables))
			return false
		}
		if !said(v.Name, v.Label, v.Format, v.Set) {
			return false
		}
		f.Variables = append(f.Variables, v)
		return true
	}
	c.missing = func(i int, m Range) {
		if k := len(f.Variables) - 1; k >= 0 && f.Variables[k].Index == i {
			f.Variables[k].Missing = append(f.Variables[k].Missing, m)
		}
	}
	c.label = func(l Label) {
		if labels++; labels > maxLabels {
			c.fail(fmt.Errorf("%w: it has more than %d labels", ErrMalformed, maxLabels))
			return
		}
		if !said(l.Set, l.Text, l.Label) {
			return
		}
		f.Labels[l.Set] = append(f.Labels[l.Set], l)
	}
	c.weight = func(i int) { f.Weight = i }
	if err := in.parse(ctx, c, 0, 1, 1); err != nil {
		return nil, err
	}
	return f, in.countable(f.Version)
}

// countable is an error if a file of Stata 14 or later has more records than the library counts: it would read the
// remainder of their number by 2³².
func (in Input) countable(version int) error {
	if in.Kind != DTA || version < 118 {
		return nil
	}
	columns := 2 // bytes of their number
	if version > 118 {
		columns = 4
	}
	before := len("<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K></K><N>") + columns
	head := make([]byte, before+8)
	if _, err := in.From.ReadAt(head, 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head[before:])
	if bytes.Contains(head, []byte("<byteorder>MSF")) {
		n = binary.BigEndian.Uint64(head[before:])
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("has more records than the %d that can be read of one file, or is damaged", math.MaxInt32)
	}
	return nil
}

// errStop ends a pass early.
var errStop = errors.New("stop")

// Values reads the values of the wanted columns in chunks of at most rows rows. yield gets memory that
// is valid until it returns. At least one column must be wanted.
func (in Input) Values(ctx context.Context, want func(index int) bool, rows int,
	yield func(chunk []byte, rows int) error) error {
	c := &calls{chunk: yield, variable: func(v Variable) bool { return want(v.Index) }}
	return in.parse(ctx, c, 1, rows, 8<<20)
}

func (in Input) parse(ctx context.Context, c *calls, values, rows, limit int) (err error) {
	at := int64(0)
	var failure error
	c.read = func(to []byte) (int, error) {
		if failure != nil {
			return -1, failure
		}
		n, err := in.From.ReadAt(to, at)
		at += int64(n)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	}
	c.seek = func(offset int64, whence int) (int64, error) {
		to := offset
		switch whence {
		case io.SeekCurrent:
			to += at
		case io.SeekEnd:
			to += in.Size
		}
		if to < 0 || to > in.Size {
			return -1, errStop
		}
		at = to
		return at, nil
	}
	i, err := start(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	encoding, err := i.putText(ctx, in.Encoding)
	if err != nil {
		return err
	}
	return i.do(ctx, "parse", uint64(in.Kind), uint64(values), uint64(rows), uint64(limit), encoding)
}
