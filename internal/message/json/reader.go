package json

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type reader struct {
	tree   *members.Tree
	schema *microdata.Schema
	strict bool
	plain  bool // text columns are strings, and not JSON
}

func newReader(r message.Request) (*reader, error) {
	d := &reader{tree: members.NewTree(), schema: &microdata.Schema{}, strict: !r.DropUnlisted, plain: r.Plain}
	d.tree.Declared = true
	for _, c := range r.Columns {
		f := microdata.Field{Name: c.Name, Type: arrow.BinaryTypes.String, Nullable: true}
		switch {
		case c.Number:
			f.Type = arrow.PrimitiveTypes.Float64
		case c.Identity:
			f.Type = identityType
		}
		if err := d.add(c.Name, f.Type.ID() == arrow.STRING); err != nil {
			return nil, err
		}
		d.schema.Fields = append(d.schema.Fields, f)
	}
	return d, nil
}

// add adds the member of a dotted path as the next column.
func (d *reader) add(path string, text bool) error {
	in, rest := members.Root, path
	for {
		var name string
		var inside bool
		name, rest, inside = strings.Cut(rest, ".")
		id, object, ok := d.tree.Find(in, name)
		switch {
		case !inside && !ok:
			d.tree.Column(in, name, text)
			return nil
		case !inside && object:
			return fmt.Errorf("column %s: is listed, and so is a column that lies within it; list one or the other", path)
		case !inside:
			return fmt.Errorf("column %s: is listed twice", path)
		case ok && !object:
			return fmt.Errorf("column %s: lies within %s, which is listed too; list one or the other", path,
				strings.TrimSuffix(path, "."+rest))
		case !ok:
			id = d.tree.Object(in, name)
		}
		in = id
	}
}

// Schema implements message.Reader.
func (d *reader) Schema() *microdata.Schema { return d.schema }

// JSONText reports whether a column may hold JSON text.
func (d *reader) JSONText(column int) bool { return !d.plain && d.tree.Text(column) }

// Decoder implements message.Reader.
func (d *reader) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	for _, w := range layout.Read {
		if f := d.schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s: is not known to hold numbers, and masks need numbers", f.Name)
		}
	}
	return &decoder{reader: d, layout: layout, plan: d.tree.Plan(layout, carry, d.strict)}, nil
}

type decoder struct {
	*reader
	layout *microdata.Layout
	plan   *members.Plan
}

// noValue is the reason for rejecting an empty message.
const noValue = "no value (a tombstone)"

// partition is the part of Block.Stream that is the partition's number.
const partition = 1<<16 - 1

// Decode implements message.Decoder.
func (d *decoder) Decode(ctx context.Context, b *microdata.Block, run *message.Run) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	members.Reuse(b)
	n := len(run.Values)
	b.Reset(run.Stream, 0, n, len(d.layout.Read))
	b.Scope = run.Scope
	if n > 0 {
		b.First, b.Places = run.Offsets[0], run.Offsets
	}
	c := d.plan.Records(n)
	err := c.Gather(run.Values)
	for r := 0; r < n && err == nil; r++ {
		if at := c.Spans[r]; at.Start == at.End {
			c.Refuse(b, r, noValue)
		} else {
			c.Scan(b, r, int(at.Start), int(at.End))
		}
		if c.Unlisted != nil {
			err = &message.UnlistedError{
				Stream: fmt.Sprintf("topic %s, partition %d, offset %d", run.Scope, run.Stream&partition, run.Offsets[r]),
				Places: c.Unlisted,
			}
		}
	}
	if err != nil {
		c.Release()
		return err
	}
	for i, want := range d.layout.Read {
		f, col := d.schema.Fields[want.Field], &b.Columns[i]
		switch {
		case want.As == microdata.Numbers:
			c.Numbers(b, i, true)
		case d.tree.Text(want.Field) && d.plain:
			col.Array = plainText(c.JSONText(i))
		case d.tree.Text(want.Field):
			col.Array = c.JSONText(i)
		case f.Type.ID() == arrow.FLOAT64:
			c.Numbers(b, i, true)
			col.Array = microdata.ToArray(col.Original, n, f, nil)
			col.Original = microdata.Vector{}
		default:
			col.Array = identities(b, c, i, f.Name)
		}
	}
	if d.plan.Carries() {
		b.Carried = c
	} else {
		c.Release()
	}
	return nil
}
