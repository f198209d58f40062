package arrow

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader knows the columns from the schema's file.
type reader struct {
	arrow        *arrow.Schema
	schema       *microdata.Schema // dictionaries as the type of their values
	index        map[string]int
	listed       []bool // by field
	dropUnlisted bool
}

func newReader(path string, r message.Request) (*reader, error) {
	declared, err := arrowipc.SchemaOf(path)
	if err != nil {
		return nil, err
	}
	s, err := arrowipc.FieldsOf(path, declared)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, c := range r.Columns {
		listed[c.Name] = true
	}
	out := &reader{arrow: declared, schema: s, index: map[string]int{}, listed: make([]bool, len(s.Fields)),
		dropUnlisted: r.DropUnlisted}
	var extra []string
	for i, f := range s.Fields {
		out.index[f.Name], out.listed[i] = i, listed[f.Name]
		if !listed[f.Name] {
			extra = append(extra, fmt.Sprintf("column %d", i+1))
		}
	}
	if len(extra) > 0 && !r.DropUnlisted {
		return nil, &message.UnlistedError{Stream: path, Places: extra}
	}
	return out, nil
}

// Schema implements message.Reader.
func (r *reader) Schema() *microdata.Schema { return r.schema }

// MessageOf returns for each record of a block of this reader the index of its message
// in the run. A message can have several records, and a writer of another format needs
// this index for Released.Source.
func (r *reader) MessageOf(b *microdata.Block) []int32 {
	of := make([]int32, b.N)
	at := int32(0)
	for i := range of {
		// Every message has at least one record in its block.
		if i > 0 && b.Place(i)>>message.RowBits != b.Place(i-1)>>message.RowBits {
			at++
		}
		of[i] = at
	}
	return of
}

// Decoder implements message.Reader.
func (r *reader) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	d := &decoder{reader: r, layout: layout, carry: carry, needed: make([]bool, len(r.schema.Fields))}
	for _, w := range layout.Read {
		f := r.schema.Fields[w.Field]
		if w.As == microdata.Numbers && !f.Numeric() && f.Type.ID() != arrow.FLOAT16 {
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
		d.needed[w.Field] = true
	}
	if carry {
		for _, o := range layout.Release {
			if o.Column < 0 {
				d.needed[o.Source] = true
			}
		}
	}
	for i, f := range r.schema.Fields {
		if d.needed[i] {
			if err := arrowipc.Supported(r.arrow.Field(i).Type); err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
		}
	}
	return d, nil
}

// misfit is the reason why a message's schema does not match that of the reader. Its
// text names only columns of the reader's schema.
type misfit struct{ column, reason string }

func (m *misfit) Error() string { return m.reason }

var errTwice = &misfit{reason: "has two columns of one name"}

// match compares the schema of a message with the reader's and returns the index of
// each of the reader's columns in the message, -1 if it has none; this is allowed if
// the column is neither listed nor needed. The error is a *misfit, or an unlisted with
// the places of the unlisted columns.
func (r *reader) match(s *arrow.Schema, needed []bool) ([]int, error) {
	places := make([]int, len(r.schema.Fields))
	for i := range places {
		places[i] = -1
	}
	var extra unlisted
	for i, f := range s.Fields() {
		k, ok := r.index[f.Name]
		switch {
		case !ok:
			extra = append(extra, fmt.Sprintf("column %d", i+1))
			continue
		case places[k] >= 0:
			return nil, errTwice
		}
		places[k] = i
	}
	if len(extra) > 0 && !r.dropUnlisted {
		return nil, extra
	}
	for k, f := range r.schema.Fields {
		switch {
		case !r.listed[k] && !needed[k]:
		case places[k] < 0:
			return nil, &misfit{f.Name, "the message has no such column"}
		case !arrow.TypeEqual(arrowipc.PlainType(s.Field(places[k]).Type), f.Type):
			return nil, &misfit{f.Name, "the message has another type in this column, and not " + f.Type.String()}
		}
	}
	return places, nil
}

// unlisted holds the places of a message's columns that the reader does not know.
type unlisted []string

func (unlisted) Error() string { return "columns that are not listed" }

// reasonOf splits an error of match or arrowipc.ReadValue into the column and the
// reason of a reject.
func reasonOf(err error) (column, reason string) {
	var m *misfit
	if errors.As(err, &m) {
		return m.column, m.reason
	}
	return "", "the message " + err.Error()
}
