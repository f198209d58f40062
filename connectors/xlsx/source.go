package xlsx

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source is one sheet of a file, or of several files with the same columns.
type source struct{ *serial.Source[piece] }

func (s source) Abilities() connectors.SourceAbilities {
	can := s.Source.Abilities()
	can.InfersTypes = true
	return can
}

// format reads the files of a source.
type format struct {
	config *SourceConfig
	schema microdata.Schema
	seen   []seen // by column
	first  string // label of the first file
}

// seen is what has been found in a column.
type seen struct {
	kinds [isTime + 1]int
	whole bool // all numbers are integers that a float64 tells apart
	days  bool // all times are whole days
	nulls bool
}

func open(ctx context.Context, c *SourceConfig) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	s, err := serial.Open(ctx, c.Path, Kind.Extensions, &format{config: c})
	if err != nil {
		return nil, err
	}
	return source{s}, nil
}

// rows calls f for each record: the rows below the names, those without a cell too, up to the last one with a cell.
func (f *format) rows(ctx context.Context, in serial.File, names func(cells []cell) error,
	yield func(cells []cell) error) error {
	b, err := openBook(ctx, in.In, in.Size)
	if err != nil {
		return err
	}
	part, err := b.sheet(f.config.Sheet)
	if err != nil {
		return err
	}
	last := 0
	return b.scan(part, func(row int, cells []cell) error {
		if last == 0 {
			last = row
			return names(cells)
		}
		for last++; last < row; last++ {
			if err := yield(nil); err != nil {
				return err
			}
		}
		return yield(cells)
	})
}

// Describe implements serial.Format: it finds the columns, and what stands in them.
func (f *format) Describe(ctx context.Context, in serial.File) (records int64, err error) {
	named := false
	err = f.rows(ctx, in, func(cells []cell) error {
		named = true
		return f.names(in, cells)
	}, func(cells []cell) error {
		records++
		return f.see(records, cells)
	})
	if err == nil && !named {
		err = errors.New("the sheet is empty; its first row must name the columns")
	}
	return records, err
}

// names takes the names of the columns from the first row of a sheet.
func (f *format) names(in serial.File, cells []cell) error {
	var found microdata.Schema
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
		found.Fields = append(found.Fields, microdata.Field{Name: name})
	}
	if _, twice := found.Twice(); twice > 0 {
		return errNames
	}
	if in.Index == 0 {
		f.first, f.schema = in.Label, found
		for range cells {
			f.seen = append(f.seen, seen{whole: true, days: true})
		}
		return nil
	}
	if len(cells) != len(f.seen) {
		return fmt.Errorf("has %d columns, and %s has %d", len(cells), f.first, len(f.seen))
	}
	for i := range found.Fields {
		if found.Fields[i].Name != f.schema.Fields[i].Name {
			return fmt.Errorf("column %d has another name than in %s", i+1, f.first)
		}
	}
	return nil
}

// see takes note of a record.
func (f *format) see(record int64, cells []cell) error {
	if len(cells) > len(f.seen) {
		return fmt.Errorf("record %d has a cell in column %d, which has no name", record, len(cells))
	}
	for i := range f.seen {
		k := &f.seen[i]
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
}

// Schema implements serial.Format.
func (f *format) Schema() (_ *microdata.Schema, err error) {
	for i, k := range f.seen {
		field := &f.schema.Fields[i]
		field.Type, field.Unseen = k.typ()
		field.Nullable = k.nulls
		if word, ok := f.config.Types[field.Name]; ok {
			if field.Type, err = text.ParseType(word); err != nil {
				return nil, err
			}
			field.Nullable, field.Unseen = true, false
		}
	}
	for name := range f.config.Types {
		if f.schema.Index(name) < 0 {
			return nil, fmt.Errorf("%s: types.%s: the sheet has no such column", f.first, name)
		}
	}
	return &f.schema, nil
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
