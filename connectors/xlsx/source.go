package xlsx

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one sheet.
type source struct {
	*files.Watch
	config  *SourceConfig
	file    files.File
	stamp   files.Stamp
	schema  *microdata.Schema
	head    int // number of the row of names
	records int64
}

func open(ctx context.Context, c *SourceConfig) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	set, err := files.Find(ctx, c.Path, Kind.Extensions...)
	if err != nil {
		return nil, err
	}
	if set.Folder || len(set.Files) != 1 {
		return nil, fmt.Errorf("%s: must be one file", c.Path)
	}
	s := &source{config: c, file: set.Files[0]}
	in, stamp, err := s.file.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s.stamp = stamp
	if err := s.survey(ctx, in); err != nil {
		return nil, s.named(err)
	}
	s.Watch = files.Watching(set, []files.Stamp{stamp}, func(int) (files.Handle, error) { return s.reopen() })
	return s, nil
}

func (s *source) reopen() (files.Handle, error) { return s.file.Reopen(s.stamp, nil) }

func (s *source) named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", s.file.Label, err)
}

// seen is what the survey has found in a column.
type seen struct {
	kinds [isTime + 1]int
	whole bool // all numbers are integers that a float64 tells apart
	days  bool // all times are whole days
	nulls bool
}

// rows calls f for each record: the rows below the names, those without a cell too, up to the last one with a cell.
func (s *source) rows(ctx context.Context, in files.Handle, names func(row int, cells []cell) error, f func(cells []cell) error) error {
	b, err := openBook(in, s.stamp.Size())
	if err != nil {
		return err
	}
	part, err := b.sheet(s.config.Sheet)
	if err != nil {
		return err
	}
	last := 0
	return b.scan(part, func(row int, cells []cell) error {
		if row&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last == 0 {
			last = row
			return names(row, cells)
		}
		for last++; last < row; last++ {
			if err := f(nil); err != nil {
				return err
			}
		}
		return f(cells)
	})
}

// survey finds the columns and their types.
func (s *source) survey(ctx context.Context, in files.Handle) error {
	s.schema = &microdata.Schema{}
	var columns []seen
	err := s.rows(ctx, in, func(row int, cells []cell) error {
		s.head = row
		for i, c := range cells {
			name := c.text
			switch {
			case c.kind == isNumber:
				name = number(c.number)
			case c.kind == empty:
				name = fmt.Sprintf("c%d", i+1)
			case c.kind != isText:
				return errNames
			}
			s.schema.Fields = append(s.schema.Fields, microdata.Field{Name: name})
		}
		if _, twice := s.schema.Twice(); twice > 0 {
			return errNames
		}
		columns = make([]seen, len(cells))
		for i := range columns {
			columns[i].whole, columns[i].days = true, true
		}
		return nil
	}, func(cells []cell) error {
		s.records++
		if len(cells) > len(columns) {
			return fmt.Errorf("record %d has a cell in column %d, which has no name", s.records, len(cells))
		}
		for i := range columns {
			k := &columns[i]
			if i >= len(cells) || cells[i].kind == empty {
				k.nulls = true
				continue
			}
			c := cells[i]
			k.kinds[c.kind]++
			whole := c.number == math.Trunc(c.number)
			switch c.kind {
			case isNumber:
				k.whole = k.whole && whole && math.Abs(c.number) <= microdata.MaxExact
			case isTime:
				k.days = k.days && whole
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		return errors.New("the sheet is empty; its first row must name the columns")
	}
	for i := range columns {
		f := &s.schema.Fields[i]
		f.Type, f.Unseen = columns[i].typ()
		f.Nullable = columns[i].nulls
		if word, ok := s.config.Types[f.Name]; ok {
			if f.Type, err = text.ParseType(word); err != nil {
				return err
			}
			f.Nullable, f.Unseen = true, false
		}
	}
	for name := range s.config.Types {
		if s.schema.Index(name) < 0 {
			return fmt.Errorf("types.%s: the sheet has no such column", name)
		}
	}
	return nil
}

// holds reports whether cells can be read as a type.
func holds(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT64, arrow.FLOAT64, arrow.STRING, arrow.BOOL, arrow.DATE32, arrow.TIMESTAMP:
		return true
	}
	return false
}

// typ is the type that holds all values of a column.
func (k *seen) typ() (t arrow.DataType, unseen bool) {
	total := 0
	for _, n := range k.kinds[1:] {
		total += n
	}
	switch total {
	case 0:
		return arrow.BinaryTypes.String, true
	case k.kinds[isBool]:
		return arrow.FixedWidthTypes.Boolean, false
	case k.kinds[isTime]:
		if k.days {
			return arrow.FixedWidthTypes.Date32, false
		}
		return &arrow.TimestampType{Unit: arrow.Microsecond}, false
	case k.kinds[isNumber]:
		if k.whole {
			return arrow.PrimitiveTypes.Int64, false
		}
		return arrow.PrimitiveTypes.Float64, false
	}
	return arrow.BinaryTypes.String, false
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Streams() []string         { return []string{s.file.Label} }
func (s *source) Records() int64            { return s.records }
func (s *source) Rewindable() bool          { return true }
func (s *source) Close() error              { return nil }

// InfersTypes implements connectors.Inferring.
func (s *source) InfersTypes() bool { return true }

// Read implements connectors.Source.
func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := text.CheckLayout(layout, s.schema); err != nil {
		return nil, err
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
