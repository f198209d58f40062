package statfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one file, or several with the same columns.
type source struct {
	*serial.Source[piece]
	format *format
}

// format reads the files of a source.
type format struct {
	config  *SourceConfig
	columns []column // of all files
	first   string   // label of the first file
}

func open(ctx context.Context, c *SourceConfig) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	f := &format{config: c}
	s, err := serial.Open(ctx, c.Path, extensions[c.program], f)
	if err != nil {
		return nil, err
	}
	return &source{s, f}, nil
}

// input is a file for the library.
func (f *format) input(in serial.File) readstat.Input {
	return readstat.Input{Kind: f.config.kind(in.Label), From: in.In, Size: in.Size, Encoding: f.config.Encoding}
}

// Describe implements serial.Format.
func (f *format) Describe(ctx context.Context, in serial.File) (records int64, err error) {
	input := f.input(in)
	said, err := input.Describe(ctx)
	if err != nil {
		return 0, err
	}
	if err := whole(input, said); err != nil {
		return 0, err
	}
	columns, err := f.columnsOf(said)
	if err != nil {
		return 0, err
	}
	if in.Index == 0 {
		f.columns, f.first = columns, in.Label
		return said.Records, nil
	}
	if len(columns) != len(f.columns) {
		return 0, fmt.Errorf("has %d columns, and %s has %d", len(columns), f.first, len(f.columns))
	}
	for i := range columns {
		if err := f.columns[i].join(columns[i]); err != nil {
			return 0, fmt.Errorf("column %d %w %s", i+1, err, f.first)
		}
	}
	return said.Records, nil
}

// columnsOf returns what a file says of its columns.
func (f *format) columnsOf(said *readstat.File) ([]column, error) {
	if len(said.Variables) == 0 {
		return nil, errors.New("has no columns")
	}
	program := f.config.program
	sets := map[set][]microdata.ValueLabel{}
	schema := &microdata.Schema{}
	var columns []column
	total := 0
	for _, v := range said.Variables {
		c := column{Variable: v}
		if !v.Type.Text() {
			c.clock = clockOf(program, v.Format)
		}
		of := set{v.Set, v.Type.Text()}
		labels, known := sets[of]
		if !known {
			labels = labelsOf(said.Labels[v.Set], v.Type.Text())
			sets[of] = labels
		}
		if total += len(labels); total > maxLabels {
			return nil, fmt.Errorf("has columns with more than %d labels together", maxLabels)
		}
		c.field = microdata.Field{Name: v.Name, Type: fieldType(v, c.clock), Nullable: true}
		c.field.Described = describe(program, v, labels, v.Index == said.Weight)
		if c.clock.unit == 0 {
			c.field.Missing = missing(c.field.Described)
		}
		columns = append(columns, c)
		schema.Fields = append(schema.Fields, c.field)
	}
	if a, b := schema.Twice(); b > 0 {
		return nil, fmt.Errorf("columns %d and %d have the same name", a, b)
	}
	return columns, nil
}

// set names labels of one kind of code.
type set struct {
	name string
	text bool
}

// maxLabels bounds the labels of all columns: many columns can share one list.
const maxLabels = 1 << 21

// join takes in what another file says of the column: what is said of it must be true in both.
func (c *column) join(d column) error {
	was, is := c.field.Described, d.field.Described
	switch {
	case c.field.Name != d.field.Name:
		return errors.New("has another name than in")
	case c.Type.Text() != d.Type.Text() || c.clock != d.clock:
		return errors.New("is of another type than in")
	case !slices.Equal(was.Missing, is.Missing):
		return errors.New("declares other missing codes than in")
	case was.Weight != is.Weight:
		return errors.New("is the weight in one of the two, and not in")
	}
	both := *was
	if both.Label != is.Label {
		both.Label = "" // the year of a wave, for example
	}
	if both.Measure != is.Measure {
		both.Measure = ""
	}
	both.Width, both.Display = max(both.Width, is.Width), max(both.Display, is.Display)
	both.Values = slices.Clone(both.Values)
	for _, v := range is.Values {
		switch label := was.LabelOf(v.Value); label {
		case v.Label:
		case "":
			both.Values = append(both.Values, v)
		default:
			return errors.New("has another label for the same code than in")
		}
	}
	slices.SortFunc(both.Values, func(a, b microdata.ValueLabel) int { return a.Value.Compare(b.Value) })
	c.Type = wider(c.Type, d.Type)
	both.Stored = int(c.Type)
	c.field.Type = fieldType(c.Variable, c.clock)
	c.field.Described = &both
	return nil
}

// wider is the type that holds the values of two exactly.
func wider(a, b readstat.Type) readstat.Type {
	switch {
	case a == b:
		return a
	case a.Text():
		return readstat.StringRef
	case max(a, b) == readstat.Float && min(a, b) == readstat.Int32:
		return readstat.Double
	}
	return max(a, b)
}

// end is what a file of Stata 13 and later ends in, behind all that the library reads.
const end = "</stata_dta>"

func whole(in readstat.Input, f *readstat.File) error {
	if in.Kind != readstat.DTA || f.Version < 117 {
		return nil
	}
	var last [len(end) + 2]byte // some programs write a line end behind it
	if _, err := in.From.ReadAt(last[:], max(in.Size-int64(len(last)), 0)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasSuffix(bytes.TrimRight(last[:], "\r\n"), []byte(end)) {
		return errors.New("is truncated: it does not end as a file of Stata does")
	}
	return nil
}

// Schema implements serial.Format.
func (f *format) Schema() (*microdata.Schema, error) {
	s := &microdata.Schema{}
	for _, c := range f.columns {
		s.Fields = append(s.Fields, c.field)
	}
	return s, nil
}
